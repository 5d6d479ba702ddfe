// A drawing with a Vega view: its width, the visible area, zoom and drags. The signals `xdom` and
// `ydom` of the drawing are the visible intervals, and `theme` has its colors.

// Draw a specification in an element. `tip` is called with the item under the pointer and the event,
// or with null; `pick` with the item that is clicked.
async function createDrawing(element, spec, height, { tip, pick }) {
  const theme = themeNow();
  spec.width = widthOf(element, spec.padding);
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
  const drawing = {
    element, view, marker, height, tip, margin: spec.padding,
    fullX: full("xdom"), fullY: full("ydom"), x: full("xdom"), y: full("ydom"),
  };
  listen(drawing, pick);
  // Hide the drawing from screen readers, which read the region around it.
  for (const node of element.querySelectorAll("*")) {
    for (const name of ["role", "aria-roledescription", "aria-label"]) node.removeAttribute(name);
  }
  element.querySelector("canvas").setAttribute("aria-hidden", "true");
  new ResizeObserver(() => {
    const width = widthOf(element, spec.padding);
    if (width !== view.width()) view.width(width).runAsync();
  }).observe(element);
  return drawing;
}

// Return the width of the plot in pixels.
function widthOf(element, margin) {
  return Math.max(160, element.clientWidth - margin.left - margin.right);
}

// Show a part of the drawing, within the limits of both axes.
function setVisible(drawing, x, y) {
  drawing.x = bounded(x, drawing.fullX);
  drawing.y = bounded(y, drawing.fullY);
  drawing.tip(null);
  if (drawing.isWaiting) return;
  drawing.isWaiting = true;
  // Draw at most once per frame, because there can be many events.
  requestAnimationFrame(() => {
    drawing.isWaiting = false;
    drawing.view.signal("xdom", drawing.x).signal("ydom", drawing.y).runAsync();
  });
}

function bounded([start, stop], [low, high]) {
  const span = Math.min(Math.max(stop - start, (high - low) / 5000), high - low);
  const begin = Math.min(Math.max(start, low), high - span);
  return [begin, begin + span];
}

function zoom(drawing, factor, fx = 0.5, fy = 0.5) {
  const scaled = ([start, stop], f) => {
    const at = start + (stop - start) * f;
    return [at - (at - start) * factor, at + (stop - at) * factor];
  };
  setVisible(drawing, scaled(drawing.x, fx), scaled(drawing.y, fy));
}

function pan(drawing, dx, dy) {
  const moved = ([start, stop], d) => [start + (stop - start) * d, stop + (stop - start) * d];
  setVisible(drawing, moved(drawing.x, dx), moved(drawing.y, dy));
}

function showAll(drawing) {
  setVisible(drawing, drawing.fullX, drawing.fullY);
}

// Move the visible area so that it contains an interval of each axis.
function reveal(drawing, [left, right], [bottom, top]) {
  if (!isZoomed(drawing)) return;
  const centered = ([start, stop], low, high) =>
    (high > start && low < stop ? [start, stop]
      : [(low + high) / 2 - (stop - start) / 2, (low + high) / 2 + (stop - start) / 2]);
  setVisible(drawing, centered(drawing.x, left, right), centered(drawing.y, bottom, top));
}

function isZoomed({ x, fullX }) {
  return x[1] - x[0] < fullX[1] - fullX[0];
}

// Return the pixels from the left and from the top of the element to a place on both axes, at most
// to the edges of the plot.
function pixelsOf({ element, margin, height, x, y }, atX, atY) {
  const inside = (value, [start, stop]) => Math.min(Math.max((value - start) / (stop - start), 0), 1);
  return [
    margin.left + inside(atX, x) * widthOf(element, margin),
    margin.top + (1 - inside(atY, y)) * height,
  ];
}

// Return the position of a pointer in the plot, as fractions from the left and from below.
function fractions({ element, margin, height }, event) {
  const box = element.getBoundingClientRect();
  const width = box.width - margin.left - margin.right;
  const clamp = (value) => Math.min(Math.max(value, 0), 1);
  return [
    clamp((event.clientX - box.left - margin.left) / width),
    1 - clamp((event.clientY - box.top - margin.top) / height),
  ];
}

function listen(drawing, pick) {
  const { element, view, tip } = drawing;
  view.addEventListener("mousemove", (event, item) => tip(item, event));
  element.addEventListener("pointerleave", () => tip(null));
  view.addEventListener("click", (event, item) => {
    if (drawing.dragged) return;
    tip(null);
    pick(item);
  });
  element.addEventListener("wheel", (event) => {
    // Zoom only with a key, because the wheel alone scrolls the page.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(drawing, event.deltaY > 0 ? 1.25 : 0.8, ...fractions(drawing, event));
  }, { passive: false });
  element.addEventListener("dblclick", (event) => zoom(drawing, 0.5, ...fractions(drawing, event)));
  listenToDrags(drawing);
}

function listenToDrags(drawing) {
  const { element, margin, height } = drawing;
  let last = null;
  element.addEventListener("pointerdown", (event) => {
    last = event;
    drawing.dragged = false;
  });
  element.addEventListener("pointermove", (event) => {
    if (!last || !(event.buttons & 1) || !isZoomed(drawing)) return;
    const dx = event.clientX - last.clientX, dy = event.clientY - last.clientY;
    if (!drawing.dragged && Math.abs(dx) + Math.abs(dy) < 4) return;
    drawing.dragged = true;
    last = event;
    pan(drawing, -dx / widthOf(element, margin), dy / height);
  });
  addEventListener("pointerup", () => { last = null; });
}

// Listen to the zoom buttons and to keys: + - 0 zoom, shift and arrows move. `actions` are those of
// other keys.
function listenToKeys(drawing, actions) {
  const moves = {
    ArrowRight: [0.2, 0], ArrowLeft: [-0.2, 0], ArrowDown: [0, -0.2], ArrowUp: [0, 0.2],
  };
  const nearer = () => zoom(drawing, 0.5), farther = () => zoom(drawing, 2);
  const all = () => showAll(drawing);
  const keys = { "+": nearer, "=": nearer, "-": farther, 0: all, ...actions };
  drawing.element.addEventListener("keydown", (event) => {
    const move = event.shiftKey && moves[event.key];
    const action = move ? () => pan(drawing, ...move) : keys[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
  const head = drawing.element.closest(".map");
  for (const [name, action] of Object.entries({ in: nearer, out: farther, all })) {
    head.querySelector(`[data-zoom="${name}"]`).addEventListener("click", action);
  }
}
