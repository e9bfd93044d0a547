import { el, name, notice, visible } from "./dom.js";
import * as api from "./api.js";
import { amount, column, digits, percent, RESOURCES, spoken, TITLE, UNIT, whole } from "./format.js";
import { budget, history, legend } from "./chart.js";
import { table } from "./table.js";
import { REASONS } from "./words.js";
import { appliedOf, workloadLink } from "./workloads.js";

const DAYS = "30d", HOT_MOST = 500;

function figure(title, value, ...note) {
  return el("div", null, el("dt", null, title), el("dd", null, value), el("dd", { class: "note" }, note));
}

/* --- over time, from the ledger --- */

function points(resource, series) {
  return series.filter((s) => s.seconds > 0).map((s) => {
    const of = (key) => (Number.isFinite(s[resource]?.[key]) ? s[resource][key] / s.seconds : undefined);
    return { time: s.time, asked: of("asked"), inForce: of("inForce"), used: of("used"), allocatable: of("allocatable") };
  });
}

function overTime(report) {
  const series = report.series ?? [];
  if (series.length < 2) return el("p", { class: "muted" }, "The ledger has begun only now: what was asked, in force and used is drawn from its second entry on.");
  return [
    el("div", { class: "pair" }, RESOURCES.map((r) => history(r, points(r, series), `${TITLE[r]} asked, in force${report.allocatable ? ", used and allocatable" : " and used"} over the last 30 days`))),
    legend(report.allocatable ? "" : "allocatable"),
    report.notBooked ? el("p", { class: "muted small" }, `${whole(report.notBooked / 60)} minutes were not booked: halflife was away, or usage could not be read.`) : null,
  ];
}

// What was asked less what was in force, in core-hours or GiB-hours, of the days that began within the last week.
function savedLately(report) {
  const week = (report?.series ?? []).filter((s) => Date.parse(s.time) > Date.now() - 7 * 864e5);
  if (!week.length) return null;
  const of = (r, key) => week.reduce((n, s) => n + s[r][key], 0) / 3600;
  const hours = (r, n) => `${n >= 100 ? whole(n) : digits(n)} ${r === "cpu" ? "core" : "GiB"}-hours`;
  return RESOURCES.map((r) => figure(`${TITLE[r]} saved in the last 7 days`, hours(r, of(r, "asked") - of(r, "inForce")),
    `of ${hours(r, of(r, "asked"))} asked; used were ${hours(r, of(r, "used"))}`));
}

/* --- what wastes most, and why it still does --- */

// What all pods of a workload still request beyond its target.
function beyond(item, r) {
  const of = (key) => amount(item.status.pod?.[r]?.[key]);
  const each = of("original") - of("target"), all = amount(item.status.saving?.[r]);
  return each > 0 && all > 0 ? Math.max(0, all / each * (of("current") - of("target"))) : 0;
}

function why(item) {
  const applied = appliedOf(item);
  if (item.status.hold) return [el("span", { class: "strong" }, "A person holds it"), ": ", name(item.status.hold)];
  if (!applied) return "";
  if (applied.status === "True") return "in force";
  const words = applied.reason === "NextDeploy" ? "the next deploy brings it" : REASONS[applied.reason] ?? "";
  return [el("span", { class: "strong" }, visible(applied.reason)), words ? el("span", { class: "muted" }, `: ${words}`) : ""];
}

const WASTE_ROWS = 6, WASTE_READ = 50;

function waste(context, list) {
  const rows = list.items.map((item) => ({ item, cpu: beyond(item, "cpu"), memory: beyond(item, "memory") }))
    .filter((row) => row.cpu > 0 || row.memory > 0).sort((a, b) => b.cpu - a.cpu || b.memory - a.memory).slice(0, WASTE_ROWS);
  const all = el("p", { class: "small" }, el("a", { href: context.link("workloads", { ns: context.ns, sort: "-cpuSaving" }) }, "All workloads"));
  return [
    el("h2", null, "What wastes most"),
    rows.length ? table({ caption: "What all pods of a workload request beyond what it needs, the most CPU first, and why they still do.", rows, columns: [
      { title: "Workload", cell: ({ item }) => [workloadLink(context, item), " ", el("span", { class: "kind" }, name(item.metadata.kind), " in ", name(item.metadata.namespace))] },
      ...RESOURCES.map((r, i) => ({ title: `${TITLE[r]}, ${UNIT[r]}`, numeric: true, edge: i === 0, cell: (row) => column(r, row[r]) })),
      { title: "Why", edge: true, long: true, cell: ({ item }) => why(item) }] })
      : el("p", { class: "notice" }, "No workload requests more than it needs, as far as is known yet."),
    all,
  ];
}

/* --- now --- */

function sums(total) {
  return RESOURCES.map((r) => {
    const original = amount(total[r].original), current = amount(total[r].current), target = amount(total[r].target);
    return { resource: r, original, realised: original - current, possible: original - target };
  });
}

// Those of the greatest pressure are listed first, so that the hot ones are among them.
function hotNodes(nodes) {
  const hot = nodes.items.filter((n) => n.conditions?.length).length;
  return hot === HOT_MOST && nodes.left ? `${whole(hot)} or more` : whole(hot);
}

