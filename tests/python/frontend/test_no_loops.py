"""Front ends decode, check and refuse; the loops of operators are in `usmp.ops`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from conftest import ROOT

FRONTEND = ROOT / "python/usmp/frontend"


def imported_names(path: Path) -> Iterator[str]:
    """Return the names that a module imports from TVM."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tvm":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_front_ends_write_no_loops():
    paths = sorted(FRONTEND.rglob("*.py"))
    assert len(paths) > 100
    with_loops = {
        str(path.relative_to(FRONTEND))
        for path in paths
        for name in imported_names(path)
        if name.startswith(("tvm.te", "tvm.script"))
    }
    assert with_loops == {"onnx/shapes/shape_values.py"}
