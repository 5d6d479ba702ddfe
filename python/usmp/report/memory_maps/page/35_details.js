// The details of the selection: beside the maps if they are in view, else at the bottom of the window.

const mostListed = 40;
const isNarrow = matchMedia("(max-width: 60rem)");
let isBesideMaps = true;
let opener = null;

const isChosen = () => choice.buffer >= 0 || choice.operator >= 0;

function showDetails() {
  const box = byId("details");
  byId("close").hidden = !isChosen();
  if (!isChosen()) {
    box.replaceChildren(element("p", "Click a block of a map or a row of a table, or focus a map and press the arrow keys."));
  } else if (choice.buffer >= 0) {
    box.replaceChildren(...bufferDetails(choice.pool, choice.buffer));
  } else {
    box.replaceChildren(...operatorDetails(choice.operator));
  }
  box.parentElement.scrollTop = 0;
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

function placeDetails() {
  document.body.classList.toggle("docked", isChosen() && (isNarrow.matches || !isBesideMaps));
}

// Scroll the page if the details cover the position of a click.
function keepInSight({ clientX, clientY }) {
  if (!document.body.classList.contains("docked")) return;
  const { left, top } = document.querySelector(".details").getBoundingClientRect();
  if (clientX >= left && clientY > top - 40) scrollBy(0, clientY - top + 40);
}

function closeDetails() {
  pickNothing();
  opener?.focus({ preventScroll: true });
}

function listenToDetails() {
  byId("close").addEventListener("click", closeDetails);
  byId("show-map").addEventListener("click", () => {
    maps[Math.max(choice.pool, 0)]?.element.scrollIntoView({ block: "center" });
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isChosen() && event.target.id !== "search") closeDetails();
  });
  // Remember what has the focus before the details have it.
  document.addEventListener("focusin", ({ target }) => {
    if (!target.closest(".details")) opener = target;
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest(".drawing, tbody tr")) keepInSight(event);
  });
  isNarrow.addEventListener("change", placeDetails);
  new IntersectionObserver(([entry]) => {
    isBesideMaps = entry.isIntersecting;
    placeDetails();
  }, { rootMargin: "-200px 0px" }).observe(document.querySelector(".workplace"));
}
