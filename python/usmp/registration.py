"""The registration of this package with TVM: pass options, functions, algorithms, a pipeline.

Only this module registers names, and only `usmp` itself imports it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

from usmp.names import ALGORITHM_PREFIX, ALGORITHMS, PASS_OPTIONS
from usmp.support.builtin_functions import BUILTIN_FUNCTIONS
from usmp.support.distribution import load_library
from usmp.tvm018 import PASS_CONFIGS
from usmp.tvm018.global_functions import GLOBAL_FUNCTIONS
from usmp.tvm018.old_name import REFUSED, OldName
from usmp.tvm018.pass_options import RENAMED_CONFIGS

PIPELINE = "usmp"
"""The name of `usmp.get_vm_pipeline()` among TVM's pipelines."""


def register() -> None:
    """Register the pass options, `tir.usmp.*` and those of TVM 0.18, the algorithms
    `tir.usmp.algo.<name>`, the global functions of TVM 0.18 and the pipeline `usmp`. Further calls
    change nothing.

    TVM calls this function at the end of its import, as this package's entry point in the group
    "tvm.backends". This package calls it if it is imported after TVM. It also calls it after
    loading TVM itself, because TVM can be told to load no extensions. TVM without its compiler has
    no pass options.
    """
    # Do not import usmp._ffi, because another thread may be loading it and wait for TVM.
    from tvm.base import _LOADED_LIBS

    if "tvm_compiler" in _LOADED_LIBS:
        load_library("usmp")
        _register_pass_options()
        _register_algorithms()
        _register_old_functions()
        _register_pipeline()


def _register_pass_options() -> None:
    """Register the options of this package with PassContext, and old ones, which builds replace or
    refuse. Options that TVM has itself stay as they are."""
    from tvm_ffi import get_global_func

    types = dict.fromkeys((row.name for row in (*PASS_CONFIGS, *RENAMED_CONFIGS)), "Any")
    types |= {name: option.type_name for name, option in PASS_OPTIONS.items()}
    get_global_func("usmp.register_pass_options")(types)


def _register_algorithms() -> None:
    """Register the built-in algorithms by TVM's names, for C++ and custom algorithms."""
    for name in ALGORITHMS:
        if name not in BUILTIN_FUNCTIONS:
            BUILTIN_FUNCTIONS[name] = _register_algorithm(name)


def _register_old_functions() -> None:
    """Register the global functions of TVM 0.18 for its planner, unless TVM has them. A call loads
    its replacement."""
    from tvm_ffi import get_global_func, register_global_func

    for row in GLOBAL_FUNCTIONS:
        if get_global_func(row.name, allow_missing=True) is None:
            register_global_func(row.name, _old_function(row))


def _old_function(row: OldName) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        if row.verdict == REFUSED:
            raise RuntimeError(row.sentence())
        return resolve_name(row.replacement()[0])(*arguments)

    return call


def _register_pipeline() -> None:
    """Register `usmp.get_vm_pipeline()` as `relax_pipeline="usmp"`; its first use loads it."""
    pipelines = sys.modules.get("tvm.relax.pipeline")
    if pipelines is not None:
        pipelines.PIPELINE_MAP.setdefault(PIPELINE, _pipeline)


def _pipeline(**options: Any) -> Any:
    from usmp.vm_pipeline import get_vm_pipeline

    return get_vm_pipeline(**options)


def _register_algorithm(name: str) -> Any:
    from tvm_ffi import get_global_func, register_global_func

    def call(buffers: Any, memory_pressure: int) -> Mapping[Any, Any]:
        from usmp.algorithms.registry import plan_with

        return plan_with(name, buffers, memory_pressure)

    full_name = ALGORITHM_PREFIX + name
    if get_global_func(full_name, allow_missing=True) is None:
        register_global_func(full_name, call)
    return get_global_func(full_name)
