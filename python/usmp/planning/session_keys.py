"""The keys by which a planning session remembers its results."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm_ffi import Object

from usmp.names import BOUND, RAM
from usmp.objects.attributes.attribute import Attribute
from usmp.objects.attributes.module_attributes import (
    CONSTANT_MEMORY_POOLS_ATTR,
    EXECUTOR_ATTR,
    IO_MEMORY_POOL_ATTR,
    MODEL_FILES_ATTR,
    STATE_LAYOUT_ATTR,
    STATE_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.entries import concurrent_entries, entries_of
from usmp.planning.options import PlanningOptions
from usmp.tir.identity import identity

PLAN_ATTRIBUTES: tuple[Attribute[Any], ...] = (
    WORKSPACE_MEMORY_POOLS_ATTR,
    CONSTANT_MEMORY_POOLS_ATTR,
    STATE_MEMORY_POOL_ATTR,
    IO_MEMORY_POOL_ATTR,
    STATE_LAYOUT_ATTR,
    EXECUTOR_ATTR,
)
"""The attributes of a module that its plan depends on."""


def module_key(mod: IRModule) -> Hashable:
    """Return the key of a module: addresses of its functions, and attributes that plans use."""
    functions = sorted((str(v.name_hint), identity(f)) for v, f in mod.functions.items())
    return tuple(functions), attributes_key(mod)


def attributes_key(
    mod: IRModule, attributes: Iterable[Attribute[Any]] = PLAN_ATTRIBUTES
) -> Hashable:
    """Return the key of some attributes of a module, of its entries, and of its model files, whose
    names are in the results."""
    entries = tuple(entries_of(mod)), tuple(sorted(map(sorted, concurrent_entries(mod))))
    names = repr((entries, list(MODEL_FILES_ATTR.of(mod) or ())))
    return tuple(identity(attribute.of(mod)) for attribute in attributes), names


def plan_key(options: PlanningOptions) -> PlanningOptions:
    """Return the options, with defaults for those that do not affect a prepared module's plan."""
    return replace(
        options,
        use_workspace_io=False,
        order_operators=True,
        streaming=False,
        stream_inputs=(),
        stream_outputs=(),
        max_extra_macs=0.0,
        dynamic=(BOUND,),
        optimize=RAM,
        debug=(),
    )


def need_key(options: PlanningOptions) -> Hashable:
    """Return the key of the lower bound `least_need`, which only these options change."""
    has_rows = options.streams_io or bool(options.hops)
    return "least need", options.use_workspace_io, has_rows


def all_attributes_key(mod: IRModule) -> Hashable:
    """Return the key of all attributes of a module."""
    attributes = (mod.attrs or {}).items()
    return tuple(sorted((str(name), _value_key(value)) for name, value in attributes))


def _value_key(value: object) -> str:
    """Return plain data as text, and other objects of TVM by their addresses."""
    if isinstance(value, str | int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return repr(sorted((_value_key(key), _value_key(item)) for key, item in value.items()))
    if isinstance(value, Sequence):
        return repr([_value_key(item) for item in value])
    return f"<{identity(value)}>" if isinstance(value, Object) else repr(value)


def context_key(context: PassContext, without: Collection[str] = ()) -> Hashable:
    """Return the key of a PassContext, without some options and disabled passes."""
    config = sorted((str(k), str(v)) for k, v in context.config.items() if str(k) not in without)
    disabled = tuple(name for name in map(str, context.disabled_pass) if name not in without)
    return context.opt_level, tuple(map(str, context.required_pass)), disabled, tuple(config)
