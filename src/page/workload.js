import { copyable, el, name, notice, visible } from "./dom.js";
import * as api from "./api.js";
import { amount, column, digits, GI, moment, percent, RESOURCES, spoken, TITLE, UNIT, whole, zone } from "./format.js";
import { daily, histogram, legend } from "./chart.js";
import { state, table } from "./table.js";
import { CONDITIONS, MODES, REASONS, STATES } from "./words.js";

const WHAT_IF = ["percentile", "halfLife", "multiplier"];

// "deployments.apps" and "Deployment.apps" are both kinds that the API takes; the first '.' begins the group.
function idOf(context) {
  const [, namespace, kind, workload] = context.parts;
  const dot = kind.indexOf(".");
  return { namespace, kind: dot < 0 ? kind : kind.slice(0, dot), group: dot < 0 ? "" : kind.slice(dot + 1), name: workload };
}

function numbersOf(container, resource) {
  return container[resource] ?? {};
}

/* --- the head --- */

function facts(workload) {
  const s = workload.status, rows = [];
  const add = (title, ...value) => rows.push(el("dt", null, title), el("dd", null, value));
  if (workload.profile) add("Profile", visible(workload.profile.kind), " ", name(workload.profile.name));
  else add("Profile", "none selects it any more");
  if (s.mode) add("Mode", `${visible(s.mode)}: ${MODES[s.mode] ?? ""}`);
  add("State", state(s.state), ` ${STATES[s.state] ?? ""}`);
  if (s.samples !== undefined) add("Samples", `${whole(s.samples)}, confidence ${s.confidencePercent ?? 0} %`);
  if (s.firstSample) add("First sample", moment(s.firstSample));
  if (s.lastSample) add("Last sample", moment(s.lastSample));
  if (s.applied) add("Last changed", moment(s.applied.time), s.applied.mode ? ` by ${visible(s.applied.mode)}` : "");
  if (s.hold) add("Held by a person", name(s.hold));
  return el("dl", { class: "facts" }, rows);
}

function conditions(workload) {
  const list = workload.status.conditions ?? [];
  if (!list.length) return null;
  return [el("h2", null, "Conditions"), el("ul", { class: "conditions" }, list.map((c) => el("li", null,
    el("span", { class: "strong" }, `${visible(c.type)}: ${c.status === "True" ? "yes" : "no"}`), " ",
    el("span", null, c.reason === c.type ? "" : `${visible(c.reason)}. `),
    el("span", { class: "muted" }, c.status === "True" ? CONDITIONS[c.type] ?? "" : REASONS[c.reason] ?? ""))))];
}

/* --- one container and resource --- */

function numbersTable(container, whatIf) {
  const rows = RESOURCES.filter((r) => container[r]).map((r) => ({ resource: r, ...numbersOf(container, r), tried: whatIf?.[r]?.target }));
  const of = (key) => (row) => column(row.resource, amount(row[key]));
  const exact = (key) => (row) => el("span", { title: visible(row[key] ?? "") }, of(key)(row));
  const columns = [
    { title: "Resource", cell: (row) => `${TITLE[row.resource]}, ${UNIT[row.resource]}` },
    { title: "Asked", numeric: true, cell: exact("original") },
    { title: "In force", numeric: true, cell: exact("current") },
    { title: "Model", numeric: true, cell: exact("model") },
    { title: "Lower", numeric: true, cell: exact("lower") },
    { title: "Upper", numeric: true, cell: exact("upper") },
    { title: "Target", numeric: true, cell: (row) => el("span", { class: "strong", title: visible(row.target ?? "") }, of("target")(row)) },
    ...(whatIf ? [{ title: "Tried", numeric: true, cell: (row) => el("span", { class: "strong", title: visible(row.tried ?? "") }, column(row.resource, amount(row.tried))) }] : []),
    { title: "Why", long: true, cell: (row) => [el("span", { class: "strong" }, visible(row.reason ?? "")), row.reason && REASONS[row.reason] ? el("span", { class: "muted" }, `: ${REASONS[row.reason]}`) : ""] },
  ];
  return table({ caption: "What the owner asks for, what the model of the usage says, and what the rules make of it.", columns, rows });
}

function marksOf(resource, numbers, explained, whatIf) {
  const at = explained?.steps?.find((s) => s.step === "percentile");
  return [
    { name: "model", label: at?.percentile ? `p${at.percentile}` : "model", value: amount(numbers.model) },
    { name: "target", label: "target", value: amount(numbers.target) },
    { name: "original", label: "asked", value: amount(numbers.original) },
    ...(whatIf?.target ? [{ name: "if", label: "tried", value: amount(whatIf.target) }] : []),
  ];
}

function bucketsTable(resource, h) {
  return el("details", null, el("summary", null, "The same as a table"),
    table({ caption: `Shares of the weight, ${UNIT[resource]}`, rows: h.buckets, columns: [
      { title: "From", cell: (b) => column(resource, b.from) },
      { title: "To", numeric: true, cell: (b) => column(resource, b.to) },
      { title: "Share", numeric: true, cell: (b) => percent(b.share * 100) }] }));
}

