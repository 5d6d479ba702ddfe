"""Processes of a sweep: what they do, and that none is left."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from conftest import ROOT
from support.exploration_workers import crash, echo, hang
from usmp.exploration.cluster import NoCluster, on_cluster
from usmp.exploration.processes import WorkersLost, in_processes
from usmp.support.distribution import install_command

pytestmark = pytest.mark.process

TASKS = [("a", "b"), ("c",), ()]


def never() -> bool:
    return False


def test_every_task_once():
    found = dict(in_processes(echo, {"x": b"1"}, TASKS, 2, never))
    assert {task: (r["shared"], r["task"]) for task, r in found.items()} == {
        task: ({"x": b"1"}, list(task)) for task in TASKS
    }
    processes = {result["process"] for result in found.values()}
    assert len(processes) <= 2
    assert os.getpid() not in processes
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_a_process_that_is_ended_ends_the_work():
    with pytest.raises(WorkersLost, match=r"perhaps for lack of memory; .* as --jobs 2"):
        list(in_processes(crash, None, TASKS, 4, never))
    assert multiprocessing.active_children() == []


def wait_for_one(folder: Path) -> int:
    while not (found := list(folder.iterdir())):
        time.sleep(0.02)
    return int(found[0].name)


def test_nothing_is_left_when_it_is_given_up(tmp_path):
    tasks = [("quick",), ("slow",), ("slow", "too")]
    with closing(in_processes(hang, str(tmp_path), tasks, 2, never)) as results:
        assert next(results) == (("quick",), {})
        wait_for_one(tmp_path)
    assert multiprocessing.active_children() == []
    with pytest.raises(KeyboardInterrupt):
        list(in_processes(hang, str(tmp_path), tasks, 1, lambda: True))
    assert multiprocessing.active_children() == []


def test_nothing_is_left_when_the_parent_is_killed(tmp_path):
    program = f"""
from support.exploration_workers import hang
from usmp.exploration.processes import in_processes

if __name__ == "__main__":
    list(in_processes(hang, {str(tmp_path / "left")!r}, [("slow",)], 1, lambda: False))
"""
    (tmp_path / "left").mkdir()
    (tmp_path / "program.py").write_text(program)
    path = os.pathsep.join([str(ROOT / "tests/python"), *sys.path])
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "program.py"], env={**os.environ, "PYTHONPATH": path}
    )
    child = wait_for_one(tmp_path / "left")
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 30
    while is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(number: int) -> bool:
    try:
        status = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return status != "Z"


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(NoCluster, match=re.escape(install_command("explore"))):
        list(on_cluster("tcp://127.0.0.1:1", echo, None, TASKS, never))
