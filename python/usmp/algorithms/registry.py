"""Planning algorithms by name; error messages begin with TVM's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from tvm_ffi import get_global_func
from tvm_ffi.registry import list_global_func_names

from usmp.algorithms.search import search
from usmp.algorithms.solver import allocations_of, solve_buffers
from usmp.names import ALGORITHM_PREFIX, ALGORITHMS
from usmp.objects import BufferInfo, PoolAllocation
from usmp.support.builtin_functions import is_builtin
from usmp.support.deadline import Deadline
from usmp.support.text.known_names import unknown_name
from usmp_solver import SEARCHES

Plan: TypeAlias = Mapping[BufferInfo, PoolAllocation]

Algorithm: TypeAlias = Callable[[Sequence[BufferInfo], int], Plan]
"""``(buffers, memory_pressure) -> plan``; the memory pressure is in bytes."""


def get_algorithm(
    name: str, time_budget_seconds: float | None = None, deadline: Deadline | None = None
) -> Algorithm:
    """Return the built-in algorithm that the option ``tir.usmp.algorithm`` names.

    Plans of ``auto`` and ``exact`` are a :class:`SearchedPlan`, which has proved bounds. Buffers
    that do not fit raise a :class:`~usmp.algorithms.does_not_fit.DoesNotFitError`.

    Parameters
    ----------
    name
        Name of the algorithm.
    time_budget_seconds
        Most time of the search of ``auto`` and ``exact``, in place of a limit of work.
    deadline
        Time at which ``auto`` and ``exact`` end in any case.

    Raises
    ------
    ValueError
        The algorithm is unknown, or takes no time budget.
    """
    if name not in ALGORITHMS:
        problem = f"The selected USMP algorithm : {name} is not defined"
        if name in registered_algorithms():
            problem += (
                f"; it is registered as {ALGORITHM_PREFIX}{name}, which "
                f"tir.usmp.custom_algorithm={name} chooses"
            )
        raise ValueError(unknown_name(problem, name, ALGORITHMS, "Algorithms"))
    if name in SEARCHES:
        return partial(_search, name, time_budget_seconds, deadline)
    check_takes_no_time(name, time_budget_seconds)
    return partial(_place, name)


def check_takes_no_time(name: str, time_budget_seconds: float | None) -> None:
    """Refuse a time budget for an algorithm that cannot keep to one.

    Raises
    ------
    ValueError
        There is a time budget.
    """
    if time_budget_seconds is not None:
        raise ValueError(
            f"tir.usmp.time_budget is for tir.usmp.algorithm={' or '.join(SEARCHES)}, "
            f"not for {name}"
        )


def _search(
    name: str,
    time_budget_seconds: float | None,
    deadline: Deadline | None,
    buffers: Sequence[BufferInfo],
    _pressure: int,
) -> Plan:
    # The memory pressure belongs to TVM's signature; the searches compute better bounds.
    return search(name, buffers, time_budget_seconds, deadline)


def _place(name: str, buffers: Sequence[BufferInfo], memory_pressure: int) -> Plan:
    buffers = list(buffers)
    if not buffers:
        return {}
    solution = solve_buffers(buffers, name, memory_pressure=int(memory_pressure))
    return allocations_of(buffers, solution)


def plan_with(name: str, buffers: Sequence[BufferInfo], memory_pressure: int) -> Plan:
    """Return the plan of a built-in algorithm, as a map for C++."""
    return dict(get_algorithm(name)(buffers, memory_pressure))


def get_custom_algorithm(name: str) -> Algorithm:
    """Return the algorithm registered as ``tir.usmp.algo.<name>``, by the user or built in.

    The option ``tir.usmp.custom_algorithm`` has this name.

    Raises
    ------
    ValueError
        No algorithm has that name; or, when the algorithm is called, its result is no plan.
    """
    algorithm = get_global_func(ALGORITHM_PREFIX + name, allow_missing=True)
    if algorithm is None:
        problem = (
            f"The selected custom USMP algorithm : {name} is not defined. "
            f"Please register it as {ALGORITHM_PREFIX}{name}"
        )
        raise ValueError(
            unknown_name(problem, name, registered_algorithms(), "Registered algorithms")
        )

    if is_builtin(name, algorithm):
        # Bypass C++, which would keep only the text of a DoesNotFitError.
        return partial(plan_with, name)

    def checked(buffers: Sequence[BufferInfo], memory_pressure: int) -> Plan:
        return _checked_plan(algorithm(buffers, memory_pressure), name)

    return checked


def _checked_plan(plan: object, name: str) -> Plan:
    """Return `plan` if it is a map; :func:`usmp.analysis.check_plan` checks its content."""
    rule = f"The custom USMP algorithm : {name} must return a map of BufferInfo to PoolAllocation"
    if not isinstance(plan, Mapping):
        raise ValueError(f"{rule}, not {type(plan).__name__}")
    for buffer, allocation in plan.items():
        if not isinstance(buffer, BufferInfo) or not isinstance(allocation, PoolAllocation):
            raise ValueError(
                f"{rule}, but its map has {type(buffer).__name__} to {type(allocation).__name__}"
            )
    return plan


def registered_algorithms() -> list[str]:
    """Return the names of all algorithms that are registered as ``tir.usmp.algo.<name>``."""
    return sorted(
        full_name.removeprefix(ALGORITHM_PREFIX)
        for full_name in list_global_func_names()
        if full_name.startswith(ALGORITHM_PREFIX)
    )
