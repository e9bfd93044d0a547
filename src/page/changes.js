import { el, name, notice, visible } from "./dom.js";
import * as api from "./api.js";
import { amount, column, moment, RESOURCES, TITLE, UNIT } from "./format.js";
import { workloadLink } from "./workloads.js";
import { pager, table } from "./table.js";
import { CHANGES, REASONS } from "./words.js";

const LIMIT = 50;

// What halflife did is its reason; what others did, and why something was taken back, is a sentence of its own.
function why(c) {
  const words = c.words ? visible(c.words) : REASONS[c.reason] ?? "";
  return [c.reason ? el("span", { class: "strong" }, visible(c.reason)) : "", c.reason && words ? ": " : "", el("span", { class: "muted" }, words)];
}

function at(key) {
  return (c) => (c.resource ? column(c.resource, amount(c[key])) : "");
}

function columns(context) {
  return [
    { title: "When", cell: (c) => moment(c.time) },
    { title: "Change", cell: (c) => el("span", { class: `state ${c.change === "Guarded" || c.change === "Contested" ? "held" : ""}`, title: CHANGES[c.change] }, visible(c.change)) },
    { title: "Workload", cell: (c) => [workloadLink(context, { metadata: { namespace: c.namespace, kind: c.kind, name: c.name, apiVersion: c.group ? `${c.group}/` : "" } }), " ",
      el("span", { class: "kind" }, name(c.kind), " in ", name(c.namespace))] },
    { title: "Container", cell: (c) => (c.container ? [name(c.container), " ", el("span", { class: "kind" }, c.resource ? `${TITLE[c.resource] ?? ""}, ${UNIT[c.resource] ?? ""}` : "")] : "") },
    { title: "From", numeric: true, edge: true, cell: at("from") },
    { title: "To", numeric: true, cell: at("to") },
    { title: "By", edge: true, cell: (c) => [c.by ? name(c.by) : el("span", { class: "muted" }, "somebody"), c.mode ? el("span", { class: "kind" }, `, ${visible(c.mode)}`) : ""] },
    { title: "Why", long: true, cell: why },
  ];
}

/* --- where only the objects can be asked: the last change of each workload --- */

function lastColumns(context) {
  return [
    { title: "Workload", cell: (item) => [workloadLink(context, item), " ", el("span", { class: "kind" }, name(item.metadata.kind), " in ", name(item.metadata.namespace))] },
    { title: "When", cell: (item) => moment(item.status.applied.time) },
    { title: "Mode", cell: (item) => visible(item.status.applied.mode ?? "") },
    ...RESOURCES.flatMap((r) => [["Asked", "original"], ["In force", "current"]].map(([title, key], i) =>
      ({ group: `${TITLE[r]} of a pod, ${UNIT[r]}`, title, numeric: true, edge: i === 0, cell: (item) => column(r, amount(item.status.pod?.[r]?.[key])) }))),
  ];
}

async function lastOfEach(context, problem) {
  const list = await api.get(api.scoped(context.ns, "workloads"), { sort: "-applied", limit: LIMIT, offset: 0,
    fields: "metadata,status.pod,status.applied" }, context.signal);
  const rows = list.items.filter((item) => item.status.applied);
  return [
    notice("warn", "Single changes cannot be shown", problem.message),
    el("p", { class: "lede" }, "The last change that halflife made to each workload, the newest first."),
    rows.length ? table({ caption: "At most 50.", columns: lastColumns(context), rows }) : el("p", { class: "notice" }, "halflife has changed nothing here yet."),
  ];
}

export async function show(context) {
  const parameters = { change: CHANGES[context.parameters.change] ? context.parameters.change : "", search: context.parameters.search };
  const offset = Math.max(0, Number.parseInt(context.parameters.offset ?? "0", 10) || 0);
  const [list, problem] = await api.attempt(api.scoped(context.ns, "changes"), { ...parameters, offset, limit: LIMIT }, context.signal);
  const title = el("h1", { tabindex: "-1" }, "Changes");
  if (problem) {
    if (problem.status === 403) throw problem;
    return [title, await lastOfEach(context, problem)];
  }
  const submit = (event) => {
    event.preventDefault();
    location.hash = context.link("changes", { ns: context.ns, ...Object.fromEntries(new FormData(event.currentTarget)) });
  };
  return [
    title,
    el("p", { class: "lede" }, "Each change of a request lately, the newest first: at most 10\u202f000 of the last 35 days."),
    el("form", { class: "filters", role: "search", "aria-label": "Changes", submit, change: (e) => e.target.tagName === "SELECT" && e.currentTarget.requestSubmit() },
      el("label", null, "Name, kind or namespace has", el("input", { name: "search", type: "search", value: parameters.search, maxlength: 253, autocapitalize: "none", spellcheck: "false" })),
      el("label", null, "Change", el("select", { name: "change" }, el("option", { value: "" }, "any"),
        Object.entries(CHANGES).map(([key, words]) => el("option", { value: key, selected: key === parameters.change, title: words }, key)))),
      el("button", { type: "submit" }, "Find"),
      el("div", { class: "side" }, parameters.change || parameters.search ? el("a", { href: context.link("changes", { ns: context.ns }) }, "Show all") : null,
        el("a", { href: api.address(api.scoped(context.ns, "changes"), { ...parameters, output: "csv" }), download: "halflife-changes.csv" }, "CSV"))),
    parameters.change ? el("p", { class: "muted" }, `${parameters.change}: ${CHANGES[parameters.change]}.`) : null,
    list.items.length ? table({ caption: "Amounts are those of the container in one pod.", columns: columns(context), rows: list.items })
      : el("p", { class: "notice" }, list.total ? "There are no more changes behind this page." : parameters.change || parameters.search ? "No change matches." : "halflife has changed nothing here yet."),
    pager({ view: "changes", parameters: context.parameters, link: context.link }, offset, list.items.length, list.total, LIMIT),
  ];
}
