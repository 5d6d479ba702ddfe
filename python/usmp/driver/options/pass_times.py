"""The time that each pass of a build takes, as TVM's tvmc printed it."""

from __future__ import annotations

import time
from typing import Any

from tvm.ir import IRModule
from tvm.ir.instrument import PassInstrument


class PassTimes(PassInstrument):  # type: ignore[misc]
    """Measures passes, with those that they run inside.

    TVM's `PassTimingInstrument` forgets its times when any context that has it ends, and
    `usmp.build` enters one of its own.
    """

    # Objects of C++ have no other attributes else.
    __slots__ = ("__dict__",)

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[tuple[int, str, float]] = []
        self._running: list[tuple[int, float]] = []

    def run_before_pass(self, mod: IRModule, info: Any) -> None:
        """Note when the pass begins."""
        self._running.append((len(self._rows), time.perf_counter()))
        self._rows.append((len(self._running) - 1, str(info.name), 0.0))

    def run_after_pass(self, mod: IRModule, info: Any) -> None:
        """Note how long it took."""
        row, start = self._running.pop()
        depth, name, _ = self._rows[row]
        self._rows[row] = depth, name, time.perf_counter() - start

    def table(self) -> str:
        """Return a line for each pass in the order of the build, those inside another indented."""
        lines = [f"{'  ' * depth}{name}: {s * 1000:.3f} ms" for depth, name, s in self._rows]
        return "\n".join(["Compilation time breakdown by pass:", *lines])
