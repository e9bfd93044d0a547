import { el, notice, say, visible } from "./dom.js";
import * as api from "./api.js";
import * as overview from "./overview.js";
import * as workloads from "./workloads.js";
import * as workload from "./workload.js";
import * as changes from "./changes.js";
import * as nodes from "./nodes.js";
import * as profiles from "./profiles.js";

const PAGES = [
  ["", "Overview", overview],
  ["workloads", "Workloads", workloads],
  ["changes", "Changes", changes],
  ["nodes", "Nodes", nodes],
  ["profiles", "Profiles", profiles],
];
const main = document.getElementById("main"), field = document.getElementById("namespace");
let under = new AbortController(), shown = null;

// The place that the address names: "#/workloads?ns=shop&sort=-cpuSaving".
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map((p) => { try { return decodeURIComponent(p); } catch { return p; } });
  const parameters = Object.fromEntries(new URLSearchParams(query ?? ""));
  return { view: parts[0], parts, parameters, ns: parameters.ns ?? "" };
}

// The address of a place; the namespace goes with the reader from page to page.
export function link(view, parameters) {
  const query = new URLSearchParams(Object.entries(parameters ?? {}).filter(([, v]) => v !== undefined && v !== null && v !== ""));
  return `#/${view}${query.size ? `?${query}` : ""}`;
}

function showPages(here) {
  const current = here.view === "workload" ? "workloads" : here.view;
  document.getElementById("pages").replaceChildren(...PAGES.map(([view, title]) =>
    el("li", null, el("a", { href: link(view, { ns: here.ns }), "aria-current": view === current ? "page" : null }, title))));
}

function problemNotice(problem, here) {
  if (problem.status === 401)
    return notice("bad", "halflife does not know who you are", problem.message,
      "Centrally, a proxy in front of this page adds your token; kubectl halflife ui runs the page with your kubeconfig.");
  if (problem.status === 403 && !here.ns)
    return notice("warn", "You may not see all namespaces", problem.message, "Name a namespace that you may see, in the field at the top.");
  return notice("bad", problem.title, problem.message);
}

function ageNotice() {
  if (api.oldness === null) return null;
  return notice("warn", "The API server or its metrics cannot be asked", `What you see is ${Math.round(Number(api.oldness) / 60)} minutes old.`);
}

async function show() {
  const here = place();
  under.abort();
  under = new AbortController();
  const page = here.view === "workload" ? [here.view, here.parts[3] ?? "Workload", workload] : PAGES.find(([view]) => view === here.view);
  const other = shown !== null && shown !== `${here.view}/${here.parts.slice(1).join("/")}`;
  shown = `${here.view}/${here.parts.slice(1).join("/")}`;
  field.value = here.ns;
  showPages(here);
  if (!page) {
    main.replaceChildren(el("h1", { tabindex: "-1" }, "There is no such page"), el("p", null, el("a", { href: link("", { ns: here.ns }) }, "Overview")));
    return;
  }
  const title = visible(page[1]), signal = under.signal;
  document.title = `${title} \u00b7 halflife`;
  main.setAttribute("aria-busy", "true");
  const context = { ...here, signal, link, again: show };
  try {
    const made = await page[2].show(context);
    if (signal.aborted) return;
    main.replaceChildren(...[ageNotice(), made].flat(Infinity).filter(Boolean));
    say(`${title} is shown`);
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    if (!(error instanceof api.Problem)) throw error;
    main.replaceChildren(el("h1", { tabindex: "-1" }, title), problemNotice(error, here));
    say(`${title}: ${error.title}`);
  } finally {
    if (!signal.aborted) main.removeAttribute("aria-busy");
  }
  if (other) {
    scrollTo(0, 0);
    main.querySelector("h1")?.focus({ preventScroll: true });
  }
}

document.getElementById("scope").addEventListener("submit", (event) => {
  event.preventDefault();
  const here = place();
  const view = here.view === "workload" ? "workloads" : here.view;
  location.hash = link(view, { ...here.parameters, offset: "", ns: field.value.trim() });
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part behind '#' names the page
  main.focus();
});
addEventListener("hashchange", show);
show();
