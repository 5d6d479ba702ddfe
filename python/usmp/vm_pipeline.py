"""TVM's passes for its virtual machine, with `PlanStorage` for the storage of Relax functions."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import tvm
from tvm import relax
from tvm.ir import IRModule
from tvm.ir.transform import Pass, PassContext
from tvm.target import Target

from usmp.passes import ModulePass, apply_passes
from usmp.relax.transform.plan_storage import WORK_BUDGET, PlanStorage

_REPLACED = "StaticPlanBlockMemory"
_STAGES = ("library_dispatch", "legalize", "dataflow_lower", "finalize")
_VERSIONS = "0.27"
"""Versions of TVM with the expected pipelines."""


def get_vm_pipeline(
    algorithm: str | None = None,
    work_budget: int = WORK_BUDGET,
    overlap: bool | None = None,
    require_bounds: bool = False,
) -> Pass:
    """Return the default Relax pipeline of the target, with `PlanStorage`.

    Use it as ``tvm.compile(mod, target, relax_pipeline=usmp.get_vm_pipeline())``, or by name,
    without options: ``relax_pipeline="usmp"``. `PlanStorage` replaces `StaticPlanBlockMemory`; the
    other passes are those of ``relax.get_default_pipeline(target)``.

    Parameters
    ----------
    algorithm, work_budget, overlap, require_bounds
        see `usmp.relax.transform.PlanStorage`.

    Returns
    -------
    Pass
        A pass for the target ``Target.current()``, which `tvm.compile` sets.

    Raises
    ------
    ValueError
        An option is wrong. When the pipeline runs: there is no target, or TVM has no pipeline for
        it that plans storage.
    """
    return VMPipeline(PlanStorage(algorithm, work_budget, overlap, require_bounds))


@tvm.transform.module_pass(opt_level=0, name="usmp.VMPipeline")
class VMPipeline(ModulePass):
    """TVM's default pipeline for a target, with another pass that plans storage.

    Parameters
    ----------
    planner
        the pass that plans storage.
    """

    def __init__(self, planner: Pass) -> None:
        self.planner = planner

    def transform_module(self, mod: IRModule, _: PassContext) -> IRModule:
        """Apply all passes."""
        target = Target.current(allow_none=True)
        if target is None:
            raise ValueError(
                "usmp.get_vm_pipeline: there is no target; give tvm.compile one, or use "
                "`with target:`"
            )
        passes = with_planner(default_passes(target), self.planner)
        return apply_passes(tvm.transform.Sequential(passes, name="usmp.get_vm_pipeline"), mod)


def default_passes(target: Target) -> list[Pass]:
    """Return the passes of TVM's default pipeline for a target, in their order.

    Raises
    ------
    ValueError
        TVM has no pipeline for the target, or this TVM does not list its passes.
    """
    # Raise TVM's error for targets without a pipeline.
    relax.get_default_pipeline(target)
    name = f"tvm.relax.backend.{_backend_of(target)}.pipeline"
    try:
        module = import_module(name)
        stages = [getattr(module, f"{stage}_passes") for stage in _STAGES]
    except (ImportError, AttributeError) as error:
        raise _other_version(f"{name} does not list its passes") from error
    # Some lists of passes read the current target.
    with target:
        return [p for passes in stages for p in passes(target)]


def _backend_of(target: Target) -> str:
    """Return the package of a target's pipeline, as `relax.get_default_pipeline` chooses it.
    `tvm.relax.pipeline` also has lists of passes, but the one of `cuda` fails."""
    kind = str(target.kind.name)
    if kind in ("cuda", "rocm"):
        return kind
    if kind == "llvm":
        return "cpu_generic"
    return "adreno" if kind == "opencl" and "adreno" in target.keys else "gpu_generic"


def with_planner(passes: Sequence[Pass], planner: Pass) -> list[Pass]:
    """Return the passes with a planner in place of `StaticPlanBlockMemory`.

    Raises
    ------
    ValueError
        `StaticPlanBlockMemory` is missing, or occurs more than once.
    """
    names = [str(p.info.name) for p in passes]
    if names.count(_REPLACED) != 1:
        raise _other_version(
            f"the default pipeline runs {_REPLACED} {names.count(_REPLACED)} times"
        )
    at = names.index(_REPLACED)
    return [*passes[:at], planner, *passes[at + 1 :]]


def _other_version(difference: str) -> ValueError:
    return ValueError(
        f"usmp.get_vm_pipeline works with TVM {_VERSIONS}; in this one, {tvm.__version__}, "
        f"{difference}. Put usmp.relax.transform.PlanStorage() into a pipeline of your own, or "
        f"install apache-tvm=={_VERSIONS}.*"
    )
