// The details of the selection: beside the drawings if their heading is in sight there, else at the
// bottom of the window.

const hint = document.getElementById("details").firstElementChild;
const isNarrow = matchMedia("(max-width: 60rem)");
let isChosen = false;
let opener = null;
// Height of the details beside the drawings; unknown if these have always been at the bottom.
let heightBeside = Infinity;

// Show elements that describe the selection, or how to select if there are none.
function showDetails(elements) {
  isChosen = elements.length > 0;
  const box = byId("details");
  byId("close").hidden = !isChosen;
  box.replaceChildren(...(isChosen ? elements : [hint]));
  box.parentElement.scrollTop = 0;
  heightBeside = Infinity;
  placeDetails();
}

function placeDetails() {
  document.body.classList.toggle("docked", isChosen && (isNarrow.matches || !hasRoomBeside()));
}

function hasRoomBeside() {
  const workplace = document.querySelector(".workplace").getBoundingClientRect();
  if (workplace.top > innerHeight - 200) return false;
  if (!document.body.classList.contains("docked")) {
    heightBeside = document.querySelector(".details").offsetHeight;
    return byId("details-title").getBoundingClientRect().top >= 0;
  }
  return workplace.bottom >= Math.min(heightBeside + 16, innerHeight);
}

// Scroll the page if the details cover the position of a click.
function keepInSight({ clientX, clientY }) {
  if (!document.body.classList.contains("docked")) return;
  const { left, top } = document.querySelector(".details").getBoundingClientRect();
  if (clientX >= left && clientY > top - 40) scrollBy(0, clientY - top + 40);
}

// Listen to the buttons, Escape and clicks. `deselect` ends the selection, and `drawingOfChoice`
// returns the drawing that shows it.
function listenToDetails(deselect, drawingOfChoice) {
  const close = () => {
    deselect();
    opener?.focus({ preventScroll: true });
  };
  byId("close").addEventListener("click", close);
  byId("show-drawing").addEventListener("click", () => {
    drawingOfChoice()?.element.scrollIntoView({ block: "center" });
    document.body.classList.remove("docked");
    placeDetails();
  });
  addEventListener("keydown", ({ key, target }) => {
    if (key === "Escape" && isChosen && target.type !== "search") close();
  });
  // Remember what has the focus before the details have it.
  document.addEventListener("focusin", ({ target }) => {
    if (!target.closest(".details")) opener = target;
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest(".drawing, tbody tr")) keepInSight(event);
  });
  isNarrow.addEventListener("change", placeDetails);
  addEventListener("scroll", placeDetails, { passive: true });
  addEventListener("resize", placeDetails);
}
