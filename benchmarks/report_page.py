"""Measure the time to write the page of the memory map, to draw it, and to react to the pointer.

    python benchmarks/report_page.py [--buffers=2000] [--runs=5]

The plan is synthetic. "written" is the time of a new process from metadata to the text of the page,
with the JavaScript of Vega packed once, and its CPU time. Then a headless Chromium opens the file.
"tables" is the time from the start of the navigation to the first contentful paint, "map" the time
to the first drawn map. "hover" is the time from a pointer event to the frame with tip and outline,
once the browser is idle, the maximum of 50 positions. Numbers are medians of the runs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.browser import opened, started_browser
from support.memory_metadata import synthetic_metadata

LIMITS = {"written s": 2.0, "map s": 1.0, "hover s": 0.1}

_WRITE = """
import json, sys, time
from usmp.report import map_of_metadata, report_bytes
metadata = json.load(open(sys.argv[1]))
wall, cpu = time.perf_counter(), time.process_time()
page = report_bytes(metadata, "html")
print(time.perf_counter() - wall, time.process_time() - cpu)
open(sys.argv[2], "wb").write(page)
"""

_WATCH = """() => {
  window.delays = [];
  let moved = null;
  addEventListener("pointermove", (event) => { moved = event.timeStamp; }, true);
  new MutationObserver(() => {
    const since = moved;
    requestAnimationFrame(() => setTimeout(() => window.delays.push(performance.now() - since)));
  }).observe(document.getElementById("tip"), { childList: true });
}"""

_TIMES = """() => [
  performance.getEntriesByName("first-contentful-paint")[0].startTime / 1000,
  performance.getEntriesByName("usmp-first-map")[0].startTime / 1000,
]"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--buffers", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    runs: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder, started_browser() as browser:
        metadata, page = Path(folder, "metadata.json"), Path(folder, "page.html")
        metadata.write_text(json.dumps(synthetic_metadata(options.buffers)))
        for _ in range(options.runs):
            runs.append({**written(metadata, page), **shown(browser, page)})
        size = page.stat().st_size
    table = Table(title=f"{options.buffers} buffers, page of {size} bytes", title_justify="left")
    for heading in ("", "median", "least", "most", "limit"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for name in runs[0]:
        values = [run[name] for run in runs]
        middle = statistics.median(values)
        cells = [f"{value:.3f}" for value in (middle, min(values), max(values))]
        table.add_row(name, *cells, f"{LIMITS[name]:g}" if name in LIMITS else "")
    Console(width=100).print(table)


def written(metadata: Path, page: Path) -> dict[str, float]:
    """Write the page in a new process; return its times in seconds."""
    command = [sys.executable, "-c", _WRITE, str(metadata), str(page)]
    wall, cpu = subprocess.check_output(command, text=True).split()
    return {"written s": float(wall), "written, processor s": float(cpu)}


def shown(browser: object, path: Path) -> dict[str, float]:
    """Open the page and move the pointer over the first map; return the times in seconds."""
    with opened(browser, path) as page:
        tables, drawn = page.evaluate(_TIMES)
        box = page.locator(".drawing canvas").first.bounding_box()
        page.evaluate(_WATCH)
        page.evaluate("() => new Promise(requestIdleCallback)")
        for step in range(50):
            page.mouse.move(
                box["x"] + 80 + (box["width"] - 100) * step / 50, box["y"] + 330 - step % 5 * 20
            )
            page.wait_for_timeout(30)
        delays = page.evaluate("window.delays")
    return {"tables s": tables, "map s": drawn, "hover s": max(delays) / 1000}


if __name__ == "__main__":
    main()
