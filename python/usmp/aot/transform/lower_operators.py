"""LowerOperators: scheduled operators become flat loops over typed pointers."""

from __future__ import annotations

from collections.abc import Hashable

import tvm
from tvm.ir import GlobalVar, IRModule
from tvm.ir.transform import PassContext

from usmp.analysis.integers.argument_ranges import argument_ranges
from usmp.aot.faster_schedules import with_schedules
from usmp.aot.size_parameters import has_symbolic_operators, with_size_parameters, with_size_ranges
from usmp.aot.transform.pass_buffers_as_pointers import PassBuffersAsPointers
from usmp.objects.attributes.module_attributes import SIZE_BOUNDS
from usmp.objects.schedule import FASTER_SCHEDULES_ATTR, ROW_SCHEDULE_ATTR
from usmp.passes import ModulePass
from usmp.planning.options import PLANNING_OPTION_NAMES
from usmp.planning.session_keys import context_key
from usmp.support.tvm_errors import apply_to_functions
from usmp.tir.once_for_equal import once_for_equal
from usmp.transform.define_arithmetic import DefineArithmetic
from usmp.transform.lower_to_flat_tir import FLATTEN_BUFFERS, NARROW_INDICES, TO_LOOPS
from usmp.transform.skip_padding import SkipPadding
from usmp.transform.specialize_rescaling import SpecializeRescaling
from usmp.transform.widen_small_floats import WidenSmallFloats
from usmp.transform.zero_elem_offsets import ZeroElemOffsets


@tvm.transform.module_pass(opt_level=0, name="usmp.LowerOperators")
class LowerOperators(ModulePass):
    """Lower every PrimFunc from blocks and shaped buffers to flat loops over pointers.

    Requantization by constants is specialized, integer arithmetic is defined for all operands,
    small floats are computed in float32, and padding that adds zero is skipped. A Relax `main`
    stays as it is. Faster schedules of PrimFuncs (see `usmp.objects.schedule`) are lowered, too.

    Raises
    ------
    UnsupportedModelError
        TVM cannot lower an operator; the message has its name and the reason.
    """

    reads = (*SIZE_BOUNDS, FASTER_SCHEDULES_ATTR, ROW_SCHEDULE_ATTR)
    writes = (FASTER_SCHEDULES_ATTR, ROW_SCHEDULE_ATTR)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Apply the passes in order."""
        return with_schedules(_lowered_once, mod)


def _lowered_once(mod: IRModule) -> IRModule:
    if has_symbolic_operators(mod):
        # Not cached, because bounds of the sizes are in the module.
        return _lowered(mod)
    constants = argument_ranges(mod)
    context = context_key(PassContext.current(), without=PLANNING_OPTION_NAMES)

    def depends_on(variable: GlobalVar) -> Hashable:
        known = constants[variable]
        return context, tuple(known.get(param) for param in mod[variable].params)

    return once_for_equal(_lowered, mod, depends_on)


def _lowered(mod: IRModule) -> IRModule:
    mod = ZeroElemOffsets()(mod)
    mod = apply_to_functions(TO_LOOPS, mod)
    mod = SpecializeRescaling()(mod)
    # Before simplification, because TVM's simplifier assumes that nothing overflows.
    mod = with_size_ranges(lambda m: DefineArithmetic()(WidenSmallFloats()(m)), mod)
    mod = apply_to_functions(FLATTEN_BUFFERS, mod)
    mod = with_size_parameters(lambda m: apply_to_functions(NARROW_INDICES, m), mod)
    mod = SkipPadding()(mod)
    return PassBuffersAsPointers()(mod)
