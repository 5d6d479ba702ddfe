"""Unified static memory planning for Apache TVM.

`usmp.build` compiles a Relax module to plain C with every byte of memory planned. Importing this
package loads no TVM; each name is loaded when it is first used. TVM knows the pass options
`tir.usmp.*`, whether TVM or this package is imported first.
"""

from __future__ import annotations

import sys

# typing is not imported, so that the command line soon handles signals.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from usmp._public import *  # noqa: F403

__version__ = "0.1.0"

__all__ = [
    "CANDIDATE_MEMORY_POOL_ATTR",
    "AOTExecutorFactoryModule",
    "AllocatedPoolInfo",
    "BufferInfo",
    "BufferInfoAnalysis",
    "ConstantInfo",
    "ConstantMemoryPools",
    "ConstantPoolInfo",
    "DoesNotFitError",
    "Executor",
    "Explanation",
    "FunctionStorage",
    "MemoryStorage",
    "PoolAllocation",
    "PoolInfo",
    "PoolInfoProperties",
    "Runtime",
    "StateInfo",
    "StateLayout",
    "UnsupportedInModelLibraryFormatError",
    "UnsupportedModelError",
    "WorkspaceMemoryPools",
    "WorkspacePoolInfo",
    "build",
    "compiler_lock",
    "explain",
    "export_model_library_format",
    "get_aot_pipeline",
    "get_include",
    "get_vm_pipeline",
    "import_model",
    "load_archive",
    "storage_plan",
    "use_workspace_io_is_enabled",
]

_RENAMED = {"get_pipeline": "get_aot_pipeline", "pipeline": "get_vm_pipeline"}
"""New name of each public name of the previous release."""

# Hide the function from type checkers, which would accept any name of this package otherwise.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return a public name, or a module of this package, when it is first used."""
        if name == "get_include":
            # Load it without TVM, which takes seconds, because builds of C++ call it often.
            from usmp.include import get_include

            return get_include
        if name in __all__:
            from usmp import _public

            globals().update({public: getattr(_public, public) for public in __all__})
            return globals()[name]
        if name in _RENAMED:
            from usmp.support.renamed import warn_renamed

            # Two levels up is the code that reads the attribute.
            warn_renamed(f"{__name__}.{name}", f"{__name__}.{_RENAMED[name]}", stacklevel=3)
            return __getattr__(_RENAMED[name])
        reason = ""
        if not name.startswith("__"):
            from importlib import import_module

            try:
                return import_module(f"{__name__}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{__name__}.{name}":
                    raise
            from usmp.tvm018 import row_of_attribute

            row = row_of_attribute(name)
            reason = f": {row.sentence()}" if row else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{reason}")


def __dir__() -> list[str]:
    """Return the names of this package, loaded or not."""
    from pkgutil import iter_modules

    # Leave out the C++ library, which Python takes for a module.
    names = (module.name for module in iter_modules(__path__))
    modules = (name for name in names if not name.startswith(("_", "lib")))
    return sorted({*globals(), *__all__, *modules})


def _register() -> None:
    """Register this package with TVM."""
    from usmp.registration import register

    register()


# TVM calls `register` at the end of its import. Do not import modules of TVM while another thread
# loads it, because they would be half loaded.
_tvm = sys.modules.get("tvm")
if _tvm is not None and not getattr(_tvm.__spec__, "_initializing", False):
    _register()
else:
    from usmp.support import WHEN_TVM_IS_LOADED

    # TVM can be told to load no extensions, and does not call `register` then.
    WHEN_TVM_IS_LOADED.append(_register)
    del WHEN_TVM_IS_LOADED
del _tvm
