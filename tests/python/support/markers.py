"""What a test needs: each has exactly one of these markers, and `pytest` alone runs those that are
`unit` and not slow."""

from __future__ import annotations

from pathlib import Path

import pytest

_TESTS = Path(__file__).resolve().parents[1]

MARKERS = {
    "unit": "needs nothing but this checkout and the Python packages; run by default, if not slow",
    "process": "starts the command line or Python anew, each of which loads TVM",
    "property": "tries many random cases with hypothesis",
    "browser": "opens pages in Chromium; skipped where there is none",
    "cc": "compiles C or C++ for this host",
    "models": "needs public models of ../shared, or compares with a reference runtime",
    "board": "compiles for a board or runs its emulator",
}
"""Of several that would do, a test has the one that is last here."""

FIXTURES = {
    "compile_c": "cc",
    "compiler": "cc",
    "dist": "cc",
    "link": "cc",
    "shared_model": "models",
}
"""Fixtures of which the tests that use them need more than a unit test has."""

FILES = {
    "driver/python/test_functions.py": "process",
    "driver/terminal/test_interrupts.py": "process",
    "driver/terminal/test_progress.py": "process",
    "driver/terminal/test_search.py": "process",
    "driver/test_startup.py": "process",
    "driver/test_tvmc.py": "process",
    "relax/test_limits.py": "process",
    "repository/test_package.py": "process",
    "algorithms/test_auto.py": "property",
    "algorithms/test_misfit.py": "property",
    "algorithms/test_solver_optimum.py": "property",
}
"""Files of which all tests need at least that."""

COLLECTED = pytest.StashKey[list[tuple[str, str]]]()
"""What was collected, before any of it was deselected: names of tests, and markers."""


def marker_of(item: pytest.Item) -> str:
    """The one that is written at the test or its module; else by file and fixtures; else `unit`."""
    marks = {mark.name for mark in item.iter_markers()}
    written = [name for name in MARKERS if name in marks]
    if len(written) > 1:
        raise pytest.UsageError(f"{item.nodeid} has the markers {' and '.join(written)}; keep one")
    if written:
        return written[0]
    used = {FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in FIXTURES}
    if item.path.is_relative_to(_TESTS):
        used |= {FILES.get(item.path.relative_to(_TESTS).as_posix(), "unit")}
    if hasattr(getattr(item, "obj", None), "hypothesis"):
        used.add("property")
    return next((name for name in reversed(MARKERS) if name in used), "unit")


def mark(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each test its marker."""
    collected = config.stash.setdefault(COLLECTED, [])
    for item in items:
        marker = marker_of(item)
        if item.get_closest_marker(marker) is None:
            item.add_marker(marker)
        collected.append((item.nodeid, marker))
