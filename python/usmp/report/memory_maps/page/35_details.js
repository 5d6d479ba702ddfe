// What the details have about the selection.

const mostListed = 40;

function detailsOfChoice() {
  if (choice.buffer >= 0) return bufferDetails(choice.pool, choice.buffer);
  return choice.operator >= 0 ? operatorDetails(choice.operator) : [];
}

function bufferDetails(pool, id) {
  const { buffers } = data.pools[pool];
  const { written, read } = buffers[id];
  const others = conflictsOf(pool, id);
  const facts = factsOf(pool, id).filter(([term]) => !["Written by", "Read by"].includes(term));
  const operatorButton = (index) => pickButton(operatorName(index), () => pickOperator(index));
  return [
    listOf(facts),
    ...buttonList("Written by", written, operatorButton),
    ...buttonList("Read by", read, operatorButton),
    ...buttonList(`Live together with ${count(others.length, "buffer")}`, others,
      (other) => pickButton(buffers[other].name, () => pickBuffer(pool, other))),
  ];
}

function operatorDetails(index) {
  const using = (side) => data.pools.flatMap((pool, p) => pool.buffers.flatMap((buffer, id) =>
    (buffer[side].includes(index) ? [[p, id]] : [])));
  const bufferButton = ([p, id]) => pickButton(data.pools[p].buffers[id].name, () => pickBuffer(p, id));
  const { model } = operators[index];
  return [
    listOf(operatorFacts(index)),
    ...(model.length ? [element("h3", "In the model"), ...model.map(modelOperator)] : []),
    ...buttonList("Writes", using("written"), bufferButton),
    ...buttonList("Reads", using("read"), bufferButton),
  ];
}

// Return an operator of the model file with its tensors, folded because their names can be long.
function modelOperator({ label, name, inputs, outputs }, _, all) {
  const folded = document.createElement("details");
  folded.open = all.length === 1;
  const tensors = (term, names) => names.map((tensor) => [term, tensor]);
  folded.append(element("summary", label), listOf([
    ...(name ? [["Name", name]] : []), ...tensors("Reads", inputs), ...tensors("Writes", outputs),
  ]));
  return folded;
}

function buttonList(title, items, buttonOf) {
  if (!items.length) return [];
  const hidden = items.length - mostListed;
  return [
    element("h3", title), ...items.slice(0, mostListed).map(buttonOf),
    ...(hidden > 0 ? [element("p", `and ${hidden} more`)] : []),
  ];
}

function pickButton(text, pick) {
  const button = element("button", text);
  button.type = "button";
  button.dir = "auto";
  button.addEventListener("click", () => {
    pick();
    // The button is gone.
    byId("details-title").focus({ preventScroll: true });
  });
  return button;
}
