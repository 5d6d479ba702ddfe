"""Docstrings with sections are numpydoc that parses, and name the parameters that there are."""

from __future__ import annotations

import ast
import re
import warnings
from pathlib import Path

import pytest

from conftest import ROOT

docscrape = pytest.importorskip("numpydoc.docscrape", reason="make test installs numpydoc")

FILES = sorted(
    path.relative_to(ROOT)
    for package in ("usmp", "usmp_solver")
    for path in (ROOT / "python" / package).rglob("*.py")
)
Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def documented(path: Path) -> list[tuple[Documented, str]]:
    """The functions and classes of a file that have a docstring with sections."""
    tree = ast.parse((ROOT / path).read_text())
    nodes = (node for node in ast.walk(tree) if isinstance(node, Documented))
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


@pytest.mark.parametrize("path", FILES, ids=str)
def test_docstrings_parse(path):
    for node, text in documented(path):
        where = f"{path}:{node.lineno} {node.name}"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            parsed = docscrape.NumpyDocString(text)
        listed = [name.strip("* ") for p in parsed["Parameters"] for name in p.name.split(",")]
        assert set(listed) <= names_of(node), where
        entries = [p for s in ("Parameters", "Returns", "Yields", "Raises") for p in parsed[s]]
        assert all(entry.desc for entry in entries), where
        assert all(re.fullmatch(r"[\w., ]+", entry.type) for entry in parsed["Raises"]), where


def test_there_are_docstrings_to_parse():
    assert sum(len(documented(path)) for path in FILES) > 300
