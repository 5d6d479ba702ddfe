// The selection on the page, and queries of the data. `data` has the operators of the program, and
// the pools with their buffers. The index of a buffer is its id.

const operators = data.operators;
const choice = { pool: -1, buffer: -1, operator: -1, search: "", colorBy: "kind" };

const operatorName = (index) => operators[index].label;

function isLiveTogether(one, other) {
  return one.live.some(([start, stop]) =>
    other.live.some(([begin, end]) => start < end && begin < stop));
}

// Return the ids of the buffers of a pool that are live together with a buffer.
function conflictsOf(pool, id) {
  const { buffers } = data.pools[pool];
  return buffers.map((_, other) => other)
    .filter((other) => other !== id && isLiveTogether(buffers[id], buffers[other]));
}

// Return the facts of a buffer, as pairs of a term and a text.
function factsOf(pool, id) {
  const buffer = data.pools[pool].buffers[id];
  const names = (indices) => indices.map(operatorName).join(", ");
  const facts = [
    ["Name", buffer.name],
    ["Kind", buffer.ring ? `${buffer.kind}, ring of rows` : buffer.kind],
    ["Pool", data.pools[pool].name],
    ["Bytes", String(buffer.size)],
    ["Offset", `${buffer.offset} to ${buffer.offset + buffer.size}`],
    ["Live", buffer.live.map(([start, stop]) => `${start}-${stop}`).join(", ")],
  ];
  if (data.entries.length > 1) facts.push(["Entries", buffer.entries.join(", ")]);
  if (buffer.written.length) facts.push(["Written by", names(buffer.written)]);
  if (buffer.read.length) facts.push(["Read by", names(buffer.read)]);
  for (const [other, bytes] of buffer.overlaps) {
    facts.push(["Overwrites", `${bytes} bytes of ${other}, which was read there for the last time`]);
  }
  return facts;
}
