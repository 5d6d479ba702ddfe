"""The lock of the compiler: nested calls, Ctrl-C while a thread waits, and forked processes."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from tvm.ir import IRModule

import usmp
from support.children import run
from usmp.support.process.compiler_lock import locked_property, one_at_a_time

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork processes")


@contextmanager
def another_thread_holds_the_lock() -> Iterator[None]:
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with usmp.compiler_lock:
            taken.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(60)
    try:
        yield
    finally:
        done.set()
        thread.join(60)


def is_done(thread: threading.Thread) -> bool:
    thread.join(0.05)
    return not thread.is_alive()


@one_at_a_time
def nested(depth: int) -> int:
    """Count calls."""
    return depth if depth == 0 else 1 + nested(depth - 1)


class Lazy:
    """Something with a property that is computed once."""

    computed = 0

    @locked_property
    def value(self) -> int:
        self.computed += 1
        return self.computed


def test_calls_in_one_thread_are_nested():
    with usmp.compiler_lock:
        assert nested(3) == 3


def test_a_function_keeps_its_name_and_its_text():
    assert (nested.__name__, nested.__doc__) == ("nested", "Count calls.")


@pytest.mark.parametrize("work", [lambda: nested(1), lambda: Lazy().value])
def test_a_thread_waits_for_its_turn(work):
    waiting = threading.Thread(target=work)
    with another_thread_holds_the_lock():
        waiting.start()
        assert not is_done(waiting)
    waiting.join(60)
    assert not waiting.is_alive()


def test_a_property_is_computed_once_and_needs_no_lock_afterwards():
    lazy = Lazy()
    assert lazy.value == 1
    with another_thread_holds_the_lock():
        assert lazy.value == 1
    assert isinstance(Lazy.value, locked_property)


@pytest.mark.parametrize(
    "call",
    [
        lambda: usmp.build("none.tflite"),
        lambda: usmp.import_model("none.tflite"),
        lambda: usmp.explain("none.tflite"),
        lambda: usmp.get_aot_pipeline()(None),
        lambda: usmp.transform.AssignPoolInfo()(IRModule()),
        lambda: usmp.runtime.compile_managed(None),
    ],
)
def test_entry_points_wait_before_they_do_anything(call):
    """Most of what they are given is wrong, which they notice when it is their turn."""
    called = []

    def work() -> None:
        with suppress(Exception):
            call()
        called.append(call)

    waiting = threading.Thread(target=work)
    with another_thread_holds_the_lock():
        waiting.start()
        assert not is_done(waiting)
    waiting.join(60)
    assert called == [call]


def printed(program: str) -> str:
    done = run(sys.executable, "-W", "ignore", "-c", program)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@posix
@pytest.mark.process
def test_an_interrupt_ends_the_waiting_and_takes_no_lock():
    program = """
import os, signal, threading, time
from usmp.support.process.compiler_lock import compiler_lock, one_at_a_time
taken, done = threading.Event(), threading.Event()

def hold():
    with compiler_lock:
        taken.set()
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)
        done.wait()

thread = threading.Thread(target=hold)
thread.start()
taken.wait()
try:
    one_at_a_time(print)("not reached")
except KeyboardInterrupt:
    print("interrupted")
done.set()
thread.join()
with compiler_lock:
    print("free")
"""
    assert printed(program) == "interrupted\nfree\n"


@pytest.mark.slow
@posix
@pytest.mark.process
def test_a_forked_process_has_no_threads_to_wait_for():
    """The other thread is amid a function of Relax and operators with a tag, as in a build."""
    program = """
import sys
sys.modules["torch"] = None
import os, threading
import tvm
from tvm import relax
import usmp
from usmp.support.process.compiler_lock import compiler_lock
x = relax.Var("x", relax.TensorType((1, 4), "float32"))

def build():
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        y = builder.emit(relax.op.nn.softmax(relax.op.nn.relu(x)))
        builder.emit_func_output(y)
    return usmp.build(builder.get()).sources

def child(work):
    process = os.fork()
    if process == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

taken, done = threading.Event(), threading.Event()

def hold():
    builder = relax.BlockBuilder()
    with compiler_lock, builder.function("main", [x]), tvm.te.tag_scope("tag"):
        taken.set()
        done.wait()
        builder.emit_func_output(x)

expected = build()
thread = threading.Thread(target=hold)
thread.start()
taken.wait()

def build_in_child():
    assert relax.BlockBuilder.current() is None
    assert build() == expected

print(child(build_in_child))
done.set()
thread.join()

def still_held():
    other = threading.Thread(target=lambda: os._exit(compiler_lock.acquire(blocking=False) * 2))
    other.start()
    other.join()

with compiler_lock:
    print(child(still_held))
"""
    assert printed(program) == "0\n0\n"


@pytest.mark.parametrize("objects", [0, 700, 10**6])
def test_collections_are_rare_while_a_function_runs(objects):
    before = gc.get_threshold()
    gc.set_threshold(objects, 5, 6)
    try:
        inside = one_at_a_time(gc.get_threshold)()
        assert gc.get_threshold() == (objects, 5, 6)
    finally:
        gc.set_threshold(*before)
    assert inside == (max(objects, 100_000) if objects else 0, 5, 6)
