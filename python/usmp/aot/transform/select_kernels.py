"""SelectKernels: operators are replaced by kernels for a core."""

from __future__ import annotations

from dataclasses import dataclass

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Call, GenericConst, GlobalVar, IRModule

from usmp.aot.kernel_checks.kernel_body import KernelBody, ReplacedOperator, bodies_of
from usmp.aot.kernel_checks.verify_kernels import verify_kernels
from usmp.names import VERIFY_KERNELS
from usmp.objects.attributes.annotations import CONSTANT_DATA_ATTR
from usmp.objects.attributes.operator_attributes import OPERATORS_ATTR
from usmp.objects.schedule import FASTER_SCHEDULES_ATTR, ROW_SCHEDULE_ATTR, SCHEDULE_ATTR
from usmp.objects.target.cores import PORTABLE, Core
from usmp.ops.emit import constant
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.kernel import Kernel
from usmp.ops.kernels.select import select_kernel
from usmp.ops.records.attributes import OPERATOR_ATTR
from usmp.passes import ModulePass
from usmp.planning.options import planning_options
from usmp.support.model_operators import titles
from usmp.tir.identity import identity
from usmp.tir.model_operator import operators_in
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name


@tvm.transform.module_pass(opt_level=0, name="usmp.SelectKernels")
class SelectKernels(ModulePass):
    """Replace operators by kernels with tiles and tensor intrinsics, and lay out their constants.

    Results stay bit-identical. Operators without a kernel, or with weights that are no constants,
    stay as they are. A kernel has the schedule that takes the least memory; others are in its
    attribute `faster_schedules` (see `ChooseSchedules`).

    Parameters
    ----------
    core
        the core to generate code for.

    Raises
    ------
    FaultError
        with `tir.usmp.debug=verify_kernels`: on random or extreme inputs, a kernel computes other
        bytes than its operator; see `usmp.aot.kernel_checks.verify_kernels`.
    ValueError
        with `tir.usmp.debug=verify_kernels`: this host has no C compiler.

    """

    reads = (
        *(CONSTANT_DATA_ATTR, OPERATORS_ATTR, SCHEDULE_ATTR, FASTER_SCHEDULES_ATTR),
        *(ROW_SCHEDULE_ATTR, OPERATOR_ATTR),
    )
    writes = (SCHEDULE_ATTR, FASTER_SCHEDULES_ATTR, ROW_SCHEDULE_ATTR)

    def __init__(self, core: Core = PORTABLE) -> None:
        self.core = core

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Replace calls in all Relax functions."""
        selected = _selected(mod, self.core)
        if not selected:
            return mod
        if VERIFY_KERNELS in planning_options().debug:
            verify_kernels(_bodies(selected, self.core))
        kernels = {identity(one.call): one.kernel for one in selected}
        calls = _calls_of_operators(mod)
        unused = {call.args[0] for call in calls if identity(call) in kernels}
        unused -= {call.args[0] for call in calls if identity(call) not in kernels}
        kept = {var: func for var, func in mod.functions.items() if var not in unused}
        builder = relax.BlockBuilder(IRModule(kept, attrs=mod.attrs))

        def replace(call: Call) -> Call:
            kernel = kernels.get(identity(call))
            return call if kernel is None else _call_of(builder, call, kernel)

        relax_functions = {v: f for v, f in kept.items() if isinstance(f, relax.Function)}
        replaced = {
            variable: tvm_ffi.structural_map(func, (Call, replace))
            for variable, func in relax_functions.items()
        }
        result = builder.get()
        for variable, func in replaced.items():
            result.update_func(variable, func)
        return result.with_attrs(mod.attrs) if mod.attrs else result


def _calls_of_operators(mod: IRModule) -> list[Call]:
    return [
        call
        for func in mod.functions.values()
        if isinstance(func, relax.Function)
        for call in nodes_of(func.body, Call)
        if op_name(call).startswith("relax.call_tir")
    ]


@dataclass(frozen=True, eq=False)
class _Selected:
    """A call of an operator, and the kernel that replaces it."""

    call: Call
    operator: OperatorCall
    kernel: Kernel


def _selected(mod: IRModule, core: Core) -> list[_Selected]:
    """Select kernels for the calls of a module."""
    selected = []
    for call in _calls_of_operators(mod):
        is_plain = call.op.name == "relax.call_tir" and len(call.args) == 2
        func = mod[call.args[0]]
        has_arguments = is_plain and isinstance(call.args[1], relax.Tuple)
        if not has_arguments or not isinstance(func, tirx.PrimFunc):
            continue
        constants = tuple(
            field.value.numpy() if isinstance(field, GenericConst) else None
            for field in call.args[1].fields
        )
        operator = OperatorCall(func, constants)
        kernel = select_kernel(operator, core)
        if kernel is not None:
            selected.append(_Selected(call, operator, kernel))
    return selected


def _bodies(selected: list[_Selected], core: Core) -> list[KernelBody]:
    """Return all bodies of kernels, with the operators that they replace."""
    bodies = []
    for one in selected:
        operators = [operator.as_json() for operator in operators_in(one.call.span)]
        title = titles(operators) or f"PrimFunc {one.call.args[0].name_hint}"
        replaced = ReplacedOperator(title, one.operator.func, one.operator.constants)
        bodies += bodies_of(replaced, core.name, one.kernel)
    return bodies


def _call_of(builder: relax.BlockBuilder, call: Call, kernel: Kernel) -> Call:
    fields = call.args[1].fields
    arguments = [
        fields[argument] if isinstance(argument, int) else constant(argument)
        for argument in kernel.arguments
    ]
    variable: GlobalVar = builder.add_func(kernel.func, str(call.args[0].name_hint))
    return builder.normalize(relax.call_tir(variable, relax.Tuple(arguments), call.ty_args[0]))
