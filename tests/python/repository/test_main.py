"""The process of `tvmc`: what it does before and after the command."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from types import SimpleNamespace

import pytest

from usmp import __main__ as process
from usmp.driver import tvmc
from usmp.support.process import closed_streams


@pytest.fixture
def done(monkeypatch):
    """What the process does, in order."""
    steps = []
    threshold = gc.get_threshold()
    monkeypatch.setattr(process, "end_by_signals", lambda name: steps.append(f"signals of {name}"))
    monkeypatch.setattr(process, "ignore_signals", lambda: steps.append("no signals"))
    monkeypatch.setattr(process, "end", lambda number: steps.append(number))
    monkeypatch.setattr(process, "_end", lambda status: steps.append(f"ends with {status}"))
    monkeypatch.setattr(closed_streams, "lead_nowhere_if_closed", steps.append)
    monkeypatch.setattr(tvmc, "main", lambda: steps.append("command") or 3)
    yield steps
    gc.set_threshold(*threshold)


def test_signals_are_handled_around_the_command(done):
    assert process.main() == 3
    assert done == ["signals of tvmc", "command", "no signals"]
    assert gc.get_threshold()[0] == 50_000


def test_a_closed_stdout_leads_nowhere_before_anything_takes_its_number(done, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    process.main()
    assert done == ["stdout", "signals of tvmc", "command", "no signals"]


def test_an_interrupt_that_python_answers_ends_the_process_too(done, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(tvmc, "main", interrupted)
    process.main()
    assert done == ["signals of tvmc", signal.SIGINT, "no signals"]


@pytest.mark.parametrize(
    ("threads", "tracing", "profiling", "ends"),
    [
        (1, None, None, True),
        (2, None, None, False),
        (1, print, None, False),
        (1, None, print, False),
    ],
)
def test_objects_are_left_to_the_system(done, monkeypatch, threads, tracing, profiling, ends):
    monkeypatch.setattr(threading, "active_count", lambda: threads)
    monkeypatch.setattr(sys, "gettrace", lambda: tracing)
    monkeypatch.setattr(sys, "getprofile", lambda: profiling)
    assert process.run() == 3
    assert done[3:] == ["ends with 3"] * ends


def test_a_full_stdout_is_left_to_python(monkeypatch):
    def full():
        raise OSError

    ended = []
    functions = SimpleNamespace(_run_exitfuncs=lambda: ended.append("exit functions"))
    monkeypatch.setitem(sys.modules, "atexit", functions)
    monkeypatch.setattr(process.os, "_exit", ended.append)
    process._end(0)
    assert ended == ["exit functions", 0]
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(flush=full))
    process._end(0)
    assert ended == ["exit functions", 0, "exit functions"]
