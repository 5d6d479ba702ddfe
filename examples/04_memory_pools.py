"""Place a model in two workspace memories and two constant memories, and see what goes where.

The pools are listed in order of preference, and `size_hint_bytes` is how many bytes of one may be
used: what does not fit into the small, fast memories goes to the large ones. If nothing fits, the
error says which size is enough.

    python examples/04_memory_pools.py
"""

from pathlib import Path

import usmp
from usmp import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)

MODEL = usmp.import_model(Path(__file__).parent / "digits/digits_int8.tflite")

dtcm = WorkspacePoolInfo("dtcm", ["c"], PoolInfoProperties(size_hint_bytes=600))
sram = WorkspacePoolInfo("sram", ["c"])
itcm = ConstantPoolInfo(
    "itcm", ["c"], pool_info_properties=PoolInfoProperties(size_hint_bytes=5000)
)
flash = ConstantPoolInfo("flash", ["c"])

factory = usmp.build(
    MODEL,
    workspace_memory_pools=WorkspaceMemoryPools([dtcm, sram]),
    constant_memory_pools=ConstantMemoryPools([itcm, flash]),
)
for pool in factory.interface.pools:
    print(f"{pool.name:6} {pool.size_bytes:6} bytes")

try:
    usmp.build(MODEL, workspace_memory_pools=WorkspaceMemoryPools([dtcm]))
except ValueError as error:
    print(f"With dtcm alone:\n{error}")
