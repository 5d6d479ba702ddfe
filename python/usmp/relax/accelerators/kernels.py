"""Facts that authors of C functions for accelerators state for each pattern."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from operator import index
from typing import TypeAlias

from usmp.objects.extern_kernel import ExternKernel, KernelArgument, SafeDistance
from usmp.ops.accelerator_function import AcceleratorParameter
from usmp.relax.accelerators.describe import Partition
from usmp.tir.dtypes import item_bytes

Tensors: TypeAlias = Mapping[str, AcceleratorParameter]
"""Name in C -> role, shape and type, for each tensor parameter of a function."""
Workspace: TypeAlias = "int | Callable[[Tensors], int]"
Distances: TypeAlias = Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class KernelFacts:
    """The facts that `state_kernel` takes."""

    can_fail: bool = True
    keeps_state: bool = True
    workspace_bytes: Workspace = 0
    safe_distances: Distances | Callable[[Tensors], Distances] | None = None


_STATEMENTS: list[tuple[str, KernelFacts]] = []
"""Patterns and facts in the order of statements; the last one of a pattern is valid."""


def times_stated() -> int:
    """Return the number of statements so far. It changes whenever facts may have changed."""
    return len(_STATEMENTS)


def state_kernel(
    pattern: str,
    *,
    can_fail: bool = True,
    keeps_state: bool = True,
    workspace_bytes: Workspace = 0,
    safe_distances: Distances | Callable[[Tensors], Distances] | None = None,
) -> None:
    """State facts about the C functions of a pattern; the defaults state nothing.

    The planner trusts the facts. If they are false, results are wrong; building with
    `tir.usmp.debug=poison_dead_bytes` makes most such errors visible.

    Parameters
    ----------
    pattern
        name of the pattern, as "accel.conv2d"; replaces an earlier statement.
    can_fail
        whether the function returns a status. Otherwise it is `void` in C, and operators can be
        moved across it, because it cannot end the run.
    keeps_state
        whether the function accesses memory other than its arguments, as device registers. Such
        functions are called in the order of the model. Others that cannot fail are called in any
        order that data dependencies permit.
    workspace_bytes
        bytes of scratch memory, in addition to those of the pattern itself, or a function that
        returns them for the tensors of a call.
    safe_distances
        (input, output), by their names in C -> smallest number of bytes by which the output must
        start below the input, if the input dies and they share bytes. At distance d, the function
        reads the input bytes up to i - d for the last time before it writes output byte i; 0
        permits equal addresses. Other pairs do not overlap. Or a function that returns all this for
        the tensors of a call.
    """
    facts = KernelFacts(can_fail, keeps_state, workspace_bytes, safe_distances)
    _STATEMENTS.append((pattern, facts))


def stated_patterns() -> list[str]:
    """Return the names of the patterns about whose functions facts are stated, in order. Defaults
    state nothing."""
    return [name for name, facts in dict(_STATEMENTS).items() if facts != KernelFacts()]


def stated_facts(partition: Partition, symbol: str) -> KernelFacts:
    """Return the facts about a function that patterns matched.

    Raises
    ------
    ValueError
        facts are stated for a pattern, and the function computes more than this pattern.
    """
    patterns = partition.composites
    stated = dict(_STATEMENTS)
    if len(patterns) == 1 and not partition.other_operators:
        return stated.get(patterns[0], KernelFacts())
    for pattern in patterns:
        if stated.get(pattern, KernelFacts()) != KernelFacts():
            others = partition.other_operators
            more = ", ".join(patterns) + f", and {others} operators of no pattern" * bool(others)
            raise ValueError(
                f'{symbol} computes several patterns ({more}), and "{pattern}" states what its own '
                "functions do; state nothing, or leave the patterns apart"
            )
    return KernelFacts()


def _bytes(value: object, quantity: str, symbol: str) -> int:
    """Return a stated number of bytes as an integer.

    Raises
    ------
    ValueError
        it is no integer, and truncation would give too few bytes.
    """
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(
            f"{symbol} states {quantity} of {value!r} bytes; state an integer, rounded up"
        ) from None


def workspace_of(facts: KernelFacts, tensors: Tensors, symbol: str) -> int:
    """Return the bytes of scratch memory of a function.

    Raises
    ------
    ValueError
        the number is negative or no integer.
    """
    stated = facts.workspace_bytes
    size = _bytes(stated(tensors) if callable(stated) else stated, "a workspace", symbol)
    if size < 0:
        raise ValueError(f"{symbol} states a workspace of {size} bytes; state 0 or more")
    return size


def extern_kernel(
    facts: KernelFacts, parameters: Sequence[AcceleratorParameter], symbol: str
) -> ExternKernel | None:
    """Return the facts for the planner, with tensors by position, or None if nothing is stated.

    Raises
    ------
    ValueError
        a distance is no integer, or is of an unknown tensor.
    """
    stated = facts.safe_distances
    tensors = {str(parameter.name): parameter for parameter in parameters}
    distances = (stated(tensors) if callable(stated) else stated) or {}
    if facts.can_fail and facts.keeps_state and not distances:
        return None
    names = list(tensors)
    for name in {name for pair in distances for name in pair}:
        if name not in tensors:
            raise ValueError(
                f'{symbol} states a safe distance of "{name}", which it does not have; it has '
                f"{', '.join(names)}"
            )
    return ExternKernel(
        symbol,
        [
            KernelArgument(
                str(parameter.name),
                prod(parameter.shape) * item_bytes(str(parameter.dtype)),
                reads=parameter.role != "output",
                writes=not parameter.is_read_only,
            )
            for parameter in parameters
        ],
        [
            SafeDistance(
                names.index(dying),
                names.index(written),
                _bytes(size, f"a safe distance from {dying} to {written}", symbol),
            )
            for (dying, written), size in distances.items()
        ],
        facts.can_fail,
        facts.keeps_state,
    )
