"""What TVM knows of this package: pass options, and by name functions, algorithms, a pipeline."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

from usmp.names import ALGORITHMS, PASS_OPTIONS
from usmp.support.distribution import load_library
from usmp.tvm018 import PASS_CONFIGS
from usmp.tvm018.global_functions import GLOBAL_FUNCTIONS
from usmp.tvm018.old_name import REFUSED, OldName

ALGORITHM_PREFIX = "tir.usmp.algo."
"""Of the names of algorithms among the global functions."""

PIPELINE = "usmp"
"""The name of `usmp.pipeline()` among TVM's pipelines."""

_builtin: dict[str, Any] = {}
"""The global functions of built-in algorithms, by name of the algorithm."""


def register() -> None:
    """Register the pass options, `tir.usmp.*` and those of TVM 0.18, the algorithms
    `tir.usmp.algo.<name>`, the global functions of TVM 0.18 and the pipeline `usmp`; once or more
    often is the same.

    TVM calls this at the end of its own import, as this package's entry point in the group
    "tvm.backends"; this package calls it if TVM was there first. TVM without its compiler has no
    pass options.
    """
    # Not usmp._ffi: another thread may be loading that, and wait for TVM there.
    from tvm.base import _LOADED_LIBS

    if "tvm_compiler" in _LOADED_LIBS:
        load_library("usmp")
        register_pass_options()
        register_algorithms()
        register_old_functions()
        register_pipeline()


def register_pass_options() -> None:
    """Let a PassContext take the options of this package, and those of TVM 0.18, which builds
    replace or refuse. Those that TVM has itself stay as they are."""
    from tvm_ffi import get_global_func

    types = dict.fromkeys((row.name for row in PASS_CONFIGS), "Any")
    types |= {name: option.type_name for name, option in PASS_OPTIONS.items()}
    get_global_func("usmp.register_pass_options")(types)


def register_algorithms() -> None:
    """Let C++ and custom algorithms call the built-in ones by the names that TVM gives them."""
    for name in ALGORITHMS:
        if name not in _builtin:
            _builtin[name] = _register_algorithm(name)


def register_old_functions() -> None:
    """Let the global functions that TVM 0.18 had for its planner be found by their names, unless
    TVM has one of the name; what they call is loaded when one is called."""
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


def register_pipeline() -> None:
    """Let `relax_pipeline="usmp"` be `usmp.pipeline()`; it is loaded when it is first asked for."""
    pipelines = sys.modules.get("tvm.relax.pipeline")
    if pipelines is not None:
        pipelines.PIPELINE_MAP.setdefault(PIPELINE, _pipeline)


def _pipeline(**options: Any) -> Any:
    return import_module("usmp.vm_pipeline").pipeline(**options)


def is_builtin(name: str, function: Any) -> bool:
    """Whether a global function is the one that was registered here under the name."""
    return name in _builtin and bool(function.same_as(_builtin[name]))


def _register_algorithm(name: str) -> Any:
    from tvm_ffi import get_global_func, register_global_func

    def call(buffers: Any, memory_pressure: int) -> Mapping[Any, Any]:
        # By name: algorithms stand above this, and are loaded when one is called.
        plan_with = import_module("usmp.algorithms.registry").plan_with
        plan: Mapping[Any, Any] = plan_with(name, buffers, memory_pressure)
        return plan

    full_name = ALGORITHM_PREFIX + name
    if get_global_func(full_name, allow_missing=True) is None:
        register_global_func(full_name, call)
    return get_global_func(full_name)