function plot(container, resource, h, problem, explained, whatIf) {
  const title = `${TITLE[resource]}: how often each amount was used`;
  if (problem) return el("div", null, el("h3", null, title), el("p", { class: "muted" }, visible(problem.message)));
  if (!h.buckets.length) return el("div", null, el("h3", null, title), el("p", { class: "muted" }, "Nothing is learned yet."));
  const marks = marksOf(resource, numbersOf(container, resource), explained, whatIf);
  return el("div", null, el("h3", null, title),
    histogram(resource, h.buckets, marks, title),
    el("p", { class: "muted small" }, `${whole(h.samples)} samples. A sample weighs half as much every ${visible(h.halfLife)}. `,
      h.percentiles.map((p) => `p${p.percentile} ${spoken(resource, p.value)}`).join(", "), "."),
    bucketsTable(resource, h));
}

// Which rule or gate a step is of: a gate may hold a change that halflife starts, a deploy, or both.
function speaker(s) {
  const who = s.step === "rule" ? s.rule : s.step === "gate" ? `gate ${s.gate}` : s.step === "deployGate" ? `gate ${s.gate} at a deploy` : null;
  return who ? el("span", { class: "muted" }, `${visible(who)}: `) : null;
}

function steps(resource, explained, title) {
  if (!explained?.steps?.length) return null;
  const told = explained.steps.filter((s) => s.spoke || !["rule", "gate", "deployGate"].includes(s.step));
  const rest = explained.steps.filter((s) => !told.includes(s));
  const item = (s) => el("li", { class: s.spoke || s.step === "model" ? null : "quiet" }, speaker(s), name(s.words));
  return el("div", null, el("h3", null, title ?? `${TITLE[resource]}: from the samples to the target`),
    el("ol", { class: "steps" }, told.map(item)),
    rest.length ? el("details", null, el("summary", null, `${rest.length} rules and gates that did not speak`), el("ol", { class: "steps" }, rest.map(item))) : null);
}

async function showContainer(context, id, container, explanation) {
  const explained = explanation?.containers?.find((c) => c.name === container.name);
  const resources = RESOURCES.filter((r) => container[r]);
  const tried = Object.fromEntries(resources.map((r) => [r, explained?.[r]?.whatIf]));
  const asked = WHAT_IF.some((k) => context.parameters[k]);
  const answers = await Promise.all(resources.map((r) => explanation
    ? api.attempt(api.workloadPath(id, "histogram"), { container: container.name, resource: r }, context.signal)
    : [null, new api.Problem(0, "", "The histogram is known only to the halflife that learns.")]));
  const notes = [...new Set(resources.flatMap((r) => tried[r]?.notes ?? []))];
  return el("section", { class: "container", "aria-label": `Container ${visible(container.name)}` },
    el("h2", null, "Container ", name(container.name)),
    numbersTable(container, asked && explained ? tried : null),
    asked ? notes.map((n) => el("p", { class: "muted small" }, name(n))) : null,
    el("div", { class: "pair" }, explanation ? resources.map((r, i) => plot(container, r, answers[i][0], answers[i][1], explained?.[r], tried[r])) : null),
    el("div", { class: "pair" }, resources.map((r) => steps(r, explained?.[r]))));
}

/* --- what would be if --- */

function whatIf(context, view) {
  const submit = (event) => {
    event.preventDefault();
    location.hash = context.link(view, { ...context.parameters, ...Object.fromEntries(new FormData(event.currentTarget)) });
  };
  const value = (key) => context.parameters[key] ?? "";
  return el("section", { "aria-labelledby": "what-if" }, el("h2", { id: "what-if" }, "What if"),
    el("p", { class: "muted" }, "Other values than the profile\u2019s, tried on what was learned. Nothing is changed."),
    el("form", { class: "what-if", submit },
      el("label", null, "Percentile, 50 to 100", el("input", { name: "percentile", type: "number", min: 50, max: 100, step: 1, value: value("percentile") })),
      el("label", null, "Half-life, such as 48h", el("input", { name: "halfLife", value: value("halfLife"), maxlength: 32, pattern: "([0-9]+(\\.[0-9]+)?(h|m|s))+", spellcheck: "false" })),
      el("label", null, "Multiplier, such as 1.2", el("input", { name: "multiplier", value: value("multiplier"), maxlength: 16, inputmode: "decimal", pattern: "[0-9]+(\\.[0-9]{1,3})?" })),
      el("button", { type: "submit" }, "Try"),
      WHAT_IF.some((k) => value(k)) ? el("a", { href: context.link(view, { ns: context.ns }) }, "As the profile says") : null));
}

/* --- its last days --- */

function means(resource, days) {
  return days.map((d) => ({ time: d.time, ...Object.fromEntries(["asked", "inForce", "used"].map((key) => [key, d[resource][key] / d.seconds])) }));
}

