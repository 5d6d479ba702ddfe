"""Public models of ../shared, imported and built once for all tests of a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tvm.ir import IRModule
from tvm.ir.transform import PassContext

import usmp


@cache
def imported(path: Path) -> IRModule:
    return usmp.import_model(path)


@cache
def build(path: Path, target: str = "c", **options: object) -> usmp.AOTExecutorFactoryModule:
    """Build it with options `tir.usmp.<name>`."""
    with PassContext(config={f"tir.usmp.{name}": value for name, value in options.items()}):
        return usmp.build(imported(path), target)
