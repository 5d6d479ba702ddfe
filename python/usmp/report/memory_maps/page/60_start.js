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
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    applyTheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
}

// Wait until the file is loaded, because the tables follow the scripts.
function whenRead() {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((resolve) => { addEventListener("DOMContentLoaded", resolve); });
}

async function start() {
  document.querySelectorAll(".controls, .drawings, .zoom").forEach((part) => { part.hidden = false; });
  for (let pool = 0; pool < data.pools.length; pool += 1) {
    await createMap(pool);
    listenToKeys(maps[pool]);
    if (pool === 0) performance.mark("usmp-first-map");
  }
  applyTheme();
  showDetails();
  await whenRead();
  listenToControls();
  listenToDetails();
  document.querySelectorAll("table[id]").forEach(makeSortable);
  linkRows();
  titleCutCells();
  document.documentElement.dataset.ready = "true";
}

start();
