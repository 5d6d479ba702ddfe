"""The figures of a built model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.exploration.code_size import code_size
from usmp.exploration.result import BUILT, Result


def measure(factory: AOTExecutorFactoryModule) -> Result:
    """What a model takes: RAM and flash, and about how many instructions a run takes."""
    metadata = factory.metadata["modules"][factory.module_name]
    memory, operators = metadata["memory"], metadata["operators"]
    code_bytes, code, compiler = code_size(factory)
    known = [count for count in map(_instructions, operators) if count is not None]
    macs = [operator.get("macs") for operator in operators]
    return Result(
        BUILT,
        workspace_bytes=memory["ram"]["workspace_size_bytes"],
        io_bytes=memory["ram"]["io_size_bytes"],
        state_bytes=memory["ram"]["state_size_bytes"],
        constant_bytes=sum(
            pool["size_bytes"] for pool in memory["pools"] if pool["kind"] == "constant"
        ),
        code_bytes=code_bytes,
        code=code,
        compiler=compiler,
        instructions=sum(known) if known else None,
        operators=len(operators),
        estimated_operators=len(known),
        macs=None if None in macs else sum(macs),
        algorithm=memory["algorithm"],
        is_optimal=all(pool["optimal"] for pool in memory["pools"]),
    )


def _instructions(operator: Mapping[str, Any]) -> int | None:
    """Of an operator, or of those that it runs interleaved; None if nothing is known."""
    known = [
        schedule["instructions"]
        for schedule in operator.get("schedules", ())
        if "instructions" in schedule
    ]
    return sum(known) if known else None
