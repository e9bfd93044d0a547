import { el, svg } from "./dom.js";
import { GI, shortDay, spoken, TITLE, UNIT } from "./format.js";

const LEFT = 46, RIGHT = 14;

// A narrow screen gets a narrow drawing, so that its letters stay as large.
const wide = () => (innerWidth < 560 ? 380 : 640);

// Buckets grow by 5 %; drawn as wide as each other, they make a scale that is close to a logarithm.
const RATIO = 1.05, FIRST = { cpu: 0.01, memory: 1e7 };

function place(resource, value) {
  return Math.log1p(Math.max(0, value) * (RATIO - 1) / FIRST[resource]) / Math.log(RATIO);
}

const TICKS = {
  cpu: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
  memory: [16, 32, 64, 128, 256, 512].map((m) => m * 2 ** 20).concat([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024].map((g) => g * GI)),
};

function tick(resource, value) {
  return resource === "cpu" ? String(value) : value >= GI ? `${value / GI} Gi` : `${value / 2 ** 20} Mi`;
}

// Labels that would touch get lines of their own.
function spread(marks, x, drawn) {
  const ends = [];
  return marks.map((m) => ({ ...m, x: x(m.value), width: m.label.length * 7.2 + 10 })).sort((a, b) => a.x - b.x).map((m) => {
    const left = m.x + m.width > drawn ? m.x - m.width : m.x;
    let row = ends.findIndex((end) => end < left);
    if (row < 0) row = ends.length;
    ends[row] = left + m.width;
    return { ...m, row, anchor: m.x + m.width > drawn ? "end" : "start" };
  });
}

// histogram: buckets of {from, to, share}; marks: {name, label, value}, where name is a class of the style sheet.
export function histogram(resource, buckets, marks, title) {
  const drawn = wide();
  const shownMarks = marks.filter((m) => Number.isFinite(m.value));
  const edges = [...buckets.flatMap((b) => [b.from, b.to]), ...shownMarks.map((m) => m.value)].map((v) => place(resource, v));
  const least = Math.max(0, Math.min(...edges) - 1.5), most = Math.max(...edges) + 2;
  const x = (value) => LEFT + (place(resource, value) - least) / (most - least) * (drawn - LEFT - RIGHT);
  const spreadMarks = spread(shownMarks, x, drawn);
  const top = 16 + 15 * Math.max(2, ...spreadMarks.map((m) => m.row + 1)), height = 150, bottom = top + height;
  const highest = Math.max(...buckets.map((b) => b.share));
  const y = (share) => bottom - share / highest * height;
  const model = shownMarks.find((m) => m.name === "model")?.value ?? Infinity;
  let last = -Infinity;
  const ticks = TICKS[resource].filter((v) => {
    const at = x(v), fits = place(resource, v) >= least && place(resource, v) <= most && at - last > 52;
    if (fits) last = at;
    return fits;
  });
  const gap = (b) => Math.max(1, x(b.to) - x(b.from) - (x(b.to) - x(b.from) > 4 ? 1 : 0));
  const words = `${shownMarks.map((m) => `${m.label} ${spoken(resource, m.value)}`).join("; ")}.`;
  return el("figure", null,
    svg("svg", { class: "plot", viewBox: `0 0 ${drawn} ${bottom + 34}`, role: "img", "aria-label": `${title}. ${words}` },
      [0.5, 1].map((part) => [
        svg("line", { class: "grid", x1: LEFT, x2: drawn - RIGHT, y1: y(highest * part), y2: y(highest * part) }),
        svg("text", { x: LEFT - 6, y: y(highest * part) + 4, "text-anchor": "end" }, `${(highest * part * 100).toFixed(highest < 0.1 ? 1 : 0)} %`)]),
      buckets.map((b) => svg("rect", { class: b.from >= model ? "bar above" : "bar", x: x(b.from), width: b.to > b.from ? gap(b) : 6, y: y(b.share), height: bottom - y(b.share) })),
      svg("line", { class: "axis", x1: LEFT, x2: drawn - RIGHT, y1: bottom, y2: bottom }),
      ticks.map((v) => [
        svg("line", { class: "axis", x1: x(v), x2: x(v), y1: bottom, y2: bottom + 4 }),
        svg("text", { x: x(v), y: bottom + 17, "text-anchor": "middle" }, tick(resource, v))]),
      svg("text", { x: drawn - RIGHT, y: bottom + 31, "text-anchor": "end" }, resource === "cpu" ? "cores" : "bytes"),
      spreadMarks.map((m) => [
        svg("line", { class: `${m.name} at`, x1: m.x, x2: m.x, y1: 8 + 15 * m.row, y2: bottom }),
        svg("text", { class: "mark", x: m.anchor === "end" ? m.x - 5 : m.x + 5, y: 14 + 15 * m.row, "text-anchor": m.anchor }, m.label)])));
}

// The least round number that is not below n, for the end of a scale.
function round(n) {
  if (!(n > 0)) return 1;
  const ten = 10 ** Math.floor(Math.log10(n));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((f) => f * ten).find((v) => v >= n * 0.999);
}

