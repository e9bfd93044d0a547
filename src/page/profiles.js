import { el, name, visible } from "./dom.js";
import * as api from "./api.js";
import { amount, column, RESOURCES, TITLE, UNIT, whole } from "./format.js";
import { table } from "./table.js";

function remarks(p) {
  return [p.paused && "paused", p.unreadable && "its spec is invalid, the last valid one is shown", p.leftOut && "selects nothing: too many Profiles in its namespace",
    p.canaryClosed && "only its canaries are changed now", p.fuseBlownFor && `fuse blown${p.fuseBlownFor.includes("") ? "" : ` for ${visible(p.fuseBlownFor.join(", "))}`}`].filter(Boolean).join("; ");
}

function learns(p, resource) {
  const r = p.resources?.[resource];
  return !r ? "" : r.enabled ? `p${Number(r.percentile)} \u00d7 ${visible(r.multiplier)}` : "off";
}

function columns(context) {
  return [
    { title: "Profile", cell: (p) => [el("a", { href: context.link("workloads", { ns: p.namespace ?? context.ns, profile: p.name }) }, name(p.name)), " ",
      el("span", { class: "kind" }, p.namespace ? ["in ", name(p.namespace)] : "of the cluster")] },
    { title: "Mode", cell: (p) => visible(p.mode ?? "") },
    { title: "Target", cell: (p) => visible(p.dimension ?? "") },
    { title: "Workloads", numeric: true, cell: (p) => whole(p.workloads) },
    { title: "Ready", numeric: true, cell: (p) => whole(p.states.Ready) },
    { title: "Canary", numeric: true, cell: (p) => (p.canaryPercent === undefined || p.canaryPercent === 100 ? "" : `${p.canaryPercent} %`) },
    ...RESOURCES.flatMap((r) => [
      { group: `${TITLE[r]}, ${UNIT[r]}`, title: "Learns", edge: true, cell: (p) => learns(p, r) },
      { group: `${TITLE[r]}, ${UNIT[r]}`, title: "Asked", numeric: true, cell: (p) => column(r, amount(p[r].original)) },
      { group: `${TITLE[r]}, ${UNIT[r]}`, title: "In force", numeric: true, cell: (p) => column(r, amount(p[r].current)) },
      { group: `${TITLE[r]}, ${UNIT[r]}`, title: "Target", numeric: true, cell: (p) => column(r, amount(p[r].target)) }]),
    { title: "Remarks", edge: true, long: true, cell: remarks },
  ];
}

function tried(list, context) {
  const rows = list.items.flatMap((p) => RESOURCES.map((r) => ({ profile: p, resource: r })));
  const value = (text) => (row) => column(row.resource, amount(text(row.profile[row.resource])));
  const columns = [
    { title: "Profile", cell: ({ profile }) => [el("a", { href: context.link("workloads", { ns: profile.namespace ?? context.ns, profile: profile.name }) }, name(profile.name)), " ",
      el("span", { class: "kind" }, profile.namespace ? ["in ", name(profile.namespace)] : "of the cluster")] },
    { title: "Resource", cell: ({ resource }) => `${TITLE[resource]}, ${UNIT[resource]}` },
    { title: "As it is", numeric: true, edge: true, cell: value((s) => s.saving) },
    ...list.percentiles.map((p, i) => ({ group: "By another percentile", title: `p${Number(p)}`, label: `By p${Number(p)}`, numeric: true, edge: i === 0, cell: value((s) => s.tried[i]) })),
  ];
  return [
    rows.length ? table({ caption: "What all pods would request less than their owners ask for, tried on what was learned with the same rules. Nothing is changed.", columns, rows })
      : el("p", { class: "notice" }, "No profile selects a workload here."),
    list.left ? el("p", { class: "muted" }, `${whole(list.left)} containers were not tried; they count as they are.`) : null,
  ];
}

export async function show(context) {
  const [list, [whatIf, problem]] = await Promise.all([
    api.get(api.scoped(context.ns, "profiles"), {}, context.signal),
    api.attempt(api.scoped(context.ns, "profiles/what-if"), {}, context.signal)]);
  return [
    el("h1", { tabindex: "-1" }, "Profiles"),
    el("p", { class: "lede" }, "Which workloads each profile selects, and what they ask for together."),
    list.items.length ? table({ caption: "Amounts are sums over all pods.", columns: columns(context), rows: list.items })
      : el("p", { class: "notice" }, "No profile can be shown here. kubectl get clusterprofiles,profiles -A"),
    ...(list.unlisted ?? []).map((why) => el("p", { class: "notice" }, `Profiles are missing here, or only their names are known: ${visible(why)}`)),
    list.without.workloads ? el("p", { class: "muted" }, `${whole(list.without.workloads)} workloads have values of halflife, or were learned, but no profile that can be shown selects them.`) : null,
    el("h2", null, "What another percentile would save"),
    whatIf ? tried(whatIf, context) : el("p", { class: "muted" }, visible(problem.message)),
  ];
}
