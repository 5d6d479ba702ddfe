"""Every kernel that tests select in this process is compared with the operator that it replaces.

Each body of a kernel is compared once in a run of the tests: a file of its digest, in a folder that
all workers of the run share, says that one of them does. Some are compared in one C program, when
there are enough, and after the last test. What differs is an error of the test that just ended, and
says which test selected the kernel.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path

import pytest
from tvm.ir import IRModule

from usmp.aot.kernel_checks.kernel_body import KernelBody
from usmp.aot.kernel_checks.verify_kernels import kernel_differences
from usmp.aot.transform import select_kernels
from usmp.objects.target.cores import Core

_FOLDER = "USMP_TESTS_KERNELS"
"""The environment variable that names the folder of the run, for its workers."""

_AT_ONCE = 100
"""Bodies in a program."""


@dataclass
class Collection:
    """Bodies of kernels that tests selected.

    Parameters
    ----------
    folder
        of the digests of those that some worker compares.
    """

    folder: Path
    test: str = ""
    """That runs."""
    seen: set[str] = field(default_factory=set)
    """Digests of those that this process has seen."""
    pending: list[tuple[KernelBody, str]] = field(default_factory=list)
    """Those that this process is to compare, and the tests that selected them."""
    is_paused: bool = False
    process: int = field(default_factory=os.getpid)
    """A fork of it compares nothing: what it would add is lost when it ends."""

    def add(self, body: KernelBody) -> None:
        """Compare a body, unless it was seen before in this run."""
        if self.is_paused or os.getpid() != self.process or body.digest in self.seen:
            return
        self.seen.add(body.digest)
        try:
            (self.folder / body.digest).touch(exist_ok=False)
        except FileExistsError:
            return
        self.pending.append((body, self.test))

    def failures(self) -> list[str]:
        """What differs of those that are pending; they are not pending any more."""
        pending, self.pending = self.pending, []
        tests = {body.digest: test for body, test in pending}
        try:
            differences = kernel_differences(body for body, _ in pending)
        except Exception:
            chosen = "\n".join(dict.fromkeys(tests.values()))
            return [f"{traceback.format_exc()}\nwhile kernels were compared that are of\n{chosen}"]
        return [f"{found}\nselected by {tests[found.body.digest]}" for found in differences]


_made: list[str] = []
"""The folder, if this process made it."""

_collections: list[Collection] = []
"""That of this process, from the configuration of pytest on."""


def collection() -> Collection:
    """That of this process."""
    return _collections[0]


@contextmanager
def paused() -> Iterator[None]:
    """Within, kernels are not compared: a test breaks one."""
    collection().is_paused = True
    try:
        yield
    finally:
        collection().is_paused = False


def start() -> None:
    """From now on, `SelectKernels` adds what it selects to the collection."""
    if _FOLDER not in os.environ:
        os.environ[_FOLDER] = tempfile.mkdtemp(prefix="usmp-kernels-")
        _made.append(os.environ[_FOLDER])
    _collections.append(Collection(Path(os.environ[_FOLDER])))
    selected = select_kernels._selected

    @wraps(selected)
    def collected(mod: IRModule, core: Core) -> list[select_kernels._Selected]:
        found = selected(mod, core)
        for body in select_kernels._bodies(found, core):
            collection().add(body)
        return found

    select_kernels._selected = collected


def stop() -> None:
    """At the end of the tests."""
    for folder in _made:
        shutil.rmtree(folder, ignore_errors=True)


def report(item: pytest.Item, is_last: bool) -> None:
    """After a test: compare those that are pending, if they are many or nothing follows."""
    pending = collection().pending
    has_compiler = shutil.which((shlex.split(os.environ.get("CC", "")) or ["cc"])[0]) is not None
    if not has_compiler or not pending or (len(pending) < _AT_ONCE and not is_last):
        return
    for text in collection().failures():
        item.ihook.pytest_runtest_logreport(
            report=pytest.TestReport(
                item.nodeid, item.location, {}, "failed", text, when="teardown"
            )
        )
