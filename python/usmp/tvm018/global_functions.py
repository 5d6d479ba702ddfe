"""Global functions of TVM 0.18's planner, for `tvm.get_global_func`.

Mapped functions are registered under their old names; `to` is the function that they call.
"""

from __future__ import annotations

from usmp.tvm018.old_name import OldName, mapped, refused

_CALLS = "it calls {to}, with the same arguments"

_PLANNER = {
    "tir.transform.UnifiedStaticMemoryPlanner": "usmp.transform.UnifiedStaticMemoryPlanner",
    "tir.transform.ConvertForLoopsToSerial": "usmp.transform.ConvertForLoopsToSerial",
    "tir.usmp.transform.AssignPoolInfo": "usmp.transform.AssignPoolInfo",
    "tir.usmp.transform.CreateAllocatesForIO": "usmp.transform.CreateAllocatesForIO",
    "tir.usmp.transform.ConvertPoolAllocationsToOffsets": (
        "usmp.transform.ConvertPoolAllocationsToOffsets"
    ),
    "tir.usmp.analysis.extract_buffer_info": "usmp.analysis.extract_buffer_info",
    "tir.usmp.CreateArrayBufferInfo": "usmp.analysis.create_array_buffer_info",
    "tir.usmp.AssignStmtPoolAllocations": "usmp.analysis.assign_stmt_pool_allocations",
    "tir.usmp.BufferInfo": "usmp.BufferInfo",
    "tir.usmp.BufferInfoSetConflicts": "usmp.BufferInfo.set_conflicts",
    "tir.usmp.BufferInfoAnalysis": "usmp.BufferInfoAnalysis",
    "tir.usmp.PoolAllocation": "usmp.PoolAllocation",
    "tir.analysis.calculate_workspace_bytes": "usmp.analysis.calculate_workspace_bytes",
    "tir.analysis.calculate_constant_bytes": "usmp.analysis.calculate_constant_bytes",
}

_POOLS = (
    "PoolInfoProperties",
    "WorkspacePoolInfo",
    "ConstantPoolInfo",
    "ConstantInfo",
    "WorkspaceMemoryPools",
    "ConstantMemoryPools",
    "AllocatedPoolInfo",
)

GLOBAL_FUNCTIONS: tuple[OldName, ...] = (
    *(mapped(name, to, _CALLS.format(to=to)) for name, to in _PLANNER.items()),
    *(mapped(f"ir.{n}", f"usmp.{n}", _CALLS.format(to=f"usmp.{n}")) for n in _POOLS),
    refused(
        "runtime.InterfaceCCreate",
        "usmp.build prints the header from the planned module; read it in factory.header",
    ),
)
