"""The objects that all other packages share: pools, buffers to place, placements.

Names, defaults and meanings are those of TVM's USMP: RFC 0009 of apache/tvm-rfcs ("Unified Static
Memory Planning", sections "Guide-level explanation" for pools and "Reference-level explanation"
for buffers). Every size, offset and alignment is in bytes.

Pools, buffers and placements live in C++ (``src/usmp/objects.h``) and are read-only here, except
for :meth:`BufferInfo.set_conflicts` and :meth:`BufferInfo.set_overlaps`.
"""

# Import all of TVM, because an import of a submodule does not wait for another thread's import.
import tvm  # noqa: F401

from usmp.objects.arguments.executor import Executor
from usmp.objects.arguments.runtime import Runtime
from usmp.objects.buffers import BufferInfo, BufferInfoAnalysis, LiveRange
from usmp.objects.memory_plan import (
    AccessEstimate,
    MemoryPlan,
    PlacedBuffer,
    PlannedOperator,
    PoolBound,
)
from usmp.objects.placed_state import PlacedState
from usmp.objects.placements import AllocatedPoolInfo, PoolAllocation
from usmp.objects.pools import (
    ConstantInfo,
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.objects.state_info import StateInfo
from usmp.objects.tensor_info import TensorInfo
from usmp.plain.buffer_place import BufferInfoKind
from usmp.plain.state_layout import StateLayout
from usmp.support.errors import UnsupportedModelError

__all__ = [
    "AccessEstimate",
    "AllocatedPoolInfo",
    "BufferInfo",
    "BufferInfoAnalysis",
    "BufferInfoKind",
    "ConstantInfo",
    "ConstantMemoryPools",
    "ConstantPoolInfo",
    "Executor",
    "LiveRange",
    "MemoryPlan",
    "PlacedBuffer",
    "PlacedState",
    "PlannedOperator",
    "PoolAllocation",
    "PoolBound",
    "PoolInfo",
    "PoolInfoProperties",
    "Runtime",
    "StateInfo",
    "StateLayout",
    "TensorInfo",
    "UnsupportedModelError",
    "WorkspaceMemoryPools",
    "WorkspacePoolInfo",
]
