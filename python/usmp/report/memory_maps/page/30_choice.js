// Select a buffer or an operator, and update the maps, the details and the tables.

function pickBuffer(pool, id) {
  Object.assign(choice, { pool, buffer: id, operator: -1 });
  const buffer = data.pools[pool].buffers[id];
  const [producer] = buffer.written.length ? buffer.written : buffer.read;
  if (producer !== undefined) choice.operator = producer;
  showChoice();
  const facts = factsOf(pool, id).map(([term, text]) => `${term}: ${text}`);
  announce(`${facts.join(". ")}. Live together with ${count(conflictsOf(pool, id).length, "buffer")}.`);
}

function pickOperator(index) {
  Object.assign(choice, { pool: -1, buffer: -1, operator: index });
  showChoice();
  announce(operatorFacts(index).map(([term, text]) => `${term}: ${text}`).join(". "));
}

function pickNothing() {
  Object.assign(choice, { pool: -1, buffer: -1, operator: -1 });
  showChoice();
  announce("Nothing is chosen.");
}

function showChoice() {
  showDetails(detailsOfChoice());
  markRows(rowsOfChoice());
  redrawAll();
}

function operatorFacts(index) {
  const operator = operators[index];
  const facts = [["Operator", operatorName(index)]];
  if (data.entries.length > 1) facts.push(["Entry", operator.entry]);
  if (operator.functions.length) facts.push(["Function", operator.functions.join(", ")]);
  if (operator.positions) facts.push(["Runs", operator.positions.join("-")]);
  for (const [pool, bytes] of operator.live) facts.push([`Live in ${pool}`, `${bytes} bytes`]);
  if (operator.weights !== null) facts.push(["Weights", `${operator.weights} bytes`]);
  if (operator.macs !== null) facts.push(["MACs", String(operator.macs)]);
  if (operator.instructions !== null) facts.push(["Instructions", `about ${operator.instructions}`]);
  if (operator.measured !== null) facts.push(["Measured", operator.measured]);
  return facts;
}
