"""Copies of the checkout, in which a file is changed and tests are run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 900
"""After which tests are killed, and count as failing."""


SERVER = f"""
import json, os, signal, sys
from unittest import mock
# TVM would load usmp at the end of its import, and each test is to load the changed one.
with mock.patch("importlib.metadata.entry_points", lambda **_: ()):
    import tvm
import hypothesis, numpy, pytest
from tvm import relax, tirx, topi
assert not any(name.startswith("usmp") for name in sys.modules)

def stop(*_):
    raise TimeoutError

class Failed:
    # Tells what fails: a test, or a file that cannot be collected.
    def __init__(self, pipe):
        self.pipe = pipe

    def pytest_runtest_logreport(self, report):
        if report.failed:
            os.write(self.pipe, report.nodeid.encode() + b"\\n")

    pytest_collectreport = pytest_runtest_logreport

signal.signal(signal.SIGALRM, stop)
for line in sys.stdin:
    told, telling = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        try:
            code = int(pytest.main(json.loads(line), plugins=[Failed(telling)]))
        except BaseException:
            code = 1
        os._exit(code)
    signal.alarm({SECONDS})
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except TimeoutError:
        code = 1
    signal.alarm(0)
    try:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    except (ProcessLookupError, ChildProcessError):
        pass
    os.close(telling)
    # What a test has started may have the pipe, too.
    os.set_blocking(told, False)
    try:
        failed = os.read(told, 10000).decode().partition("\\n")[0]
    except BlockingIOError:
        failed = ""
    os.close(told)
    print(json.dumps([code, failed]), flush=True)
"""
"""Reads the arguments of pytest, a line each, and answers with its exit status and what failed."""


class CheckoutCopy:
    """A copy of the checkout, and a process that has loaded TVM and runs tests in forks of itself.

    Parameters
    ----------
    folder
        where the copy is made.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._passing: set[tuple[str, ...]] = set()
        copy_checkout(folder)
        environment = {
            **os.environ,
            "PYTHONPATH": str(folder / "python"),
            "USMP_SHARED": os.environ.get("USMP_SHARED", str(ROOT.parent / "shared")),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def failing(self, tests: Sequence[str]) -> list[str]:
        """The arguments of pytest for the first of these tests that fails, or for all of them where
        it is not known which; none if they pass."""
        options = ["-x", "-q", "--timeout", str(SECONDS // 3), "-m", ""]
        options += ["-o", f"cache_dir={self._folder.parent / 'cache'}"]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([*options, *tests]) + "\n")
        self._process.stdin.flush()
        code, failed = json.loads(self._process.stdout.readline())
        # 5: no test was collected.
        if code in (0, 5):
            return []
        if not failed:
            return list(tests)
        return [failed] if "::" in failed else ["--collect-only", failed]

    def fails_unchanged(self, tests: Sequence[str]) -> bool:
        """Whether one of these tests fails in the checkout as it is; asked once for the same."""
        if tuple(tests) not in self._passing and self.failing(tests):
            return True
        self._passing.add(tuple(tests))
        return False

    @contextmanager
    def changed(self, path: str, content: str) -> Iterator[None]:
        """Within, a file has another content."""
        target = self._folder / path
        original = target.read_text()
        target.write_text(content)
        try:
            yield
        finally:
            target.write_text(original)


def copy_checkout(folder: Path) -> None:
    """Copy what git knows, and what was built of C++. Git finds the same files in the copy."""
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    built = [
        str(path.relative_to(ROOT))
        for package in ("usmp", "usmp_solver")
        for pattern in ("*.so", "include/**/*", "lib/**/*")
        for path in (ROOT / "python" / package).glob(pattern)
        if path.is_file()
    ]
    for name in [*listed.split("\0")[:-1], *built]:
        if (ROOT / name).exists():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    command = ["git", "rev-parse", "--absolute-git-dir"]
    git_dir = subprocess.check_output(command, cwd=ROOT, text=True)
    (folder / ".git").write_text(f"gitdir: {git_dir}")
