"""TIR to TIR, one pass a file."""

from collections.abc import Mapping

from tvm import tirx

from usmp.objects import PoolAllocation
from usmp.transform.assign_pool_info import AssignPoolInfo
from usmp.transform.call_operator_hooks import CallOperatorHooks
from usmp.transform.choose_schedules import ChooseSchedules
from usmp.transform.convert_for_loops_to_serial import ConvertForLoopsToSerial
from usmp.transform.convert_pool_allocations_to_offsets import ConvertPoolAllocationsToOffsets
from usmp.transform.create_allocates_for_io import CreateAllocatesForIO
from usmp.transform.define_arithmetic import DefineArithmetic
from usmp.transform.lower_dynamic_allocations import LowerDynamicAllocations
from usmp.transform.lower_to_flat_tir import LowerToFlatTIR
from usmp.transform.merge_similar_functions import MergeSimilarFunctions
from usmp.transform.order_operators import OrderOperators
from usmp.transform.poison_dead_bytes import PoisonDeadBytes
from usmp.transform.skip_padding import SkipPadding
from usmp.transform.specialize_rescaling import SpecializeRescaling
from usmp.transform.stream_io import StreamIO
from usmp.transform.stream_operators import StreamOperators
from usmp.transform.unified_static_memory_planner import UnifiedStaticMemoryPlanner
from usmp.transform.widen_small_floats import WidenSmallFloats
from usmp.transform.zero_elem_offsets import ZeroElemOffsets

__all__ = [
    "AssignPoolInfo",
    "CallOperatorHooks",
    "ChooseSchedules",
    "ConvertForLoopsToSerial",
    "ConvertPoolAllocationsToOffsets",
    "CreateAllocatesForIO",
    "DefineArithmetic",
    "LowerDynamicAllocations",
    "LowerToFlatTIR",
    "MergeSimilarFunctions",
    "OrderOperators",
    "PoisonDeadBytes",
    "SkipPadding",
    "SpecializeRescaling",
    "StreamIO",
    "StreamOperators",
    "UnifiedStaticMemoryPlanner",
    "WidenSmallFloats",
    "ZeroElemOffsets",
]


# The function hides the module of the same name, which `from` imports still find.
def convert_pool_allocations_to_offsets(
    pool_allocations: Mapping[tirx.AllocBuffer, PoolAllocation],
    emit_tvmscript_printable: bool = False,
) -> ConvertPoolAllocationsToOffsets:
    """Make the pass `ConvertPoolAllocationsToOffsets`, as the function of TVM 0.18 did.

    Parameters
    ----------
    pool_allocations, emit_tvmscript_printable
        parameters of the pass.
    """
    return ConvertPoolAllocationsToOffsets(pool_allocations, emit_tvmscript_printable)
