// The drawings, with a Vega view for each pool. The signals that are set here select the visible
// area and the emphasized items.

const margin = { left: 68, right: 14, top: 4, bottom: 0 };
const maps = [];

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

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

function applyTheme() {
  const dark = isDark();
  byId("theme").setAttribute("aria-pressed", String(dark));
  const theme = data.themes[dark ? "dark" : "light"];
  document.querySelectorAll(".swatch[data-kind]").forEach((swatch) => {
    swatch.style.backgroundColor = theme.kinds[Number(swatch.dataset.kind)];
  });
  for (const map of maps) map.view.signal("theme", theme).background(theme.page).runAsync();
}

// Show a part of the map, within the limits of program positions and addresses.
function setVisible(map, x, y) {
  map.x = bounded(x, map.fullX);
  map.y = bounded(y, map.fullY);
  hover(map, null);
  if (map.isWaiting) return;
  map.isWaiting = true;
  // Draw at most once per frame, because there can be many events.
  requestAnimationFrame(() => {
    map.isWaiting = false;
    map.view.signal("xdom", map.x).signal("ydom", map.y).runAsync();
  });
}

function bounded([start, stop], [low, high]) {
  const span = Math.min(Math.max(stop - start, (high - low) / 5000), high - low);
  const begin = Math.min(Math.max(start, low), high - span);
  return [begin, begin + span];
}

function zoom(map, factor, fx = 0.5, fy = 0.5) {
  const scaled = ([start, stop], f) => {
    const at = start + (stop - start) * f;
    return [at - (at - start) * factor, at + (stop - at) * factor];
  };
  setVisible(map, scaled(map.x, fx), scaled(map.y, fy));
}

function pan(map, dx, dy) {
  const moved = ([start, stop], d) => [start + (stop - start) * d, stop + (stop - start) * d];
  setVisible(map, moved(map.x, dx), moved(map.y, dy));
}

function isZoomed(map) {
  return map.x[1] - map.x[0] < map.fullX[1] - map.fullX[0];
}

// Return the position of a pointer in the map, as fractions from the left and from below.
function fractions(map, event) {
  const box = map.element.getBoundingClientRect();
  const width = box.width - margin.left - margin.right;
  const clamp = (value) => Math.min(Math.max(value, 0), 1);
  return [
    clamp((event.clientX - box.left - margin.left) / width),
    1 - clamp((event.clientY - box.top - margin.top) / data.pools[map.pool].height),
  ];
}

async function createMap(pool) {
  const element = document.querySelector(`.drawing[data-pool="${pool}"]`);
  const spec = data.pools[pool].spec;
  const theme = data.themes[isDark() ? "dark" : "light"];
  spec.width = widthOf(element);
  spec.signals.find((signal) => signal.name === "theme").value = theme;
  // Give Vega a container inside of ours, because Vega changes the role of its container.
  const inside = document.createElement("div");
  const marker = document.createElement("div");
  marker.className = "marker";
  marker.hidden = true;
  element.append(inside, marker);
  const { view } = await vegaEmbed(inside, { ...spec, background: theme.page }, {
    // Interpret expressions, because the page forbids eval.
    ast: true, mode: "vega", renderer: "canvas", actions: false, defaultStyle: false,
    hover: false, tooltip: false,
  });
  const full = (name) => spec.signals.find((signal) => signal.name === name).value;
  const map = {
    pool, element, view, marker, hovered: null,
    fullX: full("xdom"), fullY: full("ydom"), x: full("xdom"), y: full("ydom"),
  };
  maps[pool] = map;
  listen(map);
  // Hide the drawing from screen readers, which read the region around it.
  for (const node of element.querySelectorAll("*")) {
    for (const name of ["role", "aria-roledescription", "aria-label"]) node.removeAttribute(name);
  }
  element.querySelector("canvas").setAttribute("aria-hidden", "true");
  new ResizeObserver(() => {
    const width = widthOf(element);
    if (width !== view.width()) view.width(width).runAsync();
  }).observe(element);
}

// Return the width of the plot in pixels.
function widthOf(element) {
  return Math.max(160, element.clientWidth - margin.left - margin.right);
}

function listen(map) {
  const { element, view, pool } = map;
  view.addEventListener("mousemove", (event, item) => hover(map, blockOf(item), event));
  element.addEventListener("pointerleave", () => hover(map, null));
  view.addEventListener("click", (event, item) => {
    if (map.dragged) return;
    const block = blockOf(item);
    hover(map, null);
    if (block) pickBuffer(pool, block.id);
    else pickNothing();
  });
  element.addEventListener("wheel", (event) => {
    // Zoom only with a key, because the wheel alone scrolls the page.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(map, event.deltaY > 0 ? 1.25 : 0.8, ...fractions(map, event));
  }, { passive: false });
  element.addEventListener("dblclick", (event) => zoom(map, 0.5, ...fractions(map, event)));
  listenToDrags(map);
}

function blockOf(item) {
  return item && item.mark && item.mark.name === "blocks" ? item.datum : null;
}

function listenToDrags(map) {
  const { element } = map;
  let last = null;
  element.addEventListener("pointerdown", (event) => {
    last = event;
    map.dragged = false;
  });
  element.addEventListener("pointermove", (event) => {
    if (!last || !(event.buttons & 1) || !isZoomed(map)) return;
    const dx = event.clientX - last.clientX, dy = event.clientY - last.clientY;
    if (!map.dragged && Math.abs(dx) + Math.abs(dy) < 4) return;
    map.dragged = true;
    last = event;
    const width = element.clientWidth - margin.left - margin.right;
    pan(map, -dx / width, dy / data.pools[map.pool].height);
  });
  addEventListener("pointerup", () => { last = null; });
}

// Outline the block under the pointer in an overlay, because a redraw would take too long.
function hover(map, block, event) {
  const tip = byId("tip");
  if (block !== map.hovered) {
    map.hovered = block;
    outline(map, block);
    tip.hidden = !block;
    if (block) {
      const facts = factsOf(map.pool, block.id).filter(([term]) => term !== "Pool");
      tip.textContent = facts.map(([term, text]) => (term === "Name" ? text : `${term}: ${text}`)).join("\n");
    }
  }
  if (block && event) {
    const { offsetWidth: width, offsetHeight: height } = tip;
    const left = Math.min(event.clientX + 14, innerWidth - width - 8);
    const below = event.clientY + 16;
    const top = below + height > innerHeight - 8 ? event.clientY - height - 10 : below;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${Math.max(8, top)}px`;
  }
}

function outline(map, block) {
  const { marker } = map;
  marker.hidden = !block;
  if (!block) return;
  const { height } = data.pools[map.pool];
  const inside = (value, [start, stop], length) =>
    Math.min(Math.max((value - start) / (stop - start), 0), 1) * length;
  const width = widthOf(map.element);
  const [left, right] = [block.start, block.stop].map((at) => inside(at, map.x, width));
  const [bottom, top] = [block.low, block.high].map((at) => height - inside(at, map.y, height));
  Object.assign(marker.style, {
    left: `${margin.left + left}px`, top: `${margin.top + top}px`,
    width: `${Math.max(right - left, 2)}px`, height: `${Math.max(bottom - top, 2)}px`,
  });
}
