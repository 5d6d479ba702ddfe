"""The public names of this package, with their modules; loading them loads TVM."""

from usmp import _ffi as _ffi
from usmp.algorithms import DoesNotFitError as DoesNotFitError
from usmp.executor_factory import AOTExecutorFactoryModule as AOTExecutorFactoryModule
from usmp.build_module import build as build
from usmp.explanation import Explanation as Explanation, explain as explain
from usmp.export_archive import export_model_library_format as export_model_library_format
from usmp.include import get_include as get_include
from usmp.objects import (
    AllocatedPoolInfo as AllocatedPoolInfo,
    BufferInfo as BufferInfo,
    BufferInfoAnalysis as BufferInfoAnalysis,
    ConstantInfo as ConstantInfo,
    ConstantMemoryPools as ConstantMemoryPools,
    ConstantPoolInfo as ConstantPoolInfo,
    Executor as Executor,
    PoolAllocation as PoolAllocation,
    PoolInfo as PoolInfo,
    PoolInfoProperties as PoolInfoProperties,
    Runtime as Runtime,
    StateInfo as StateInfo,
    StateLayout as StateLayout,
    UnsupportedModelError as UnsupportedModelError,
    WorkspaceMemoryPools as WorkspaceMemoryPools,
    WorkspacePoolInfo as WorkspacePoolInfo,
)
from usmp.objects.attributes.annotations import (
    CANDIDATE_MEMORY_POOL_ATTR as CANDIDATE_MEMORY_POOL_ATTR,
)
from usmp.planning.options import use_workspace_io_is_enabled as use_workspace_io_is_enabled
from usmp.frontend import import_model as import_model
from usmp.aot_pipeline import get_aot_pipeline as get_aot_pipeline
from usmp.runtime import load_archive as load_archive
from usmp.relax.storage.storage_plan import (
    FunctionStorage as FunctionStorage,
    MemoryStorage as MemoryStorage,
    storage_plan as storage_plan,
)
from usmp.support.process.compiler_lock import compiler_lock as compiler_lock
from usmp.vm_pipeline import get_vm_pipeline as get_vm_pipeline

UnsupportedInModelLibraryFormatError = UnsupportedModelError
"""TVM 0.18's name of the error for a model that cannot be compiled or archived."""
