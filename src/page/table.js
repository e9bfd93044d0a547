import { el, visible } from "./dom.js";
import { whole } from "./format.js";

// The header's first row: groups of columns.
function groups(columns) {
  const cells = [];
  for (const c of columns) {
    const last = cells.at(-1);
    if (last && last.group === c.group) last.span++;
    else cells.push({ group: c.group, span: 1 });
  }
  return el("tr", { class: "groups", role: "row" }, cells.map((c) => c.group
    ? el("th", { scope: "colgroup", role: "columnheader", colspan: c.span, class: "group" }, c.group)
    : el("td", { role: "cell", colspan: c.span })));
}

// A link that sorts: numbers begin with the greatest, a second use turns the order around.
function sorter(column, at) {
  const descending = at.sort === `-${column.sort}`, ascending = at.sort === column.sort;
  const next = descending ? column.sort : ascending ? `-${column.sort}` : column.numeric ? `-${column.sort}` : column.sort;
  const attributes = { scope: "col", role: "columnheader", class: classes(column), "aria-sort": descending ? "descending" : ascending ? "ascending" : "none" };
  return el("th", attributes, el("a", { href: at.link(at.view, { ...at.parameters, sort: next, offset: "" }) },
    column.title, el("span", { "aria-hidden": "true" }, descending ? " \u2193" : ascending ? " \u2191" : "")));
}

function classes(column) {
  return [column.numeric && "number", column.edge && "edge", column.long && "long"].filter(Boolean).join(" ") || null;
}

function header(column, at) {
  return column.sort && at ? sorter(column, at) : el("th", { scope: "col", role: "columnheader", class: classes(column) }, column.title);
}

// The name of a cell on a narrow screen: "CPU asked".
function label(column) {
  return column.label ?? (column.group ? `${column.group.split(/[ ,]/)[0]} ${column.title.toLowerCase()}` : column.title);
}

// columns: {title, cell, group?, sort?, numeric?, edge?, label?}; the first names the row. at: {view, parameters, sort, link},
// where the server sorts. On narrow screens each row is a card, so roles are spelled.
export function table({ caption, columns, rows, at, footer }) {
  const cells = (row, of) => columns.map((c, i) => i === 0
    ? el("th", { scope: "row", role: "rowheader" }, of(c, row))
    : el("td", { role: "cell", class: classes(c), "data-label": label(c) }, el("span", null, of(c, row))));
  return el("div", { class: "wide" }, el("table", { class: "cards", role: "table" },
    el("caption", null, caption),
    el("thead", { role: "rowgroup" }, columns.some((c) => c.group) ? groups(columns) : null,
      el("tr", { role: "row" }, columns.map((c) => header(c, at)))),
    el("tbody", { role: "rowgroup" }, rows.map((row) => el("tr", { role: "row" }, cells(row, (c, r) => c.cell(r))))),
    footer ? el("tfoot", { role: "rowgroup" }, el("tr", { role: "row" }, cells(footer, (c, r) => (c.foot ?? c.cell)(r)))) : null));
}

export function pager(at, offset, shown, total, limit) {
  const to = (n) => at.link(at.view, { ...at.parameters, offset: n > 0 ? n : "" });
  return el("nav", { class: "pager", "aria-label": "Pages of the list" },
    offset > 0 ? el("a", { href: to(Math.max(0, offset - limit)), rel: "prev" }, "\u2190 Previous") : null,
    el("span", { class: "muted" }, total ? `${whole(offset + 1)}\u2013${whole(offset + shown)} of ${whole(total)}` : "none"),
    offset + shown < total ? el("a", { href: to(offset + limit), rel: "next" }, "Next \u2192") : null);
}

const STATES = ["NoData", "Learning", "Ready", "Stale", "Held"];

export function state(word) {
  return el("span", { class: `state ${STATES.includes(word) ? word.toLowerCase() : ""}` }, visible(word));
}