function figures(summary, nodes, report) {
  const total = summary.total, c = total.conditions;
  const link = (place, key) => el("a", { href: place("workloads", { condition: key }) }, whole(c[key]));
  return (place) => el("dl", { class: "figures" },
    sums(total).map((s) => figure(`${TITLE[s.resource]} that requests could give back`, spoken(s.resource, s.possible),
      `${s.original > 0 ? percent(s.possible / s.original * 100) : "0 %"} of ${spoken(s.resource, s.original)} asked; given back so far: ${spoken(s.resource, s.realised)}`)),
    savedLately(report),
    figure("Workloads", whole(total.workloads), `${whole(total.states.Ready)} ready, ${whole(total.states.Learning + total.states.NoData)} learning, ${whole(total.states.Stale)} stale, ${whole(total.states.Held)} held`),
    figure("Under-provisioned", link(place, "UnderProvisioned"), "usage wants more than the owner asks for"),
    figure("Contested", link(place, "Contested"), "somebody else sets their requests"),
    figure("Taken back", link(place, "Guarded"), "by the guard, because a change did harm"),
    figure("Canaries", link(place, "Canary"), "watched, or waiting for those that are"),
    figure("Fuse", summary.fuseBlown ? "Blown" : "Whole", summary.fuseBlown ? "nothing is lowered until halflife resume --fuse" : "changes go on"),
    nodes ? figure("Hot nodes", el("a", { href: place("nodes", {}) }, hotNodes(nodes)), `of ${whole(nodes.items.length + (nodes.left ?? 0))}`) : null);
}

/* --- by namespace, profile or label --- */

function by(context, summary) {
  const key = context.parameters.by ?? "namespace";
  const submit = (event) => {
    event.preventDefault();
    const label = new FormData(event.currentTarget).get("label").trim();
    location.hash = context.link("", { ns: context.ns, by: label ? `label:${label}` : "" });
  };
  const to = (row) => (key === "namespace" ? context.link("workloads", { ns: row.name })
    : key === "profile" ? context.link("workloads", { ns: context.ns, profile: row.name })
      : context.link("workloads", { ns: context.ns, labelSelector: row.name ? `${key.slice(6)}=${row.name}` : `!${key.slice(6)}` }));
  const columns = [
    { title: key === "namespace" ? "Namespace" : key === "profile" ? "Profile" : `Label ${visible(key.slice(6))}`,
      cell: (row) => (row.name || key.startsWith("label:") ? el("a", { href: to(row) }, row.name ? name(row.name) : "without it") : "none"), foot: () => "All" },
    { title: "Workloads", numeric: true, cell: (row) => whole(row.workloads) },
    ...RESOURCES.flatMap((r) => {
      const group = `${TITLE[r]}, ${UNIT[r]}`;
      const of = (row, which) => amount(row[r][which]);
      return [
        { group, title: "", label: `${TITLE[r]}: in force and target`, edge: true, long: true, cell: (row) => budget(of(row, "original"), of(row, "current"), of(row, "target")), foot: () => "" },
        { group, title: "Asked", numeric: true, cell: (row) => column(r, of(row, "original")) },
        { group, title: "In force", numeric: true, cell: (row) => column(r, of(row, "current")) },
        { group, title: "Target", numeric: true, cell: (row) => column(r, of(row, "target")) },
        { group, title: "Possible", numeric: true, cell: (row) => el("span", { class: "gain" }, column(r, of(row, "original") - of(row, "target"))) }];
    }),
  ];
  return [
    el("h2", null, "Where it is"),
    el("form", { class: "filters", "aria-label": "Sums by", submit },
      el("nav", { class: "pager", "aria-label": "Sums by" }, ["namespace", "profile"].map((k) =>
        el("a", { href: context.link("", { ns: context.ns, by: k }), "aria-current": key === k ? "page" : null }, `By ${k}`))),
      el("label", null, "By a label, such as team", el("input", { name: "label", value: key.startsWith("label:") ? key.slice(6) : "", maxlength: 317, autocapitalize: "none", spellcheck: "false" })),
      el("button", { type: "submit" }, "Sum up")),
    summary.rows.length ? table({ caption: "Requests of all pods: as their owners set them, as they are, and as recommended. Possible is asked less target. The bars show of what is asked: above what is in force, below the target.", columns, rows: summary.rows, footer: summary.total })
      : el("p", { class: "notice" }, "No workload is known yet. Does a profile select any? kubectl get clusterprofiles,profiles -A"),
    summary.left ? el("p", { class: "muted" }, `${whole(summary.left)} more rows are not shown.`) : null,
    summary.total.podsUnknown ? el("p", { class: "muted small" }, `Of ${whole(summary.total.podsUnknown)} workloads the number of pods is not known here; each counts as one pod.`) : null,
  ];
}

export async function show(context) {
  const [summary, list, [report, reportProblem], [nodes]] = await Promise.all([
    api.get(api.scoped(context.ns, "summary"), { by: context.parameters.by }, context.signal),
    api.get(api.scoped(context.ns, "workloads"), { sort: "-cpuSaving", offset: 0, limit: WASTE_READ,
      fields: "metadata,status.hold,status.pod,status.saving,status.conditions" }, context.signal),
    api.attempt(api.scoped(context.ns, "report"), { since: DAYS, by: "namespace" }, context.signal),
    api.attempt("nodes", { namespace: context.ns, limit: HOT_MOST }, context.signal)]);
  return [
    el("h1", { tabindex: "-1" }, "Overview"),
    el("p", { class: "lede" }, context.ns ? ["Namespace ", name(context.ns)] : "All namespaces"),
    summary.applyNever ? notice("warn", "halflife changes nothing", "The setting apply is never.") : null,
    figures(summary, nodes, report)((view, p) => context.link(view, { ns: context.ns, ...p })),
    waste(context, list),
    el("h2", null, "Over time"),
    report ? overTime(report) : el("p", { class: "muted" }, reportProblem?.status === 404 ? "This halflife keeps no ledger, so what was asked, in force and used over time cannot be drawn; the sums below are of now." : visible(reportProblem?.message ?? "")),
    by(context, summary),
  ];
}
