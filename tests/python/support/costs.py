"""CPU seconds of tests: of the dearest, of those of each marker, and of collecting them."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from support.levels import SLOW
from support.markers import marker_of

_CPU = "cpu_seconds"
_MARKER = "marker"
_COLLECTION = "collection_cpu_seconds"

_started = pytest.StashKey[float]()


def add_options(parser: pytest.Parser) -> None:
    """Add the option that asks for them."""
    text = "show the CPU seconds of each marker and of the N dearest tests, children included"
    parser.getgroup("usmp").addoption("--costs", type=int, metavar="N", help=text)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


class Costs:
    """Measures tests where they run, and shows what they took where pytest was started."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._tests: dict[str, tuple[float, str]] = {}
        self._collections: list[float] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if call.when == "teardown":
            seconds = cpu_seconds() - item.stash[_started]
            marker = marker_of(item) + f" {SLOW}" * bool(item.get_closest_marker(SLOW))
            item.user_properties += [(_CPU, seconds), (_MARKER, marker)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        item.stash[_started] = cpu_seconds()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:
            self._collections.append(cpu_seconds())

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_COLLECTION] = self._collections

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        self._collections += getattr(node, "workeroutput", {}).get(_COLLECTION, [])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        properties = dict(report.user_properties)
        if report.when == "teardown" and _CPU in properties:
            self._tests[report.nodeid] = properties[_CPU], properties[_MARKER]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        write = terminalreporter.write_line
        seconds, numbers = Counter[str](), Counter[str]()
        for taken, marker in self._tests.values():
            seconds[marker] += taken
            numbers[marker] += 1
        terminalreporter.section("CPU seconds")
        each = ", ".join(f"{taken:.1f}" for taken in self._collections)
        total = sum(seconds.values())
        write(f"{total:8.1f} s {len(self._tests):6} tests, and collection: {each} s")
        for marker, taken in seconds.most_common():
            write(f"{taken:8.1f} s {numbers[marker]:6} {marker}")
        dearest = sorted(self._tests.items(), key=lambda test: -test[1][0])
        for name, (taken, marker) in dearest[: self._most]:
            write(f"{taken:8.1f} s {marker:>13} {name}")
