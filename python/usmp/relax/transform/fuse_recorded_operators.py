"""FuseRecordedOperators: fused PrimFuncs have the records of what they were fused from."""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm import relax, tirx
from tvm.ir import Call, IRModule
from tvm.ir.transform import Pass, PassContext, Sequential

from usmp.names import GROUPS
from usmp.objects.attributes import FUSION_ATTR
from usmp.ops.operator_steps import OperatorStep, steps_of, with_steps
from usmp.ops.record import Steps, operators_of, with_operators
from usmp.passes import ModulePass, apply_passes
from usmp.planning.options import PlanningOptions, planning_options
from usmp.planning.schedules import is_within, memory_limit
from usmp.planning.session import planning_session
from usmp.planning.streaming.lower_bound import with_needs_of_forms
from usmp.relax.grouped_spans import with_grouped_spans
from usmp.relax.static_shapes import main_function
from usmp.relax.symbolic_sizes import size_variables
from usmp.relax.transform.groups import with_groups_split
from usmp.support.errors import UnsupportedModelError
from usmp.tir.nodes import nodes_of
from usmp.tir.spans import functions_with_spans


@tvm.transform.module_pass(opt_level=0, name="usmp.FuseRecordedOperators")
class FuseRecordedOperators(ModulePass):
    """TVM's FuseOps and FuseTIR, and the records of what was fused.

    FuseOps makes a Relax function of the operators that go together, and FuseTIR one PrimFunc of
    that, without the attributes of those that it comes from. The attributes `quantized_operators`
    and `operator_steps` of a fused PrimFunc have the steps of those that it computes, in order.

    All that a fused PrimFunc reads is there at once, where single operators let one tensor die
    after the other. So some of those that read more than two large tensors, as a sum of products,
    become several, where by an estimate fewer bytes are live then; results are the same, to the
    bit. Both forms are planned: the fused one is taken if it is within what `tir.usmp.optimize`
    allows (see `usmp.transform.ChooseSchedules`), as it takes fewer instructions. The attribute
    `fusion` of the module says what was compared. A module that has it already is fused as a whole,
    and keeps it if some operators could be split.

    Parameters
    ----------
    to_main
        passes from the result to `__tvm_main__`, by which the memory of both forms is compared;
        without them everything is fused.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """

    def __init__(self, to_main: Sequence[Pass] = ()) -> None:
        self.to_main = list(to_main)

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Fuse the operators of `main`."""
        grouped = relax.transform.FuseOps()(mod)
        fused = fuse_grouped_operators(with_grouped_spans(mod, grouped))
        # How many elements a tensor has must be known.
        if not self.to_main or size_variables(main_function(mod)):
            return fused
        options = planning_options(context.config)
        if not options.shares_memory:
            return fused
        is_told = FUSION_ATTR in (fused.attrs or {})
        divided = with_groups_split(grouped, options)
        if divided is grouped:
            return fused.without_attr(FUSION_ATTR) if is_told else fused
        if is_told:
            return fused
        split = fuse_grouped_operators(with_grouped_spans(mod, divided))
        return self._smaller(fused, split, options)

    def _smaller(self, fused: IRModule, split: IRModule, options: PlanningOptions) -> IRModule:
        """The fused module if memory allows it, or else the split one."""
        to_main = Sequential(self.to_main, name="usmp.CompareFusion")
        with planning_session(options.deadline()) as session:
            if not session.has_time(GROUPS):
                return fused
            try:
                forms = [apply_passes(to_main, fused)]
                whole = session.peaks(forms[0], options)
                if not session.has_time(GROUPS):
                    return fused
                forms.append(apply_passes(to_main, split))
                parts = session.peaks(forms[1], options)
            except (UnsupportedModelError, ValueError):
                # What is refused is refused where operators are lowered; the error is said there.
                return fused
            if whole is None and parts is None:
                return with_needs_of_forms(session, fused, forms, options)
        if parts is None:
            return fused
        fits = whole is not None and is_within(whole, memory_limit(options.optimize, parts))
        said = {
            "split": not fits,
            "split_peak_bytes": sum(parts),
            **({} if whole is None else {"fused_peak_bytes": sum(whole)}),
        }
        return (fused if fits else split).with_attr(FUSION_ATTR, said)


def fuse_grouped_operators(grouped: IRModule) -> IRModule:
    """The module with one PrimFunc for each function that TVM's FuseOps made, or that is like
    these: a primitive function, which calls the PrimFuncs that go together."""
    called = {
        str(variable.name_hint): _called(grouped, func)
        for variable, func in grouped.functions.items()
        if isinstance(func, relax.Function) and func.attrs and "Primitive" in func.attrs
    }
    fused = relax.transform.FuseTIR()(grouped)
    recorded = IRModule(fused.functions, attrs=fused.attrs)
    for variable, func in fused.functions.items():
        # FuseTIR calls the PrimFunc as the function was called.
        names = called.get(str(variable.name_hint))
        if names is not None and isinstance(func, tirx.PrimFunc):
            func = with_operators(func, _records(grouped, names))
            recorded.update_func(variable, with_steps(func, _steps(grouped, names)))
    return functions_with_spans(grouped, recorded)


def _called(mod: IRModule, function: relax.Function) -> list[str]:
    """The names of the PrimFuncs that a function calls, in order."""
    return [
        str(call.args[0].name_hint)
        for block in function.body.blocks
        for binding in block.bindings
        for call in nodes_of(binding.value, Call)
        if getattr(call.op, "name", None) == "relax.call_tir"
    ]


def _records(mod: IRModule, names: list[str]) -> Steps:
    return tuple(step for name in names for step in operators_of(mod[name]))


def _steps(mod: IRModule, names: list[str]) -> list[OperatorStep]:
    return [step for name in names for step in steps_of(mod[name], name)]
