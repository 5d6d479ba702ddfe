// The keys of a map: arrows step through buffers and operators, + - 0 zoom, Escape deselects.

// Return the ids of the buffers of a pool, by the start of their live ranges, then by address.
function orderOf(pool) {
  const { buffers } = data.pools[pool];
  const begin = (buffer) => (buffer.live.length ? buffer.live[0][0] : 0);
  return buffers.map((_, id) => id).sort((a, b) =>
    begin(buffers[a]) - begin(buffers[b]) || buffers[a].offset - buffers[b].offset || a - b);
}

function stepBuffer(map, step) {
  map.order ??= orderOf(map.pool);
  if (!map.order.length) return;
  const at = choice.pool === map.pool ? map.order.indexOf(choice.buffer) : -1;
  const last = map.order.length - 1;
  const next = at < 0 ? (step > 0 ? 0 : last) : Math.min(Math.max(at + step, 0), last);
  const id = map.order[next];
  pickBuffer(map.pool, id);
  reveal(map, data.pools[map.pool].buffers[id]);
}

function stepOperator(step) {
  if (!operators.length) return;
  const last = operators.length - 1;
  const next = choice.operator < 0 ? (step > 0 ? 0 : last) : choice.operator + step;
  pickOperator(Math.min(Math.max(next, 0), last));
}

// Move the visible area so that it contains a buffer.
function reveal(map, buffer) {
  if (!isZoomed(map) || !buffer.live.length) return;
  const centered = ([start, stop], low, high) =>
    (high > start && low < stop ? [start, stop]
      : [(low + high) / 2 - (stop - start) / 2, (low + high) / 2 + (stop - start) / 2]);
  const [start, stop] = buffer.live[0];
  setVisible(map, centered(map.x, start, stop),
    centered(map.y, buffer.offset, buffer.offset + buffer.size));
}

function pressed(map, event) {
  const actions = {
    ArrowRight: () => (event.shiftKey ? pan(map, 0.2, 0) : stepBuffer(map, 1)),
    ArrowLeft: () => (event.shiftKey ? pan(map, -0.2, 0) : stepBuffer(map, -1)),
    ArrowDown: () => (event.shiftKey ? pan(map, 0, -0.2) : stepOperator(1)),
    ArrowUp: () => (event.shiftKey ? pan(map, 0, 0.2) : stepOperator(-1)),
    Home: () => stepBuffer(map, -Infinity),
    End: () => stepBuffer(map, Infinity),
    "+": () => zoom(map, 0.5),
    "=": () => zoom(map, 0.5),
    "-": () => zoom(map, 2),
    0: () => setVisible(map, map.fullX, map.fullY),
  };
  const action = actions[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action();
}

function listenToKeys(map) {
  map.element.addEventListener("keydown", (event) => pressed(map, event));
  const head = map.element.closest(".map");
  const buttons = { in: () => zoom(map, 0.5), out: () => zoom(map, 2),
    all: () => setVisible(map, map.fullX, map.fullY) };
  for (const [name, action] of Object.entries(buttons)) {
    head.querySelector(`[data-zoom="${name}"]`).addEventListener("click", action);
  }
}
