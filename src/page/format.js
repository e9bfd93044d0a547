import { el } from "./dom.js";

const UNITS = { n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 };

// A Kubernetes quantity as a number of cores or bytes; undefined where there is none.
export function amount(text) {
  const parts = /^([+-]?[0-9]*\.?[0-9]+|[+-]?[0-9]+\.)(?:([eE][+-]?[0-9]+)|([numkMGTPE]|[KMGTPE]i)?)$/.exec(text ?? "");
  return parts ? Number(parts[1] + (parts[2] ?? "")) * UNITS[parts[3] ?? ""] : undefined;
}

function digitsOf(least, most) {
  return new Intl.NumberFormat(undefined, { minimumFractionDigits: least, maximumFractionDigits: most });
}
const WHOLE = digitsOf(0, 0), ONE = digitsOf(1, 1), TWO = digitsOf(2, 2), THREE = digitsOf(3, 3);

export const GI = 2 ** 30;
export const digits = (n) => TWO.format(n);
export const whole = (n) => WHOLE.format(n);
export const percent = (n) => `${ONE.format(n)} %`;

// Columns of numbers have a fixed number of digits behind the point, so that they line up.
export function column(resource, n) {
  if (n === undefined || Number.isNaN(n)) return "\u2013";
  return resource === "cpu" ? THREE.format(n) : TWO.format(n / GI);
}
export const UNIT = { cpu: "cores", memory: "GiB" };
export const TITLE = { cpu: "CPU", memory: "Memory" };
export const RESOURCES = ["cpu", "memory"];

// A number with its unit, for text.
export function spoken(resource, n) {
  if (n === undefined || Number.isNaN(n)) return "unknown";
  if (resource === "cpu") return n >= 100 ? `${WHOLE.format(n)} cores` : n >= 10 ? `${ONE.format(n)} cores` : `${THREE.format(n)} cores`;
  const gi = n / GI;
  return gi >= 1024 ? `${TWO.format(gi / 1024)} TiB` : gi >= 1 ? `${TWO.format(gi)} GiB` : `${WHOLE.format(n / 2 ** 20)} MiB`;
}

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

// A time in the reader's own zone; the title has it as the server wrote it.
export function moment(text) {
  if (!text) return "\u2013";
  return el("time", { datetime: text, title: text }, MOMENT.format(new Date(text)));
}

export function ago(text) {
  if (!text) return "\u2013";
  const seconds = (Date.parse(text) - Date.now()) / 1000;
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  const [unit, size] = units.find(([, s]) => Math.abs(seconds) >= s) ?? ["second", 1];
  return el("time", { datetime: text, title: MOMENT.format(new Date(text)) }, RELATIVE.format(Math.round(seconds / size), unit));
}

export const shortDay = (ms) => new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" }).format(new Date(ms));
export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
