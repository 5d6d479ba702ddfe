// Sort, search and link the tables, which are readable without scripts.

function matchesSearch(buffer) {
  if (!choice.search) return true;
  const words = [buffer.name, buffer.kind, ...[...buffer.written, ...buffer.read].map(operatorName)];
  return words.some((word) => word.toLowerCase().includes(choice.search));
}

function rowsOf(id) {
  return [...document.querySelectorAll(`#${id} tbody tr`)];
}

function sortTable(table, column, heading) {
  const isUp = heading.getAttribute("aria-sort") !== "ascending";
  table.querySelectorAll("th[aria-sort]").forEach((th) => th.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", isUp ? "ascending" : "descending");
  const isNumber = heading.classList.contains("number");
  const key = (row) => {
    const text = row.cells[column].textContent;
    return isNumber ? (text === "" ? -1 : Number(text)) : text;
  };
  const compare = isNumber ? (a, b) => a - b : new Intl.Collator("en", { numeric: true }).compare;
  const rows = [...table.tBodies[0].rows].map((row, index) => [key(row), index, row]);
  rows.sort(([a, i], [b, j]) => (isUp ? 1 : -1) * compare(a, b) || i - j);
  table.tBodies[0].replaceChildren(...rows.map(([, , row]) => row));
  announce(`Sorted by ${heading.textContent}, ${isUp ? "ascending" : "descending"}.`);
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = element("button", heading.textContent);
    button.type = "button";
    button.addEventListener("click", () => sortTable(table, column, heading));
    heading.replaceChildren(button);
  });
}

// Make the name of each row a button that selects it.
function linkRows() {
  for (const row of [...rowsOf("buffer-table"), ...rowsOf("operator-table")]) {
    const name = row.cells[0].tagName === "TH" ? row.cells[0] : row.querySelector("th");
    const button = document.createElement("button");
    button.type = "button";
    button.append(...name.childNodes);
    name.append(button);
  }
  const listen = (id, pick) => byId(id)?.addEventListener("click", (event) => {
    const row = event.target.closest("tbody tr");
    if (row && !getSelection().toString()) pick(row.dataset);
  });
  listen("buffer-table", (row) => pickBuffer(Number(row.pool), Number(row.id)));
  listen("operator-table", (row) => pickOperator(Number(row.id)));
}

// Show the whole text of a cut cell while the pointer is on it.
function titleCutCells() {
  document.addEventListener("mouseover", ({ target }) => {
    const text = target.closest("tbody span, tbody div");
    if (!text || text.title) return;
    const isCut = text.scrollHeight > text.clientHeight || text.scrollWidth > text.clientWidth;
    if (isCut) text.title = text.textContent;
  });
}

function markRows() {
  document.querySelectorAll("tr.picked").forEach((row) => row.classList.remove("picked"));
  const chosen = [];
  if (choice.buffer >= 0) {
    chosen.push(`#buffer-table tr[data-pool="${choice.pool}"][data-id="${choice.buffer}"]`);
  }
  if (choice.operator >= 0) chosen.push(`#operator-table tr[data-id="${choice.operator}"]`);
  for (const selector of chosen) document.querySelector(selector)?.classList.add("picked");
}

function search(text) {
  choice.search = text.trim().toLowerCase();
  let found = 0;
  for (const row of rowsOf("buffer-table")) {
    const isFound = matchesSearch(data.pools[Number(row.dataset.pool)].buffers[Number(row.dataset.id)]);
    row.hidden = !isFound;
    found += isFound ? 1 : 0;
  }
  for (const row of rowsOf("operator-table")) {
    const index = Number(row.dataset.id);
    const tensors = operators[index].model.flatMap(({ name, inputs, outputs }) => [name ?? "", ...inputs, ...outputs]);
    const words = [operatorName(index), ...operators[index].functions, ...tensors];
    row.hidden = !words.join("\n").toLowerCase().includes(choice.search);
  }
  redrawAll();
  byId("found").textContent = choice.search ? count(found, "buffer") : "";
  announce(choice.search ? `${count(found, "buffer")} found.` : "All buffers are shown.");
}
