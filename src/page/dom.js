// Elements are made with createElement, and texts are text nodes: no name of an object is ever read as markup.
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false && c !== ""));
  return node;
}

// An attribute whose value is a function listens to the event of that name.
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// Characters that are not seen, or turn the direction of text, are spelled: a name must not look like another. Every
// text of an answer goes through here, whoever made it.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

export function visible(text) {
  return String(text).replace(UNSEEN, (c) => `\u27e8U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);
}

export function name(text, attributes) {
  return el("bdi", attributes, visible(text));
}

export function notice(kind, title, ...lines) {
  return el("div", { class: `notice ${kind}` }, el("p", null, el("strong", null, visible(title))), lines.flat().filter(Boolean).map((l) => el("p", null, visible(l))));
}

// Text with a button that copies it. Without a clipboard the text is selected, for the keyboard to copy.
export function copyable(title, text, note) {
  const pre = el("pre", { tabindex: "0", role: "group", "aria-label": title }, el("code", null, visibleLines(text)));
  const say = el("span", { class: "muted small", role: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(pre);
      say.textContent = "Selected: copy it with the keyboard";
    }
  };
  return el("div", { class: "copy" },
    el("div", null, el("h3", null, title), el("span", null, say, " ", el("button", { type: "button", "aria-label": `Copy: ${title}`, click: copy }, "Copy"))),
    note ? el("p", { class: "muted small" }, note) : null, pre);
}

function visibleLines(text) {
  return text.split("\n").map(visible).join("\n");
}

export function say(text) {
  document.getElementById("said").textContent = text;
}
