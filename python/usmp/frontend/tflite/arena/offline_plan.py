"""A plan for TFLite Micro: the offsets of a model's tensors in its arena, as metadata of the file.

TFLite Micro reads the offsets from the metadata `OfflineMemoryAllocation`. Its own planner places
everything else, such as scratch memory of kernels, around them. The format is that of
`tensorflow/lite/micro/docs/memory_management.md` in its repository.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import tflite

from usmp.frontend.tflite.arena.arena_tensors import ALIGNMENT, arena_tensors
from usmp.frontend.tflite.check import check_tflite
from usmp.frontend.tflite.file.add_metadata import metadata_names, with_metadata
from usmp.frontend.tflite.file.read import READER_ERRORS
from usmp.relax.limits import DEFAULT_LIMITS, Limits
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.unique_names import names_apart
from usmp_solver import Pool, Problem, Solution
from usmp_solver.columns import column

METADATA_NAME = "OfflineMemoryAllocation"
"""The name of the metadata that TFLite Micro reads."""
ARENA = Pool("arena head")
_VERSION, _SUBGRAPHS = 1, 1
_ONLINE = -1
"""The offset of a tensor that TFLite Micro places itself, in the head or elsewhere."""
_LARGEST_OFFSET = 2**31 - 1


@dataclass(frozen=True)
class OfflinePlan:
    """A model with a plan for TFLite Micro.

    Parameters
    ----------
    content
        the bytes of the file.
    solution
        offsets in the head of the arena, in bytes.
    replaced
        whether the file had a plan before.
    """

    content: bytes
    solution: Solution
    replaced: bool


def plan_offline(
    content: bytes,
    solve: Callable[[Problem], Solution],
    limits: Limits = DEFAULT_LIMITS,
) -> OfflinePlan:
    """Place the tensors of a model for TFLite Micro; tensors that are live together share no bytes.

    Parameters
    ----------
    content
        the bytes of the .tflite file.
    solve
        the solver, called as `usmp_solver.solve`.
    limits
        limits on the model, as for an import.

    Raises
    ------
    UnsupportedModelError
        the file is damaged, or the model cannot be planned; the message says why.
    """
    model = check_tflite(content, limits)
    try:
        replaced = METADATA_NAME in metadata_names(model)
        if replaced:
            _check_may_be_replaced(model)
        tensors = arena_tensors(model)
    except UnsupportedModelError:
        raise
    except READER_ERRORS as error:
        raise UnsupportedModelError(
            "the file is damaged: an offset in it points outside it; convert or copy the model "
            "again"
        ) from error
    count = len(tensors)
    problem = Problem(
        names=names_apart(tensor.name for tensor in tensors),
        pools=(ARENA,),
        sizes=column(tensor.size_bytes for tensor in tensors),
        live_first=column(range(count + 1)),
        live_starts=column(tensor.start for tensor in tensors),
        live_stops=column(tensor.stop for tensor in tensors),
        alignments=column([ALIGNMENT] * count),
    )
    solution = solve(problem)
    if solution.peak > _LARGEST_OFFSET:
        raise UnsupportedModelError(
            f"the tensors take {solution.peak} bytes; TFLite Micro counts up to {_LARGEST_OFFSET}"
        )
    offsets = [_ONLINE] * model.Subgraphs(0).TensorsLength()
    for tensor, offset in zip(tensors, solution.offsets.tolist(), strict=True):
        offsets[tensor.index] = offset
    numbers = [_VERSION, _SUBGRAPHS, len(offsets), *offsets]
    data = struct.pack(f"<{len(numbers)}i", *numbers)
    return OfflinePlan(with_metadata(content, METADATA_NAME, data), solution, replaced)


def _check_may_be_replaced(model: tflite.Model) -> None:
    """Check that no operator is custom, because compiled code may rely on the old plan."""
    for number in range(model.OperatorCodesLength()):
        code = model.OperatorCodes(number)
        if max(code.BuiltinCode(), code.DeprecatedBuiltinCode()) == tflite.BuiltinOperator.CUSTOM:
            name = (code.CustomCode() or b"").decode("utf-8", errors="replace")
            raise UnsupportedModelError(
                f'the model has a plan already, and the custom operator "{name}", which may count '
                "on it; plan the model that it was made of"
            )