function daysTable(days) {
  const of = (r, key) => (d) => column(r, d[r][key] / d.seconds * (r === "cpu" ? 1 : GI));
  return el("details", null, el("summary", null, "The same as a table"),
    table({ caption: "The means of each day (UTC), over all pods, and what happened.", rows: days.toReversed(), columns: [
      { title: "Day", cell: (d) => el("time", { datetime: d.time }, visible(d.time.slice(0, 10))) },
      { title: "Pods", numeric: true, cell: (d) => digits(d.pods) },
      ...RESOURCES.flatMap((r) => [["Asked", "asked"], ["In force", "inForce"], ["Used", "used"]].map(([title, key], i) =>
        ({ group: `${TITLE[r]}, ${UNIT[r]}`, title, numeric: true, edge: i === 0, cell: of(r, key) }))),
      { title: "Changes", numeric: true, edge: true, cell: (d) => whole(d.changes) },
      { title: "Taken back", numeric: true, cell: (d) => whole(d.guards) },
      { title: "Kills", numeric: true, cell: (d) => whole(d.kills) }] }));
}

function lastDays(answer, problem) {
  const title = el("h2", null, "Its last 35 days");
  if (problem) return [title, el("p", { class: "muted" }, visible(problem.message))];
  if (!answer.days.length) return [title, el("p", { class: "muted" }, "The ledger has nothing of it yet: what was asked, in force and used is drawn from its first entry on.")];
  const sum = (r, key) => answer.days.reduce((n, d) => n + d[r][key], 0);
  return [
    title,
    el("p", { class: "muted" }, RESOURCES.map((r) => `${TITLE[r]}: asked ${column(r, sum(r, "asked") / 3600 * (r === "cpu" ? 1 : GI))}, given back ${column(r, (sum(r, "asked") - sum(r, "inForce")) / 3600 * (r === "cpu" ? 1 : GI))} ${r === "cpu" ? "core" : "GiB"}-hours`).join(". "), "."),
    el("div", { class: "pair" }, RESOURCES.map((r) => daily(r, means(r, answer.days), `${TITLE[r]} asked, in force and used on each of the last ${answer.days.length} days; the table below has the numbers`))),
    legend("allocatable"),
    daysTable(answer.days),
  ];
}

/* --- what to copy --- */

// A word for a POSIX shell.
function word(text) {
  return /^[A-Za-z0-9._/=:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function scalar(text) {
  return /^[A-Za-z][A-Za-z0-9.-]*$/.test(text) && !/^(y|n|yes|no|on|off|true|false|null)$/i.test(text) ? text : JSON.stringify(text);
}

function yaml(workload) {
  const lines = ["containers:"];
  for (const c of workload.status.containers) {
    const wanted = RESOURCES.filter((r) => c[r]?.target && c[r].reason !== "Init");
    if (!wanted.length) continue;
    lines.push(`- name: ${scalar(c.name)}`, "  resources:", "    requests:");
    for (const r of wanted) lines.push(`      ${r}: ${JSON.stringify(c[r].target)}`);
  }
  return lines.join("\n");
}

function commands(id, workload) {
  const target = word(`${id.group ? `${id.kind}.${id.group}` : id.kind}/${id.name}`.toLowerCase()), ns = `-n ${word(id.namespace)}`;
  const recommendation = workload.metadata.recommendation;
  return [
    el("h2", null, "To copy"),
    copyable("Recommended requests, as YAML", yaml(workload), "For the pod template. halflife writes no limits."),
    copyable("Explain it in a terminal", `kubectl halflife explain ${target} ${ns}`),
    recommendation ? copyable("Hold it: halflife changes nothing until you resume it",
      `kubectl annotate recommendation ${word(recommendation)} ${ns} halflife.dev/hold='why'`) : null,
    copyable("Restore what its owner asked for, and hold it", `kubectl halflife restore ${target} ${ns}`),
    copyable("Resume it after a hold", `kubectl halflife resume ${target} ${ns}`),
  ];
}

/* --- the page --- */

export async function show(context) {
  const id = idOf(context);
  const view = context.parts.map(encodeURIComponent).join("/");
  const tried = Object.fromEntries(WHAT_IF.map((k) => [k, context.parameters[k]]));
  const [workload, [explanation, problem], days] = await Promise.all([
    api.get(api.workloadPath(id), {}, context.signal),
    api.attempt(api.workloadPath(id, "explain"), tried, context.signal),
    api.attempt(api.workloadPath(id, "days"), {}, context.signal)]);
  const containers = await Promise.all(workload.status.containers.map((c) => showContainer(context, id, c, explanation)));
  return [
    el("p", { class: "small" }, el("a", { href: context.link("workloads", { ns: context.ns }) }, "\u2190 Workloads")),
    el("h1", { tabindex: "-1" }, name(id.name)),
    el("p", { class: "lede" }, name(workload.metadata.kind), " in ", name(id.namespace)),
    el("div", { class: "pair" }, facts(workload), el("div", null, conditions(workload))),
    problem ? notice(problem.status === 400 ? "bad" : "warn", problem.status === 400 ? "That cannot be tried" : "What was learned cannot be shown", problem.message) : null,
    explanation || problem?.status === 400 ? whatIf(context, view) : null,
    containers,
    lastDays(...days),
    commands(id, workload),
    el("p", { class: "muted small" }, `Times are those of ${zone()}.`),
  ];
}
