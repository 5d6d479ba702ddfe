"""Sweeps written by hand."""

from __future__ import annotations

from typing import Any

from usmp.exploration.result import BUILT, COMPILED, Result
from usmp.exploration.sweep import Configuration, InputFile, Sweep


def built(ram: int, flash: int, instructions: int | None = 1, **rest: Any) -> Result:
    """A result with these costs."""
    figures = {"io_bytes": 0, "code_bytes": 0, "code": COMPILED, "compiler": "gcc 1", **rest}
    return Result(
        BUILT,
        workspace_bytes=ram,
        constant_bytes=flash,
        instructions=instructions,
        operators=2,
        estimated_operators=1,
        **figures,
    )


def sweep(*results: Result | None, **rest: Any) -> Sweep:
    """A sweep over `optimize` with values 0, 1 and so on, done where there is a result."""
    configurations = [
        Configuration(None, (("optimize", str(n)),), (f"--n={n}",), f"tvmc compile m --n={n}")
        for n in range(len(results))
    ]
    done = {
        configuration.arguments: result
        for configuration, result in zip(configurations, results, strict=True)
        if result is not None
    }
    inputs = rest.pop("inputs", [InputFile.of("m.tflite", b"model")])
    return Sweep("1.2.3", inputs, configurations, results=done, **rest)
