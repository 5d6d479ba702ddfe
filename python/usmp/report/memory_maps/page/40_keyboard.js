// The keys of a map: arrows step through buffers and operators.

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
  const { live, offset, size } = data.pools[map.pool].buffers[id];
  if (live.length) reveal(map, live[0], [offset, offset + size]);
}

function stepOperator(step) {
  if (!operators.length) return;
  const last = operators.length - 1;
  const next = choice.operator < 0 ? (step > 0 ? 0 : last) : choice.operator + step;
  pickOperator(Math.min(Math.max(next, 0), last));
}

function keysOf(map) {
  return {
    ArrowRight: () => stepBuffer(map, 1),
    ArrowLeft: () => stepBuffer(map, -1),
    ArrowDown: () => stepOperator(1),
    ArrowUp: () => stepOperator(-1),
    Home: () => stepBuffer(map, -Infinity),
    End: () => stepBuffer(map, Infinity),
  };
}
