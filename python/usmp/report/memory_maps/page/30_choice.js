// Select a buffer or an operator, and update the maps, the details and the tables.

function pickBuffer(pool, id, isFromTable = false) {
  Object.assign(choice, { pool, buffer: id, operator: -1 });
  const buffer = data.pools[pool].buffers[id];
  const [producer] = buffer.written.length ? buffer.written : buffer.read;
  if (producer !== undefined) choice.operator = producer;
  showDetails();
  markRows();
  redrawAll();
  const facts = factsOf(pool, id).map(([term, text]) => `${term}: ${text}`);
  announce(`${facts.join(". ")}. Live together with ${count(conflictsOf(pool, id).length, "buffer")}.`);
  if (isFromTable) maps[pool]?.element.scrollIntoView({ block: "nearest" });
}

function pickOperator(index) {
  Object.assign(choice, { pool: -1, buffer: -1, operator: index });
  showDetails();
  markRows();
  redrawAll();
  announce(operatorFacts(index).map(([term, text]) => `${term}: ${text}`).join(". "));
}

function pickNothing() {
  Object.assign(choice, { pool: -1, buffer: -1, operator: -1 });
  showDetails();
  markRows();
  redrawAll();
  announce("Nothing is chosen.");
}

function operatorFacts(index) {
  const operator = operators[index];
  const facts = [["Operator", operatorName(index)]];
  if (data.entries.length > 1) facts.push(["Entry", operator.entry]);
  if (operator.model.length) facts.push(["In the model", operator.model.join("; ")]);
  if (operator.positions) facts.push(["Runs", operator.positions.join("-")]);
  for (const [pool, bytes] of operator.live) facts.push([`Live in ${pool}`, `${bytes} bytes`]);
  if (operator.weights !== null) facts.push(["Weights", `${operator.weights} bytes`]);
  if (operator.macs !== null) facts.push(["MACs", String(operator.macs)]);
  if (operator.instructions !== null) facts.push(["Instructions", `about ${operator.instructions}`]);
  if (operator.measured !== null) facts.push(["Measured", operator.measured]);
  return facts;
}

const mostListed = 40;

function showDetails() {
  const box = byId("details");
  box.replaceChildren();
  if (choice.buffer < 0 && choice.operator < 0) {
    box.append(element("p", "Choose a buffer: click it, or focus a map and press the arrow keys."));
    return;
  }
  const isBuffer = choice.buffer >= 0;
  box.append(listOf(isBuffer ? factsOf(choice.pool, choice.buffer) : operatorFacts(choice.operator)));
  if (isBuffer) {
    const others = conflictsOf(choice.pool, choice.buffer);
    box.append(element("h3", `Live together with ${count(others.length, "buffer")}`));
    const { buffers } = data.pools[choice.pool];
    box.append(...others.slice(0, mostListed).map((id) => pickButton(buffers[id].name, choice.pool, id)));
    if (others.length > mostListed) box.append(element("p", `and ${others.length - mostListed} more`));
  } else {
    const index = choice.operator;
    for (const [title, side] of [["Writes", "written"], ["Reads", "read"]]) {
      const buttons = data.pools.flatMap((pool, p) => pool.buffers.flatMap((buffer, id) =>
        (buffer[side].includes(index) ? [pickButton(buffer.name, p, id)] : [])));
      if (buttons.length) box.append(element("h3", title), ...buttons);
    }
  }
}

function element(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

function listOf(facts) {
  const list = document.createElement("dl");
  for (const [term, text] of facts) {
    const name = element("dd", text);
    // Detect the direction, because a name may be written from right to left.
    name.dir = "auto";
    list.append(element("dt", term), name);
  }
  return list;
}

function pickButton(text, pool, id) {
  const button = element("button", text);
  button.type = "button";
  button.dir = "auto";
  button.addEventListener("click", () => pickBuffer(pool, id));
  return button;
}
