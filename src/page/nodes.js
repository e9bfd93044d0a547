import { el, name, visible } from "./dom.js";
import * as api from "./api.js";
import { amount, column, percent, RESOURCES, TITLE, UNIT, whole, moment } from "./format.js";
import { meter } from "./chart.js";
import { table } from "./table.js";

function status(node) {
  return [node.ready ? "Ready" : "Not ready", node.unschedulable && "cordoned", node.conditions?.length && `hot: ${visible(node.conditions[0].reason)}`].filter(Boolean).join(", ");
}

function share(node, resource, key) {
  const value = amount(node[resource][key]), all = amount(node[resource].allocatable);
  return all > 0 ? value / all * 100 : undefined;
}

function part(value, hot) {
  return value === undefined ? "\u2013" : el("span", null, meter(value / 100, hot ? "hot" : "part"), " ", percent(value));
}

function columns(context, hotPercent) {
  const of = (resource) => [
    { group: `${TITLE[resource]}, ${UNIT[resource]}`, title: "Allocatable", numeric: true, edge: true, cell: (n) => column(resource, amount(n[resource].allocatable)) },
    { group: `${TITLE[resource]}, ${UNIT[resource]}`, title: "Requested", numeric: true, cell: (n) => column(resource, amount(n[resource].requested)) },
    { group: `${TITLE[resource]}, ${UNIT[resource]}`, title: "of it", label: `${TITLE[resource]} requested, of it`, numeric: true, cell: (n) => (share(n, resource, "requested") === undefined ? "\u2013" : percent(share(n, resource, "requested"))) },
    { group: `${TITLE[resource]}, ${UNIT[resource]}`, title: "Used", label: `${TITLE[resource]} used`, numeric: true, long: true, cell: (n) => part(n[resource].meanPercent, n[resource].meanPercent > hotPercent) },
  ];
  return [
    { title: "Node", cell: (n) => name(n.name) },
    { title: "Status", cell: status },
    ...RESOURCES.flatMap(of),
    { title: "Pods", numeric: true, edge: true, cell: (n) => whole(n.pods) },
    { title: "Furthest above their requests", long: true, cell: (n) => (n.workloads ?? []).map((w, i) => [i ? ", " : "",
      el("a", { href: context.link(["workload", w.namespace, w.kind, w.name].map(encodeURIComponent).join("/"), { ns: context.ns }) }, name(w.name)), " ", el("span", { class: "kind" }, name(w.namespace))]) },
  ];
}

export async function show(context) {
  const list = await api.get("nodes", { namespace: context.ns }, context.signal);
  const hot = list.items.filter((n) => n.conditions?.length).length;
  return [
    el("h1", { tabindex: "-1" }, "Nodes"),
    el("p", { class: "lede" }, `By pressure, the greatest first. A node is hot from 12 of 15 minutes above ${list.hotPercent} % on; `,
      hot === 1 ? "one is hot." : `${hot || "none"} ${hot ? "are" : "is"} hot.`),
    list.items.length ? table({ caption: ["As of ", moment(list.time), ". Used is the mean of the last 15 minutes, of the capacity."], columns: columns(context, list.hotPercent), rows: list.items })
      : el("p", { class: "notice" }, "No nodes are known. May halflife watch nodes? halflife check"),
    list.left ? el("p", { class: "muted" }, `${whole(list.left)} more nodes have less pressure.`) : null,
  ];
}
