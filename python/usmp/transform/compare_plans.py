"""Which of two modules needs less memory?"""

from __future__ import annotations

import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.algorithms import DEFAULT_ALGORITHM
from usmp.analysis import create_array_buffer_info
from usmp.analysis.stmt_pool_allocations import is_constant_info
from usmp.objects import BufferInfo
from usmp.objects.buffer_problem import problem_of
from usmp.transform.buffers_to_plan import buffers_to_plan
from usmp_solver import ALGORITHMS, solve


def is_better_planned(mod: IRModule, other: IRModule) -> bool:
    """Whether the plan of `mod` is smaller than that of `other`, a module with the same pools.

    Both are planned with the options of the current PassContext (see `planned_peaks`). The plan
    with the lower peak in the least preferred workspace pool is smaller; if these are equal, the
    pool before it decides.

    Raises
    ------
    ValueError: the planner refuses one of the modules.
    """
    here, there = planned_peaks(mod), planned_peaks(other)
    return here is not None and (there is None or here < there)


def planned_peaks(mod: IRModule) -> list[int] | None:
    """The peaks of the workspace pools in bytes, the least preferred first; None if no plan fits.

    Planned as the current PassContext says, but for a time budget; in the place of an algorithm
    that is none of the solver's, with the default.

    Raises
    ------
    ValueError: the planner refuses the module.
    """
    buffers = _workspace_buffers(mod)
    if not buffers:
        return []
    solution = solve(problem_of(buffers), algorithm=_algorithm())
    if not solution.has_plan:
        return None
    return [solution.peaks[pool.name] for pool in reversed(solution.problem.pools)]


def _algorithm() -> str:
    config = PassContext.current().config
    name = str(config.get("tir.usmp.algorithm", DEFAULT_ALGORITHM))
    is_the_solvers = name in ALGORITHMS and "tir.usmp.custom_algorithm" not in config
    return name if is_the_solvers and name != "exact" else DEFAULT_ALGORITHM


def _workspace_buffers(mod: IRModule) -> list[BufferInfo]:
    _, analysis = buffers_to_plan(_with_targets(mod), PassContext.current())
    buffers = create_array_buffer_info(analysis.buffer_info_stmts)
    return [buffer for buffer in buffers if not is_constant_info(buffer)]


def _with_targets(mod: IRModule) -> IRModule:
    """Which target a PrimFunc is for decides on pools; one without is taken to be for target c."""
    bound = IRModule(mod.functions, attrs=mod.attrs)
    for variable, func in mod.functions.items():
        if isinstance(func, tirx.PrimFunc) and "target" not in (func.attrs or {}):
            bound.update_func(variable, func.with_attr("target", tvm.target.Target("c")))
    return bound
