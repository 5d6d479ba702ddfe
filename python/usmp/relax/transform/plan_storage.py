"""PlanStorage: one storage for each function and memory, in which tensors get offsets."""

from __future__ import annotations

from functools import partial

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.objects.attributes.module_attributes import LOWER_BOUNDS_ATTR, UPPER_BOUNDS_ATTR
from usmp.objects.attributes.operator_attributes import EXTERN_KERNELS_ATTR
from usmp.passes import ModulePass
from usmp.planning.options import planning_options
from usmp.relax.storage.plan_module import StorageOptions, plan_module
from usmp.relax.storage.storage_plan import STORAGE_PLAN_ATTR
from usmp.support.process.paused_collection import paused_collection
from usmp_solver import solve
from usmp_solver.solver import ALGORITHMS

WORK_BUDGET = 20_000_000
"""Solver steps for one memory of one function: about a tenth of a second."""


@tvm.transform.module_pass(opt_level=0, name="usmp.PlanStorage")
class PlanStorage(ModulePass):
    """Give the tensors of each Relax function offsets in a storage that the function allocates.

    It replaces `relax.transform.StaticPlanBlockMemory`: run it after `CallTIRRewrite`, before
    `LowerAllocTensor` and `KillAfterLastUse`. There is one storage for each device and scope. An
    output may overlap an input that dies at its operator, as far as the operator's TIR proves it
    safe. Returned tensors keep their own allocations. TVM's pass plans the rest: tensors passed to
    functions other than PrimFuncs, textures, and unbounded sizes. Bounds of symbolic sizes are in
    the function's attribute `tir_var_upper_bound`. No function allocates more bytes than with TVM's
    pass, unless TVM's plan cannot run. `usmp.storage_plan` returns the plan.

    Parameters
    ----------
    algorithm
        one of `usmp_solver.ALGORITHMS`; by default the option ``tir.usmp.algorithm``.
    work_budget
        solver steps after which "auto" and "exact" return the best plan so far, for each memory of
        each function. The plan is the same on every machine.
    overlap
        whether outputs may overlap inputs; by default unless the pass
        ``OverlapInputsAndOutputs`` is disabled.
    require_bounds
        whether a tensor of unbounded size is an error.

    Raises
    ------
    ValueError
        the algorithm is unknown, the budget or a bound of a size is not positive, or a required
        bound is missing.
    """

    reads = (EXTERN_KERNELS_ATTR, STORAGE_PLAN_ATTR, UPPER_BOUNDS_ATTR, LOWER_BOUNDS_ATTR)
    writes = (STORAGE_PLAN_ATTR,)

    def __init__(
        self,
        algorithm: str | None = None,
        work_budget: int = WORK_BUDGET,
        overlap: bool | None = None,
        require_bounds: bool = False,
    ) -> None:
        if algorithm is not None and algorithm not in ALGORITHMS:
            raise ValueError(f'unknown algorithm "{algorithm}"; known: {", ".join(ALGORITHMS)}')
        if work_budget < 1:
            raise ValueError(f"work_budget must be at least 1, not {work_budget}")
        self.algorithm = algorithm
        self.work_budget = work_budget
        self.overlap = overlap
        self.require_bounds = require_bounds

    def transform_module(self, mod: IRModule, _: PassContext) -> IRModule:
        """Plan all functions."""
        options = planning_options()
        solver = partial(
            solve, algorithm=self.algorithm or options.algorithm, work_budget=self.work_budget
        )
        overlap = options.overlap if self.overlap is None else self.overlap
        with paused_collection():
            return plan_module(mod, StorageOptions(solver, overlap, self.require_bounds))
