"use strict";
// Sorts a table by the column whose head is pressed, numbers as numbers; rows without a value stay last. One listener
// for the whole page, whose tables may be replaced.
{
  const value = (row, at) => {
    const cell = row.cells[at], text = (cell.dataset.value ?? cell.textContent).trim();
    return text === "" || text === "–" ? null : Number.isNaN(Number(text)) ? text : Number(text);
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, {numeric: true});
  document.addEventListener("click", (event) => {
    const head = event.target.closest("table.sortable thead th");
    if (!head || !event.target.closest("button")) return;
    const table = head.closest("table"), at = head.cellIndex, down = head.getAttribute("aria-sort") === "ascending";
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].map((row) => [value(row, at), row]);
    rows.sort(([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : down ? compare(b, a) : compare(a, b)));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  });
}
