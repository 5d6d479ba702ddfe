"""An independent check of the pools of inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping

from tvm import tirx
from tvm.ir import IRModule

from usmp.objects import BufferInfo, PoolAllocation
from usmp.objects.attributes.annotations import (
    CONSTANT_DATA_ATTR,
    INPUT_TENSOR_ATTR,
    OUTPUT_TENSOR_ATTR,
    STREAMED_TENSOR_ATTR,
)
from usmp.objects.attributes.module_attributes import (
    IO_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)


def check_io_places(
    mod: IRModule,
    stmts: Mapping[BufferInfo, tirx.AllocBuffer],
    plan: Mapping[BufferInfo, PoolAllocation],
) -> None:
    """Check that each pool's `io` permits its buffers, and that inputs and outputs lie in the I/O
    pool if there is one.

    This check ignores candidate pools and shares no code with `usmp.transform.AssignPoolInfo` or
    the algorithms, so that it finds their faults.

    Parameters
    ----------
    mod
        the module, with its pools and maybe the I/O pool as attributes.
    stmts
        the allocation of each buffer.
    plan
        the place of each buffer; buffers without a place are ignored.

    Raises
    ------
    ValueError
        A buffer is in a pool that it may not lie in; the message names both.
    """
    listed = WORKSPACE_MEMORY_POOLS_ATTR.of(mod)
    uses = {str(p.pool_name): str(p.io) for p in (listed.pools if listed is not None else ())}
    io_pool = IO_MEMORY_POOL_ATTR.of(mod)
    for buffer, stmt in stmts.items():
        allocation = plan.get(buffer)
        if allocation is None or CONSTANT_DATA_ATTR.is_on(stmt):
            continue
        name, own = str(allocation.pool_info.pool_name), str(allocation.pool_info.io)
        forbidden, role = "only", "neither an input nor an output"
        io = (INPUT_TENSOR_ATTR, OUTPUT_TENSOR_ATTR, STREAMED_TENSOR_ATTR)
        if any(annotation.is_on(stmt) for annotation in io):
            forbidden, role = "no", "an input or output"
            if io_pool is not None and name != str(io_pool.pool_name):
                raise ValueError(
                    f'USMP plan check: buffer "{buffer.name_hint}", {role}, is in pool "{name}", '
                    f'not in the I/O pool "{io_pool.pool_name}"'
                )
        if forbidden in (own, uses.get(name)):
            raise ValueError(
                f'USMP plan check: buffer "{buffer.name_hint}" is in pool "{name}", which has '
                f"io={forbidden}, but is {role}"
            )