// points: {time, asked, inForce, used, allocatable} in cores or GiB, undefined where not known.
export function history(resource, points, title) {
  const drawn = wide(), height = 170, top = 10, bottom = top + height;
  const times = points.map((p) => Date.parse(p.time));
  const first = times[0], end = times.at(-1);
  const most = round(Math.max(...points.flatMap((p) => [p.asked, p.inForce, p.used, p.allocatable].filter(Number.isFinite)), 0));
  const x = (ms) => LEFT + (end > first ? (ms - first) / (end - first) : 1) * (drawn - LEFT - RIGHT);
  const y = (n) => bottom - n / most * height;
  const path = (key) => points.map((p, i) => [p[key], i]).filter(([v]) => Number.isFinite(v))
    .map(([v, i], n) => `${n ? "L" : "M"}${x(times[i]).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  const used = path("used");
  const days = [...new Set([first, first + (end - first) / 3, first + (end - first) * 2 / 3, end].map(Math.round))];
  return el("figure", null,
    el("figcaption", null, `${TITLE[resource]}, ${UNIT[resource]}`),
    svg("svg", { class: "plot", viewBox: `0 0 ${drawn} ${bottom + 22}`, role: "img", "aria-label": title },
      used ? svg("path", { class: "used", d: `${used}L${x(end).toFixed(1)} ${bottom}L${x(first).toFixed(1)} ${bottom}Z` }) : null,
      [0, 0.5, 1].map((part) => [
        svg("line", { class: part ? "grid" : "axis", x1: LEFT, x2: drawn - RIGHT, y1: y(most * part), y2: y(most * part) }),
        svg("text", { x: LEFT - 6, y: y(most * part) + 4, "text-anchor": "end" }, String(Number((most * part).toPrecision(3))))]),
      ["allocatable", "asked", "inForce"].map((key) => svg("path", { class: `line ${key === "inForce" ? "force" : key}`, d: path(key) })),
      days.map((ms, i) => svg("text", { x: x(ms), y: bottom + 16, "text-anchor": i === 0 ? "start" : i === days.length - 1 ? "end" : "middle" }, shortDay(ms)))));
}

// days: {time, asked, inForce, used} in cores or GiB, the means of a day; a day without an entry stays empty.
export function daily(resource, days, title) {
  const drawn = wide(), height = 120, top = 10, bottom = top + height, DAY = 864e5;
  const times = days.map((d) => Date.parse(d.time));
  const first = Math.min(times[0], times.at(-1) - 6 * DAY), slots = Math.round((times.at(-1) - first) / DAY) + 1;
  const most = round(Math.max(...days.flatMap((d) => [d.asked, d.inForce, d.used])));
  const slot = (drawn - LEFT - RIGHT) / slots, gap = slot > 5 ? 1 : 0;
  const x = (ms) => LEFT + (ms - first) / DAY * slot;
  const y = (n) => bottom - n / most * height;
  const dash = (key, i) => `M${(x(times[i]) + gap / 2).toFixed(1)} ${y(days[i][key]).toFixed(1)}h${(slot - gap).toFixed(1)}`;
  const marks = [...new Set([0, Math.floor((slots - 1) / 2), slots - 1])];
  return el("figure", null,
    el("figcaption", null, `${TITLE[resource]}, ${UNIT[resource]}, the mean of each day`),
    svg("svg", { class: "plot", viewBox: `0 0 ${drawn} ${bottom + 22}`, role: "img", "aria-label": title },
      [0, 0.5, 1].map((part) => [
        svg("line", { class: part ? "grid" : "axis", x1: LEFT, x2: drawn - RIGHT, y1: y(most * part), y2: y(most * part) }),
        svg("text", { x: LEFT - 6, y: y(most * part) + 4, "text-anchor": "end" }, String(Number((most * part).toPrecision(3))))]),
      days.map((d, i) => svg("rect", { class: "used", x: x(times[i]) + gap / 2, width: slot - gap, y: y(d.used), height: bottom - y(d.used) })),
      svg("path", { class: "line asked", d: days.map((d, i) => dash("asked", i)).join("") }),
      svg("path", { class: "line force", d: days.map((d, i) => dash("inForce", i)).join("") }),
      marks.map((n, i) => svg("text", { x: x(first + n * DAY) + slot / 2, y: bottom + 16, "text-anchor": i === 0 && slots > 1 ? "start" : i === marks.length - 1 && slots > 1 ? "end" : "middle" }, shortDay(first + n * DAY)))));
}

export function legend(...without) {
  const line = (name) => svg("svg", { viewBox: "0 0 22 10", "aria-hidden": "true" }, svg("path", { class: `line ${name}`, d: "M1 5H21" }));
  return el("ul", { class: "legend" },
    el("li", null, line("asked"), "asked by the owners"),
    el("li", null, line("force"), "in force"),
    el("li", null, svg("svg", { viewBox: "0 0 22 10", "aria-hidden": "true" }, svg("rect", { class: "used", width: 22, height: 10 })), "used"),
    without.includes("allocatable") ? null : el("li", null, line("allocatable"), "allocatable"));
}

// A bar beside a number that says the same; share is 0 to 1.
export function meter(share, name) {
  const width = Math.max(0, Math.min(1, share)) * 100;
  return svg("svg", { class: "meter", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "track", width: 100, height: 10 }), svg("rect", { class: name, width, height: 10 }));
}

// What is asked as a whole, in which what is in force and what is wanted are marked.
export function budget(original, current, target) {
  const part = (n) => (original > 0 ? Math.min(1, n / original) * 100 : 0);
  return svg("svg", { class: "meter", viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "track", width: 100, height: 12 }),
    svg("rect", { class: "part", width: part(current), height: 7 }),
    svg("rect", { class: "wanted", width: part(target), y: 7, height: 5 }));
}
