"""Measurements of a compiled model: its code, and its instructions in an emulator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from usmp.boards.board import Board
from usmp.boards.emulator import EmulatedModule
from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.exploration.measure import measure
from usmp.exploration.result import Result
from usmp.objects.symbolic_size import has_symbolic_sizes


class Measured(NamedTuple):
    """The figures of a model, and the instructions of one run of each entry; None if not run."""

    result: Result
    instructions: int | None = None


def measured(factory: AOTExecutorFactoryModule, board: Board | None) -> Measured:
    """Compile a model, and for a board run each entry once in the emulator, with inputs of zeros.

    Raises
    ------
    BuildError, EmulatorError
        the program cannot be built, or its run fails.
    """
    result = measure(factory)
    if board is None or has_symbolic_sizes(factory.ir_mod):
        return Measured(result)
    metadata = factory.metadata["modules"][factory.module_name]
    module = EmulatedModule(factory.files(), metadata, board)
    runs = [
        (
            name,
            {
                tensor: np.zeros(known["shape"], known["dtype"])
                for tensor, known in entry.inputs.items()
            },
        )
        for name, entry in module.entries.items()
    ]
    return Measured(result, sum(module.run(runs).instructions))
