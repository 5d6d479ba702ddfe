"""What the author of an accelerator's C functions states about them, pattern by pattern."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from operator import index
from typing import TypeAlias

from usmp.analysis.memory.access import item_bytes
from usmp.objects.extern_kernel import ExternKernel, KernelArgument, SafeDistance
from usmp.ops.accelerator_function import AcceleratorParameter
from usmp.relax.accelerators.describe import Partition

Tensors: TypeAlias = Mapping[str, AcceleratorParameter]
"""The tensors that a function is passed, by their names in C: role, shape and type of each."""
Workspace: TypeAlias = "int | Callable[[Tensors], int]"
Distances: TypeAlias = Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class KernelFacts:
    """As `state_kernel` takes them."""

    can_fail: bool = True
    keeps_state: bool = True
    workspace_bytes: Workspace = 0
    safe_distances: Distances | Callable[[Tensors], Distances] | None = None


_STATEMENTS: list[tuple[str, KernelFacts]] = []
"""By pattern, the earliest first; the last one of a pattern is valid."""


def times_stated() -> int:
    """Return how many statements were made: until the next one, all of them stay valid."""
    return len(_STATEMENTS)


def state_kernel(
    pattern: str,
    *,
    can_fail: bool = True,
    keeps_state: bool = True,
    workspace_bytes: Workspace = 0,
    safe_distances: Distances | Callable[[Tensors], Distances] | None = None,
) -> None:
    """State what the C functions of a pattern do; the defaults state nothing.

    The planner believes it. A function that does something else computes wrong results; built with
    `tir.usmp.poison_dead_bytes`, mostly different ones than without the statement.

    Parameters
    ----------
    pattern
        its name, as "accel.conv2d"; an earlier statement is replaced.
    can_fail
        whether the function returns a status. One that does not is `void` in C, and other
        operators may run before it that must wait for one that may end the run.
    keeps_state
        whether it accesses memory that it is not passed, registers of a device included. Such
        functions are called in the order of the model; others in any order that the data permits,
        if they cannot fail either.
    workspace_bytes
        scratch memory that it is to be given, or a function of its tensors that says how much;
        besides what the pattern itself asks for.
    safe_distances
        (input, output), by the names of its tensors in C -> by how many bytes the output must start
        below the input at least, if the input is not used afterwards and they share bytes. At a
        distance of d, before the function writes byte i of the output, it has read the bytes of the
        input up to i - d for the last time; 0 permits the same address. Of pairs that are not
        named, one does not overlap the other. Or a function of its tensors that gives all this.
    """
    facts = KernelFacts(can_fail, keeps_state, workspace_bytes, safe_distances)
    _STATEMENTS.append((pattern, facts))


def stated_facts(partition: Partition, symbol: str) -> KernelFacts:
    """What is stated about a function that some patterns matched.

    Raises
    ------
    ValueError
        a pattern of it states something, and the function computes more than that pattern.
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


def _bytes(value: object, what: str, symbol: str) -> int:
    """A number of bytes that is stated.

    Raises
    ------
    ValueError
        no integer: cut off, it would be too few.
    """
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(
            f"{symbol} states {what} of {value!r} bytes; state an integer, rounded up"
        ) from None


def workspace_of(facts: KernelFacts, tensors: Tensors, symbol: str) -> int:
    """The bytes of scratch memory that a function is to be given.

    Raises
    ------
    ValueError
        less than none.
    """
    stated = facts.workspace_bytes
    size = _bytes(stated(tensors) if callable(stated) else stated, "a workspace", symbol)
    if size < 0:
        raise ValueError(f"{symbol} states a workspace of {size} bytes; state 0 or more")
    return size


def extern_kernel(
    facts: KernelFacts, parameters: Sequence[AcceleratorParameter], symbol: str
) -> ExternKernel | None:
    """What a function states, by the positions of its tensors; None if that is nothing.

    Raises
    ------
    ValueError
        a distance of tensors that it does not have, or that is none.
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
                names.index(given),
                names.index(written),
                _bytes(size, f"a safe distance from {given} to {written}", symbol),
            )
            for (given, written), size in distances.items()
        ],
        facts.can_fail,
        facts.keeps_state,
    )
