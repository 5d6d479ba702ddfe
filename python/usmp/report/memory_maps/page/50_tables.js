// Search and link the tables, which are readable without scripts.

function matchesSearch(buffer) {
  if (!choice.search) return true;
  const words = [buffer.name, buffer.kind, ...[...buffer.written, ...buffer.read].map(operatorName)];
  return words.some((word) => word.toLowerCase().includes(choice.search));
}

function rowsOf(id) {
  return [...document.querySelectorAll(`#${id} tbody tr`)];
}

// Return selectors of the rows of the selection.
function rowsOfChoice() {
  const { pool, buffer, operator } = choice;
  return [
    ...(buffer >= 0 ? [`#buffer-table tr[data-pool="${pool}"][data-id="${buffer}"]`] : []),
    ...(operator >= 0 ? [`#operator-table tr[data-id="${operator}"]`] : []),
  ];
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
