// The drawings, one for each pool. The signal `state` selects the emphasized items.

const maps = [];

function emphasisOf(pool) {
  const isHere = choice.pool === pool && choice.buffer >= 0;
  const related = isHere ? Object.fromEntries(conflictsOf(pool, choice.buffer).map((id) => [id, 1])) : null;
  const operator = choice.operator >= 0 ? operators[choice.operator].positions : null;
  let found = null;
  if (choice.search) {
    const matches = data.pools[pool].buffers.map((buffer, id) => [id, matchesSearch(buffer)]);
    found = Object.fromEntries(matches.filter(([, is]) => is).map(([id]) => [id, 1]));
  }
  return {
    picked: isHere ? choice.buffer : -1, related, found, operator, colorBy: choice.colorBy,
  };
}

function redraw(map) {
  map.view.signal("state", emphasisOf(map.pool));
  map.view.runAsync();
}

function redrawAll() {
  maps.forEach(redraw);
}

function applyTheme(theme) {
  document.querySelectorAll(".swatch[data-kind]").forEach((swatch) => {
    swatch.style.backgroundColor = theme.kinds[Number(swatch.dataset.kind)];
  });
}

async function createMap(pool) {
  const { spec, height } = data.pools[pool];
  const element = document.querySelectorAll(".drawing")[pool];
  const map = await createDrawing(element, spec, height, {
    tip: (item, event) => hover(map, blockOf(item), event),
    pick: (item) => {
      const block = blockOf(item);
      if (block) pickBuffer(pool, block.id);
      else pickNothing();
    },
  });
  maps[pool] = map;
  Object.assign(map, { pool, hovered: null });
  listenToKeys(map, keysOf(map));
}

function blockOf(item) {
  return item && item.mark && item.mark.name === "blocks" ? item.datum : null;
}

// Outline the block under the pointer in an overlay, because a redraw would take too long.
function hover(map, block, event) {
  if (block !== map.hovered) {
    map.hovered = block;
    outline(map, block);
    if (block) showTip(factsOf(map.pool, block.id).filter(([term]) => term !== "Pool"));
    else hideTip();
  }
  if (block && event) placeTip(event);
}

function outline(map, block) {
  const { marker } = map;
  marker.hidden = !block;
  if (!block) return;
  const [left, top] = pixelsOf(map, block.start, block.high);
  const [right, bottom] = pixelsOf(map, block.stop, block.low);
  Object.assign(marker.style, {
    left: `${left}px`, top: `${top}px`,
    width: `${Math.max(right - left, 2)}px`, height: `${Math.max(bottom - top, 2)}px`,
  });
}
