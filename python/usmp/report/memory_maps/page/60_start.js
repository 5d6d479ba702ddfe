// Start the page: draw the maps before the tables are loaded.

function listenToControls() {
  byId("search").addEventListener("input", (event) => search(event.target.value));
  byId("color-by").addEventListener("change", (event) => {
    choice.colorBy = event.target.value;
    document.querySelectorAll(".legend [data-by]").forEach((item) => {
      item.hidden = item.dataset.by !== choice.colorBy;
    });
    redrawAll();
  });
}

async function start() {
  document.querySelectorAll(".controls, .drawings, .zoom").forEach((part) => { part.hidden = false; });
  for (let pool = 0; pool < data.pools.length; pool += 1) {
    await createMap(pool);
    if (pool === 0) performance.mark("usmp-first-map");
  }
  followTheme(maps, applyTheme);
  await whenRead();
  listenToControls();
  listenToDetails(pickNothing, () => maps[Math.max(choice.pool, 0)]);
  document.querySelectorAll("table[id]").forEach(makeSortable);
  linkRows("buffer-table", ({ pool, id }) => pickBuffer(Number(pool), Number(id)));
  linkRows("operator-table", ({ id }) => pickOperator(Number(id)));
  titleCutCells();
  document.documentElement.dataset.ready = "true";
}

start();
