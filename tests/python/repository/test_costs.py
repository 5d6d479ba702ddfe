"""What tests cost: measured around a test, carried in its report, summed where pytest started."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from support import costs


def report(name: str, *measured: tuple[str, object]) -> SimpleNamespace:
    return SimpleNamespace(when="teardown", nodeid=name, user_properties=list(measured))


@pytest.mark.parametrize(
    "is_slow, marker", [(lambda name: name == "slow", "cc slow"), (lambda name: None, "cc")]
)
def test_a_test_is_measured_with_its_children(monkeypatch, is_slow, marker):
    times = [(1.0, 0.5, 4.0, 0.5, 99.0), (2.0, 0.75, 5.0, 1.0, 999.0)]
    monkeypatch.setattr(os, "times", lambda: times.pop(0))
    item = SimpleNamespace(stash={}, user_properties=[], get_closest_marker=is_slow)
    one = costs.Costs(1)
    monkeypatch.setattr(costs, "marker_of", lambda item: "cc")
    one.pytest_runtest_setup(item)
    one.pytest_runtest_makereport(item, SimpleNamespace(when="call"))
    one.pytest_runtest_makereport(item, SimpleNamespace(when="teardown"))
    assert item.user_properties == [("cpu_seconds", 2.75), ("marker", marker)]


def test_the_dearest_and_the_sum_of_each_marker_are_shown():
    one, lines = costs.Costs(2), []
    one.pytest_testnodedown(SimpleNamespace(workeroutput={"collection_cpu_seconds": [7.25]}))
    one.pytest_testnodedown(SimpleNamespace())
    for name, seconds, marker in (("a", 1.0, "unit"), ("b", 4.0, "cc"), ("c", 2.5, "unit")):
        one.pytest_runtest_logreport(report(name, ("cpu_seconds", seconds), ("marker", marker)))
    one.pytest_runtest_logreport(report("skipped before it was measured"))
    terminal = SimpleNamespace(section=lines.append, write_line=lines.append)
    one.pytest_terminal_summary(terminal)
    assert [line.split() for line in lines] == [
        ["CPU", "seconds"],
        ["7.5", "s", "3", "tests,", "and", "collection:", "7.2", "s"],
        ["4.0", "s", "1", "cc"],
        ["3.5", "s", "2", "unit"],
        ["4.0", "s", "cc", "b"],
        ["2.5", "s", "unit", "c"],
    ]


def test_workers_hand_on_what_collecting_took(monkeypatch):
    monkeypatch.setattr(os, "times", lambda: (3.0, 1.0, 0.0, 0.0, 0.0))
    session = SimpleNamespace(items=[object()], config=SimpleNamespace(workeroutput={}))
    one = costs.Costs(1)
    one.pytest_collection_finish(session)
    one.pytest_sessionfinish(session)
    assert session.config.workeroutput == {"collection_cpu_seconds": [4.0]}
