"""What `import usmp` offers; loading it loads TVM and registers the pass options `tir.usmp.*`."""

from usmp import _ffi as _ffi
from usmp.build import AOTExecutorFactoryModule, build
from usmp.export import export_model_library_format
from usmp.include import get_include
from usmp.objects import (
    AllocatedPoolInfo,
    BufferInfo,
    BufferInfoAnalysis,
    ConstantInfo,
    ConstantMemoryPools,
    ConstantPoolInfo,
    Executor,
    PoolAllocation,
    PoolInfo,
    PoolInfoProperties,
    Runtime,
    StateInfo,
    UnsupportedModelError,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.relax import import_model
from usmp.runtime import load_archive

__all__ = [
    "AOTExecutorFactoryModule",
    "AllocatedPoolInfo",
    "BufferInfo",
    "BufferInfoAnalysis",
    "ConstantInfo",
    "ConstantMemoryPools",
    "ConstantPoolInfo",
    "Executor",
    "PoolAllocation",
    "PoolInfo",
    "PoolInfoProperties",
    "Runtime",
    "StateInfo",
    "UnsupportedModelError",
    "WorkspaceMemoryPools",
    "WorkspacePoolInfo",
    "build",
    "export_model_library_format",
    "get_include",
    "import_model",
    "load_archive",
]
