"""Plan the memory of hand-written TIR, and print where each buffer is placed.

The main function calls four operators and has three buffers of 64 bytes. `AssignPoolInfo` lists for
each buffer the pools that may hold it; `UnifiedStaticMemoryPlanner` chooses a pool and an offset.
`relu` writes over its input. `flip` cannot: it would overwrite what it has yet to read.

    python examples/01_first_pass.py
"""

import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp import WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.transform import AssignPoolInfo, UnifiedStaticMemoryPlanner


@I.ir_module
class Net:
    @T.prim_func
    def flip(data: T.Buffer((64,), "int8"), out: T.Buffer((64,), "int8")):
        for i in range(64):
            out[i] = data[63 - i]

    @T.prim_func
    def relu(data: T.Buffer((64,), "int8"), out: T.Buffer((64,), "int8")):
        for i in range(64):
            out[i] = T.max(data[i], T.int8(0))

    @T.prim_func
    def __tvm_main__(image: T.Buffer((64,), "int8"), result: T.Buffer((64,), "int8")):
        positive = T.alloc_buffer((64,), "int8")
        flipped = T.alloc_buffer((64,), "int8")
        clipped = T.alloc_buffer((64,), "int8")
        Net.relu(image, positive)
        Net.flip(positive, flipped)
        Net.relu(flipped, clipped)
        Net.flip(clipped, result)


sram = WorkspacePoolInfo("sram", ["c"])

mod = tirx.transform.BindTarget(tvm.target.Target("c"))(Net)
mod = mod.with_attr("workspace_memory_pools", WorkspaceMemoryPools([sram]))
mod = AssignPoolInfo()(mod)
planned = UnifiedStaticMemoryPlanner()(mod)

print(planned["__tvm_main__"].script())
for buffer in planned.attrs["memory_plan"].buffers:
    place = f"{buffer.pool_name}[{buffer.byte_offset}]"
    print(f"{buffer.name:8}  {place:8}  {' '.join(buffer.overlaps)}")
