"""Which functions of the product each test runs.

Recorded by a plugin of pytest, with little loss of time:

    PYTHONPATH=tests/python pytest -p support.executed_functions --executed=FOLDER -m "" -n auto

Only what runs in the process of the test is seen, and what several tests share (a model that was
built before) is said of the first, or if a fixture made it, of all tests of the file from there on.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import sys
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from itertools import accumulate
from pathlib import Path
from typing import TextIO

import pytest

from support.checkout_copies import ROOT

_NAME = "__usmp_executed__"
_PRODUCT = "/python/usmp"


@dataclass(frozen=True)
class RecordedTest:
    """A test, and what it cost when it was recorded.

    Parameters
    ----------
    name
        the one that pytest gives it.
    seconds
        of the CPU, children's too.
    markers
        the names of its marks.
    """

    name: str
    seconds: float
    markers: frozenset[str]

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


class ExecutedFunctions:
    """What was recorded of the tests.

    Parameters
    ----------
    folder
        where the plugin wrote it.

    Attributes
    ----------
    files
        of the tests.
    """

    def __init__(self, folder: str | Path) -> None:
        self._tests: dict[str, list[RecordedTest]] = defaultdict(list)
        self._at_import: set[str] = set()
        self.files: set[str] = set()
        for path in sorted(Path(folder).glob("*.jsonl")):
            self._read(path)

    def _read(self, path: Path) -> None:
        begin, *lines, end = map(json.loads, path.read_text().splitlines())
        self._at_import.update(begin["at_import"])
        prepared: dict[str, set[int]] = defaultdict(set)
        for line in lines:
            test = RecordedTest(line["test"], line["seconds"], frozenset(line["markers"]))
            self.files.add(test.file)
            prepared[test.file].update(line["in_setup"])
            for number in prepared[test.file].union(line["after"]):
                self._tests[end["functions"][number]].append(test)

    def tests(self, path: str, line: int) -> list[RecordedTest] | None:
        """The tests that execute the function around a line, the cheapest first.

        Of a line outside of functions, those that execute a function of the file. None where an
        import executes it, so that each test may depend on it.
        """
        function = _function_around((ROOT / path).read_text(), line)
        if function is None:
            names = [name for name in self._tests if name.startswith(f"{path}:")]
        else:
            names = [f"{path}:{function}"]
            if names[0] in self._at_import:
                return None
        found = {test for name in names for test in self._tests.get(name, ())}
        return sorted(found, key=lambda test: (test.seconds, test.name))


def first_tests(tests: list[RecordedTest], most_seconds: float) -> list[str]:
    """Return the names of tests that together take no longer."""
    totals = accumulate(test.seconds for test in tests)
    return [t.name for t, total in zip(tests, totals, strict=True) if total <= most_seconds]


def _function_around(source: str, line: int) -> int | None:
    """The line where the innermost function begins whose statements have this line."""
    found = [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body[0].lineno <= line <= (node.end_lineno or 0)
    ]
    return max(found, default=None)


class _Recording(ast.NodeTransformer):
    """Lets each function of a module first say that it runs."""

    def __init__(self, path: str) -> None:
        self._path = path

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        number = 0 if ast.get_docstring(node) is None else 1
        at = node.body[min(number, len(node.body) - 1)]
        key = ast.Constant(f"{self._path}:{node.lineno}")
        add = ast.Attribute(ast.Name(_NAME, ast.Load()), "add", ast.Load())
        says = ast.copy_location(ast.Expr(ast.Call(add, [key], [])), at)
        node.body.insert(number, ast.fix_missing_locations(says))
        return node


class _Recorder:
    """Writes what the tests of this process execute."""

    def __init__(self, folder: Path) -> None:
        self._executed: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._folder = folder
        self._file: TextIO | None = None
        self._in_setup: list[int] = []
        setattr(builtins, _NAME, self._executed)

    def compile_recording(self) -> None:
        """Compile what is imported of the product from now on so that it says what runs."""
        assert not any(name.split(".")[0] == "usmp" for name in sys.modules)
        compiled = SourceFileLoader.source_to_code

        def source_to_code(self, data, path, **options):
            if _PRODUCT in str(path):
                name = str(path)[str(path).rindex(_PRODUCT) + 1 :]
                data = _Recording(name).visit(ast.parse(data))
            return compiled(self, data, path, **options)

        SourceFileLoader.source_to_code = source_to_code
        # Other processes are not to find what is compiled so.
        sys.pycache_prefix = str(self._folder.absolute() / "pycache")

    def _taken(self) -> list[int]:
        functions = sorted(self._executed)
        self._executed.clear()
        return [self._numbers.setdefault(name, len(self._numbers)) for name in functions]

    def _write(self, **values: object) -> None:
        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = (self._folder / f"{os.getpid()}.jsonl").open("w")
        self._file.write(json.dumps(values) + "\n")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if self._file is None:
            self._write(at_import=sorted(self._executed))
            self._executed.clear()
        started = sum(os.times()[:4])
        result = yield
        self._write(
            test=item.nodeid,
            seconds=round(sum(os.times()[:4]) - started, 3),
            markers=sorted({mark.name for mark in item.iter_markers()}),
            in_setup=self._in_setup,
            after=self._taken(),
        )
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            self._in_setup = self._taken()

    def pytest_sessionfinish(self) -> None:
        if self._file is not None:
            self._write(functions=list(self._numbers))
            self._file.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "write which functions of the product each test executes"
    parser.getgroup("usmp").addoption("--executed", type=Path, metavar="FOLDER", help=text)


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    folder = early_config.known_args_namespace.executed
    if folder is not None:
        recorder = _Recorder(folder)
        recorder.compile_recording()
        early_config.pluginmanager.register(recorder)
