import { el, name, visible } from "./dom.js";
import * as api from "./api.js";
import { amount, column, moment, RESOURCES, TITLE, UNIT } from "./format.js";
import { appliedOf, workloadLink } from "./workloads.js";
import { pager, state, table } from "./table.js";
import { CONDITIONS, REASONS } from "./words.js";

const LIMIT = 50;
const NEXT_DEPLOY = "the next deploy brings it";
const KINDS = [["", "Applied"], ["Guarded", "Taken back by the guard"], ["Contested", "Contested"], ["Canary", "Canaries"], ["Held", "Held"], ["UnderProvisioned", "Under-provisioned"]];

function why(item, condition) {
  const c = condition ? (item.status.conditions ?? []).find((x) => x.type === condition) : appliedOf(item);
  if (!c) return "";
  const words = c.reason === "NextDeploy" ? NEXT_DEPLOY : REASONS[c.reason] ?? CONDITIONS[c.type];
  return [el("span", { class: "strong" }, c.status === "True" && !condition ? "in force" : visible(c.reason)), c.status === "True" && !condition ? "" : words ? el("span", { class: "muted" }, `: ${words}`) : ""];
}

function columns(context, condition) {
  return [
    { title: "Workload", cell: (item) => [workloadLink(context, item), " ", el("span", { class: "kind" }, name(item.metadata.kind), " in ", name(item.metadata.namespace))] },
    { title: "When", numeric: true, long: true, cell: (item) => moment(item.status.applied?.time) },
    { title: "By", cell: (item) => visible(item.status.applied?.mode ?? "") },
    ...RESOURCES.flatMap((r) => [
      { group: `${TITLE[r]} of a pod, ${UNIT[r]}`, title: "Asked", numeric: true, edge: true, cell: (item) => column(r, amount(item.status.pod?.[r]?.original)) },
      { group: `${TITLE[r]} of a pod, ${UNIT[r]}`, title: "In force", numeric: true, cell: (item) => column(r, amount(item.status.pod?.[r]?.current)) },
      { group: `${TITLE[r]} of a pod, ${UNIT[r]}`, title: "Target", numeric: true, cell: (item) => column(r, amount(item.status.pod?.[r]?.target)) }]),
    { title: "State", edge: true, cell: (item) => state(item.status.state) },
    { title: condition || "Now", long: true, cell: (item) => why(item, condition) },
  ];
}

export async function show(context) {
  const condition = KINDS.some(([k]) => k === context.parameters.condition) ? context.parameters.condition : "";
  const offset = Math.max(0, Number.parseInt(context.parameters.offset ?? "0", 10) || 0);
  const list = await api.get(api.scoped(context.ns, "workloads"), { sort: "-applied", condition, offset, limit: LIMIT,
    fields: "metadata,status.state,status.mode,status.pod,status.applied,status.conditions" }, context.signal);
  const rows = condition ? list.items : list.items.filter((item) => item.status.applied);
  const at = { view: "changes", parameters: context.parameters, link: context.link };
  return [
    el("h1", { tabindex: "-1" }, "Changes"),
    el("p", { class: "lede" }, condition ? CONDITIONS[condition] : "The last change that halflife made to each workload, the newest first."),
    el("nav", { "aria-label": "Kinds of changes", class: "pager" }, KINDS.map(([key, title]) =>
      el("a", { href: context.link("changes", { ns: context.ns, condition: key }), "aria-current": key === condition ? "page" : null }, title))),
    rows.length ? table({ caption: "Who or what holds a change, in full: on the page of the workload.", columns: columns(context, condition), rows })
      : el("p", { class: "notice" }, condition ? `No workload has the condition ${condition}.` : "halflife has changed nothing here yet."),
    condition || rows.length === list.items.length ? pager(at, offset, rows.length, list.total, LIMIT) : null,
  ];
}
