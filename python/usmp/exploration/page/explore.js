// The page of a sweep: a configuration is chosen in a chart or in the table, and shown in all of them.

const charts = [];
let picked = null;

const pointsOf = (chart) => data.charts[chart].spec.marks[0].data[0].values;

function pick(number) {
  picked = number;
  for (const { view } of charts) view.signal("picked", number).runAsync();
  if (number === null) {
    showDetails([]);
    markRows([]);
    announce("Nothing is chosen.");
    return;
  }
  const { facts, command } = data.configurations[number];
  showDetails([listOf(facts), element("h3", "Command"), element("pre", command)]);
  markRows([`#configuration-table tr[data-id="${number}"]`]);
  announce(facts.map(([term, text]) => `${term}: ${text}`).join(". "));
}

// Choose the next configuration of a chart by a cost, "x" or "y".
function step(chart, cost, distance) {
  const order = [...pointsOf(chart)].sort((a, b) =>
    a[cost] - b[cost] || Number(b.best) - Number(a.best) || a.number - b.number);
  const at = order.findIndex((point) => point.number === picked);
  const last = order.length - 1;
  const next = at < 0 ? (distance > 0 ? 0 : last) : Math.min(Math.max(at + distance, 0), last);
  const { number, x, y } = order[next];
  pick(number);
  reveal(charts[chart], [x, x], [y, y]);
}

function keysOf(chart) {
  return {
    ArrowRight: () => step(chart, "x", 1),
    ArrowLeft: () => step(chart, "x", -1),
    ArrowUp: () => step(chart, "y", 1),
    ArrowDown: () => step(chart, "y", -1),
    Home: () => step(chart, "x", -Infinity),
    End: () => step(chart, "x", Infinity),
  };
}

const pointOf = (item) => (item?.mark?.name?.endsWith("_marks") ? item.datum : null);

function hover(index, point, event) {
  const chart = charts[index];
  if (point !== chart.hovered) {
    chart.hovered = point;
    chart.marker.hidden = !point;
    if (point) {
      const [left, top] = pixelsOf(chart, point.x, point.y);
      Object.assign(chart.marker.style, { left: `${left}px`, top: `${top}px` });
      const here = pointsOf(index).filter(({ x, y, number }) =>
        x === point.x && y === point.y && number !== point.number);
      const { facts } = data.configurations[point.number];
      const [[term, number], ...others] = facts;
      const covered = here.length ? [["At the same place", here.map((p) => p.number).join(", ")]] : [];
      showTip([[term, `${term} ${number}`], ...others, ...covered]);
    } else hideTip();
  }
  if (point && event) placeTip(event);
}

async function createChart(index) {
  const { spec, height } = data.charts[index];
  const chart = await createDrawing(document.querySelectorAll(".drawing")[index], spec, height, {
    tip: (item, event) => hover(index, pointOf(item), event),
    pick: (item) => pick(pointOf(item)?.number ?? null),
  });
  charts[index] = chart;
  chart.hovered = null;
  listenToKeys(chart, keysOf(index));
}

async function start() {
  document.querySelectorAll(".controls, .drawings, .zoom").forEach((part) => { part.hidden = false; });
  for (let index = 0; index < data.charts.length; index += 1) await createChart(index);
  followTheme(charts, () => {});
  await whenRead();
  listenToDetails(() => pick(null), () => charts[0]);
  document.querySelectorAll("table[id]").forEach(makeSortable);
  linkRows("configuration-table", ({ id }) => pick(Number(id)));
  titleCutCells();
  document.documentElement.dataset.ready = "true";
}

start();
