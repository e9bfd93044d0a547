import { el, name, visible } from "./dom.js";
import * as api from "./api.js";
import { ago, amount, column, RESOURCES, TITLE, UNIT } from "./format.js";
import { pager, state, table } from "./table.js";
import { CONDITIONS, STATES } from "./words.js";

const LIMIT = 50;
const FILTERS = ["search", "state", "condition", "reason", "profile", "labelSelector"];
const FIELDS = "metadata,profile,status.state,status.mode,status.pod,status.saving,status.applied.time,status.conditions";

export function idOf(item) {
  const version = item.metadata.apiVersion ?? "";
  return { namespace: item.metadata.namespace, group: version.includes("/") ? version.split("/")[0] : "", kind: item.metadata.kind, name: item.metadata.name };
}

export function workloadLink(context, item) {
  const id = idOf(item);
  const path = ["workload", id.namespace, id.group ? `${id.kind}.${id.group}` : id.kind, id.name].map(encodeURIComponent).join("/");
  return el("a", { href: context.link(path, { ns: context.ns }) }, name(id.name));
}

export function appliedOf(item) {
  return (item.status?.conditions ?? []).find((c) => c.type === "Applied");
}

function appliedWords(item) {
  const applied = appliedOf(item);
  return !applied ? "" : applied.status === "True" ? "in force" : applied.reason === "NextDeploy" ? "at the next deploy" : visible(applied.reason);
}

function amounts(resource, first) {
  const of = (key) => (item) => column(resource, amount(item.status?.pod?.[resource]?.[key]));
  const at = (key) => `${resource}${key}`;
  return [
    { group: `${TITLE[resource]} of a pod, ${UNIT[resource]}`, title: "Asked", sort: at("Original"), numeric: true, edge: first, cell: of("original") },
    { group: `${TITLE[resource]} of a pod, ${UNIT[resource]}`, title: "In force", sort: at("Current"), numeric: true, cell: of("current") },
    { group: `${TITLE[resource]} of a pod, ${UNIT[resource]}`, title: "Target", sort: at("Target"), numeric: true, cell: of("target") },
    { group: `${TITLE[resource]} of a pod, ${UNIT[resource]}`, title: "All pods save", label: `${TITLE[resource]} saved`, sort: at("Saving"), numeric: true,
      cell: (item) => el("span", { class: amount(item.status?.saving?.[resource]) > 0 ? "gain" : "muted" }, column(resource, amount(item.status?.saving?.[resource]))) },
  ];
}

function columns(context) {
  return [
    { title: "Workload", sort: "name", cell: (item) => [workloadLink(context, item), " ", el("span", { class: "kind" }, name(item.metadata.kind))] },
    { title: "Namespace", sort: "namespace", cell: (item) => name(item.metadata.namespace) },
    { title: "State", sort: "state", cell: (item) => state(item.status?.state ?? "") },
    ...RESOURCES.flatMap((r) => amounts(r, true)),
    { title: "Change", edge: true, cell: appliedWords },
    { title: "Last changed", sort: "applied", numeric: true, cell: (item) => (item.status?.applied?.time ? ago(item.status.applied.time) : "") },
  ];
}

function choice(label, key, context, values, words) {
  const now = context.parameters[key] ?? "";
  return el("label", null, label, el("select", { name: key },
    el("option", { value: "" }, "any"),
    values.map((v) => el("option", { value: v, selected: v === now, title: words?.[v] }, v))));
}

function filters(context) {
  const submit = (event) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.currentTarget));
    location.hash = context.link("workloads", { ...context.parameters, ...given, offset: "" });
  };
  const others = ["reason", "profile", "labelSelector"].filter((k) => context.parameters[k]);
  const csv = api.address(api.scoped(context.ns, "workloads"), { ...chosen(context), sort: context.parameters.sort, output: "csv" });
  return el("form", { class: "filters", role: "search", "aria-label": "Workloads", submit, change: (e) => e.target.tagName === "SELECT" && e.currentTarget.requestSubmit() },
    el("label", null, "Name, kind or profile has", el("input", { name: "search", type: "search", value: context.parameters.search, maxlength: 253, autocapitalize: "none", spellcheck: "false" })),
    choice("State", "state", context, Object.keys(STATES), STATES),
    choice("Condition", "condition", context, Object.keys(CONDITIONS), CONDITIONS),
    el("button", { type: "submit" }, "Find"),
    el("div", { class: "side" },
      FILTERS.some((k) => context.parameters[k]) ? el("a", { href: context.link("workloads", { ns: context.ns, sort: context.parameters.sort }) }, "Show all") : null,
      el("a", { href: csv, download: "halflife-workloads.csv" }, "CSV")),
    others.length ? el("p", { class: "muted small" }, others.map((k) => [`${k} `, name(context.parameters[k]), " "])) : null);
}

export function chosen(context) {
  return Object.fromEntries(FILTERS.map((k) => [k, context.parameters[k]]));
}

export async function show(context) {
  const offset = Math.max(0, Number.parseInt(context.parameters.offset ?? "0", 10) || 0);
  const sort = context.parameters.sort ?? "-cpuSaving";
  const list = await api.get(api.scoped(context.ns, "workloads"), { ...chosen(context), sort, offset, limit: LIMIT, fields: FIELDS }, context.signal);
  const at = { view: "workloads", parameters: context.parameters, sort, link: context.link };
  return [
    el("h1", { tabindex: "-1" }, "Workloads"),
    el("p", { class: "lede" }, "What each workload asks for, what is in force, and what it would need."),
    filters(context),
    list.items.length
      ? table({ caption: "Amounts are those of one pod; a dash is an amount that is not known.", columns: columns(context), rows: list.items, at })
      : el("p", { class: "notice" }, list.total ? "There are no more workloads behind this page." : "No workload matches. Does a profile select any? kubectl get clusterprofiles,profiles -A"),
    pager(at, offset, list.items.length, list.total ?? 0, LIMIT),
  ];
}
