"""Docstrings with sections are numpydoc that parses, and name the parameters that there are."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT

docscrape = pytest.importorskip("numpydoc.docscrape", reason="make test installs numpydoc")

FILES = sorted(
    path.relative_to(ROOT)
    for package in ("usmp", "usmp_solver")
    for path in (ROOT / "python" / package).rglob("*.py")
)
NAMES = re.compile(r"[\w., ]+")
NO_VERBS = set(
    """A All An As Both By Each Elements For From How If In Is It Its None Of One Only That The
    Those To What When Where Whether Which Who Why With Without""".split()
)
"""First words of docstrings that say what something is, not what a function does."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def documented(path: Path) -> list[tuple[Documented, str]]:
    """The functions and classes of a file that have a docstring with sections."""
    content = (ROOT / path).read_text()
    if not re.search(r"^ *-{3,}$", content, re.MULTILINE):
        return []
    nodes = (node for node in ast.walk(ast.parse(content)) if isinstance(node, Documented))
    pairs = ((node, ast.get_docstring(node)) for node in nodes)
    return [(node, text) for node, text in pairs if text and re.search(r"^-{3,}$", text, re.M)]


def names_of(node: Documented) -> set[str]:
    """Parameters of a function, fields of a class and parameters of its constructor."""
    if not isinstance(node, ast.ClassDef):
        every = node.args
        rest = [argument for argument in (every.vararg, every.kwarg) if argument is not None]
        return {a.arg for a in [*every.posonlyargs, *every.args, *every.kwonlyargs, *rest]}
    fields = {
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
    return fields.union(*(names_of(item) for item in methods if item.name == "__init__"))


def faults_of(node: Documented, text: str) -> list[str]:
    """List what is wrong in a docstring."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            parsed = docscrape.NumpyDocString(text)
        except (UserWarning, ValueError) as error:
            return [str(error)]
    listed = [name.strip("* ") for p in parsed["Parameters"] for name in p.name.split(",")]
    entries = [p for s in ("Parameters", "Returns", "Yields", "Raises") for p in parsed[s]]
    return [
        *(f"{name} is no parameter" for name in listed if name not in names_of(node)),
        *(f"{entry} has no text" for entry in entries if not entry.desc),
        *(f"{e.type} is no error" for e in parsed["Raises"] if not NAMES.fullmatch(e.type)),
    ]


def functions(path: Path) -> Iterator[tuple[Function, str]]:
    """Yield the functions of a file, but properties and overloads, with their docstrings."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, Function) and (text := ast.get_docstring(node)):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            if not re.search(r"property|overload", decorators):
                yield node, text


def test_docstrings_of_functions_start_with_a_verb():
    first = [(path, *pair) for path in FILES for pair in functions(path)]
    assert len(first) > 4000
    faults = [
        f"{path}:{node.lineno} {text.splitlines()[0]}"
        for path, node, text in first
        if text.split()[0] in NO_VERBS
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.slow
def test_docstrings_parse():
    found = [(path, *pair) for path in FILES for pair in documented(path)]
    assert len(found) > 300
    faults = [
        f"{path}:{node.lineno} {node.name}: {fault}"
        for path, node, text in found
        for fault in faults_of(node, text)
    ]
    assert not faults, "\n".join(faults)


def test_faults_are_found():
    function, *_ = ast.parse("def f(x): ...").body
    sections = "Parameters\n----------\n{}\n\nRaises\n------\n{}\n    If so."
    right = faults_of(function, sections.format("x\n    It.", "KeyError"))
    assert right == []
    wrong = faults_of(function, sections.format("x, y", "a b-c"))
    assert [fault.split(" ", 1)[1] for fault in wrong[:1]] == ["is no parameter"]
    assert len(wrong) == 3
    (fault,) = faults_of(function, "Its arguments\n-------------\nNone")
    assert "Unknown section Its Arguments" in fault
