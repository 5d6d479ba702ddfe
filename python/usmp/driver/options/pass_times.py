"""Measure the time of each pass of a build, and print it as TVM's tvmc did."""

from __future__ import annotations

import time
from typing import Any

from tvm.ir import IRModule
from tvm.ir.instrument import PassInstrument


class PassTimes(PassInstrument):  # type: ignore[misc]
    """An instrument that measures passes and their nested passes.

    TVM's `PassTimingInstrument` forgets its times when any context that has it ends, and
    `usmp.build` enters a context of its own.
    """

    # Without `__dict__`, an object of C++ cannot have attributes of Python.
    __slots__ = ("__dict__",)

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[tuple[int, str, float]] = []
        self._running: list[tuple[int, float]] = []

    def run_before_pass(self, mod: IRModule, info: Any) -> None:
        """Record the start of a pass."""
        self._running.append((len(self._rows), time.perf_counter()))
        self._rows.append((len(self._running) - 1, str(info.name), 0.0))

    def run_after_pass(self, mod: IRModule, info: Any) -> None:
        """Record the duration of a pass."""
        row, start = self._running.pop()
        depth, name, _ = self._rows[row]
        self._rows[row] = depth, name, time.perf_counter() - start

    def table(self) -> str:
        """Return a line for each pass in the order of the build, with nested passes indented."""
        lines = [f"{'  ' * depth}{name}: {s * 1000:.3f} ms" for depth, name, s in self._rows]
        return "\n".join(["Compilation time breakdown by pass:", *lines])
