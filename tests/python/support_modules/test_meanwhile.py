"""What a copy of the process computes: where there is one, and what becomes of it."""

from __future__ import annotations

import os
import sys
import time
from multiprocessing import active_children
from pathlib import Path

import pytest

from support.children import run
from usmp.support.process import termination
from usmp.support.process.meanwhile import meanwhile

linux = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2,
    reason="processes are copied on Linux, and with two CPUs",
)


@pytest.fixture
def own_process(monkeypatch):
    """As in `tvmc`, but that signals stay as they are."""
    monkeypatch.setattr(termination._State, "name", "tvmc")


def test_in_a_program_that_calls_us_it_is_computed_first():
    order = []
    with meanwhile(lambda: order.append("compute") or os.getpid()) as computed:
        order.append("else")
    assert (order, computed()) == (["compute", "else"], os.getpid())


@linux
def test_a_copy_computes_it(own_process):
    with meanwhile(lambda: (os.getpid(), os.getppid())) as computed:
        process, parent = computed()
    assert process != parent == os.getpid()
    assert not exists(process)


@linux
def test_one_cpu_is_not_shared(own_process, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    with meanwhile(os.getpid) as computed:
        assert computed() == os.getpid()


@linux
def test_a_system_that_has_no_process_left(own_process, monkeypatch):
    def fork() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fork)
    with meanwhile(os.getpid) as computed:
        assert computed() == os.getpid()


@linux
@pytest.mark.parametrize("how", ["raises", "ends", "result"])
def test_what_a_copy_fails_at_is_computed_here(own_process, capfd, how):
    """What cannot be pickled, for one."""
    here = os.getpid()

    def compute() -> object:
        if how == "result":
            return lambda: here
        if os.getpid() != here:
            if how == "raises":
                raise ValueError("only there")
            os._exit(3)
        return here

    with meanwhile(compute) as computed:
        found = computed()
    assert (found() if how == "result" else found) == here
    assert capfd.readouterr() == ("", "")


def test_errors_are_those_of_the_process_itself(own_process):
    def compute() -> None:
        raise ValueError("everywhere")

    with pytest.raises(ValueError, match="everywhere"), meanwhile(compute) as computed:
        computed()


@linux
def test_a_copy_that_hangs_is_not_waited_for(own_process, monkeypatch):
    monkeypatch.setattr("usmp.support.process.meanwhile._LEAST_PATIENCE", 0.2)
    here = os.getpid()

    def compute() -> int:
        if os.getpid() != here:
            time.sleep(1000)
        return here

    others = set(active_children())
    with meanwhile(compute) as computed:
        (process,) = (copy.pid for copy in set(active_children()) - others)
        assert process is not None
        assert computed() == here
    assert not exists(process)


@linux
def test_workers_start_no_more_processes(own_process, monkeypatch):
    """A sweep has as many of them as there are to be."""
    monkeypatch.setattr(
        "usmp.support.process.meanwhile.parent_process", lambda: "a process of multiprocessing"
    )
    with meanwhile(os.getpid) as computed:
        assert computed() == os.getpid()


@linux
def test_an_error_beside_it_ends_the_copy(own_process, tmp_path):
    note = tmp_path / "process"

    def compute() -> None:
        note.write_text(str(os.getpid()))
        time.sleep(1000)

    def fail() -> None:
        while not note.exists() or not note.read_text():
            time.sleep(0.01)
        raise ValueError("beside it")

    with pytest.raises(ValueError, match="beside it"), meanwhile(compute):
        fail()
    assert not exists(int(note.read_text()))


INTERRUPTED = """
import os, signal, time
from pathlib import Path
from usmp.support.process.meanwhile import meanwhile
from usmp.support.process.termination import end_by_signals

def compute():
    Path("process").write_text(str(os.getpid()))
    time.sleep(1000)

end_by_signals("tvmc")
with meanwhile(compute):
    while not Path("process").exists() or not Path("process").read_text():
        time.sleep(0.01)
    os.killpg(0, signal.{name})
    time.sleep(1000)
"""


@linux
@pytest.mark.parametrize(
    ("name", "status", "words"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")]
)
def test_a_signal_ends_both_with_one_line(tmp_path, name, status, words):
    """One to the group of processes, as a terminal sends it."""
    command = (sys.executable, "-c", INTERRUPTED.format(name=name))
    done = run(*command, cwd=tmp_path, start_new_session=True)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", f"tvmc: {words}\n")
    assert not exists(int((tmp_path / "process").read_text()))


def exists(process: int) -> bool:
    """Whether a process runs; one that has been ended may take a moment."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state in "XZ":
            return False
        time.sleep(0.01)
    return True


def test_what_is_late_is_computed_when_it_is_asked_for():
    order = []
    with meanwhile(lambda: order.append("compute"), late=True) as computed:
        order.append("beside")
        computed()
    assert order == ["beside", "compute"]
