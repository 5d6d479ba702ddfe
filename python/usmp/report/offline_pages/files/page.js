// What all pages share: the data, elements, the theme, the tip at the pointer, tables to sort.

const data = JSON.parse(document.getElementById("page-data").textContent);
const byId = (id) => document.getElementById(id);
const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

function announce(text) {
  byId("announcement").textContent = text;
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

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function themeNow() {
  return data.themes[isDark() ? "dark" : "light"];
}

// Give the drawings the colors of the theme, now and whenever it changes. `apply` colors the rest.
function followTheme(drawings, apply) {
  const follow = () => {
    byId("theme").setAttribute("aria-pressed", String(isDark()));
    const theme = themeNow();
    apply(theme);
    for (const { view } of drawings) view.signal("theme", theme).background(theme.page).runAsync();
  };
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    follow();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", follow);
  follow();
}

// Show facts at the pointer; the first one is the title.
function showTip(facts) {
  const tip = byId("tip");
  const [[, title], ...others] = facts;
  tip.textContent = [title, ...others.map(([term, text]) => `${term}: ${text}`)].join("\n");
  tip.hidden = false;
}

function hideTip() {
  byId("tip").hidden = true;
}

function placeTip(event) {
  const tip = byId("tip");
  const { offsetWidth: width, offsetHeight: height } = tip;
  const left = Math.min(event.clientX + 14, innerWidth - width - 8);
  const below = event.clientY + 16;
  const top = below + height > innerHeight - 8 ? event.clientY - height - 10 : below;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}

function sortTable(table, column, heading) {
  const isUp = heading.getAttribute("aria-sort") !== "ascending";
  table.querySelectorAll("th[aria-sort]").forEach((th) => th.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", isUp ? "ascending" : "descending");
  const isNumber = heading.classList.contains("number");
  const key = (row) => {
    const text = row.cells[column].textContent;
    if (!isNumber) return text;
    // A sign before a number says that it is an estimate.
    const digits = text.replace(/^\D+/, "");
    return digits === "" ? -1 : Number(digits);
  };
  const compare = isNumber ? (a, b) => a - b : new Intl.Collator("en", { numeric: true }).compare;
  const rows = [...table.tBodies[0].rows].map((row, index) => [key(row), index, row]);
  rows.sort(([a, i], [b, j]) => (isUp ? 1 : -1) * compare(a, b) || i - j);
  table.tBodies[0].replaceChildren(...rows.map(([, , row]) => row));
  announce(`Sorted by ${heading.textContent}, ${isUp ? "ascending" : "descending"}.`);
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = element("button", heading.textContent);
    button.type = "button";
    button.addEventListener("click", () => sortTable(table, column, heading));
    heading.replaceChildren(button);
  });
}

// Make the name of each row a button. `pick` is called with the data of the row that is clicked.
function linkRows(id, pick) {
  const body = byId(id)?.tBodies[0];
  for (const row of body?.rows ?? []) {
    const name = row.querySelector("th");
    const button = document.createElement("button");
    button.type = "button";
    button.append(...name.childNodes);
    name.append(button);
  }
  body?.addEventListener("click", (event) => {
    if (!getSelection().toString()) pick(event.target.closest("tr").dataset);
  });
}

function markRows(selectors) {
  document.querySelectorAll("tr.picked").forEach((row) => row.classList.remove("picked"));
  for (const selector of selectors) document.querySelector(selector)?.classList.add("picked");
}

// Show the whole text of a cut cell while the pointer is on it.
function titleCutCells() {
  document.addEventListener("mouseover", ({ target }) => {
    const text = target.closest("tbody span, tbody div");
    if (!text || text.title) return;
    const isCut = text.scrollHeight > text.clientHeight || text.scrollWidth > text.clientWidth;
    if (isCut) text.title = text.textContent;
  });
}

// Wait until the file is loaded, because the tables follow the scripts.
function whenRead() {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((resolve) => { addEventListener("DOMContentLoaded", resolve); });
}
