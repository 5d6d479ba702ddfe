"""Allocations at run time, which are not planned because their size has no upper bound."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.ir import IRModule
from tvm_ffi.dataclasses import py_class

from usmp.objects.attributes.module_attributes import (
    DYNAMIC_ALLOCATIONS_ATTR,
    DYNAMIC_ALLOCATOR_ATTR,
    TAKES_ARENA_ATTR,
)
from usmp.objects.ffi_object import FFIObject


@py_class("usmp.DynamicAllocation")
class DynamicAllocation(FFIObject):
    """A buffer that is allocated while the model runs.

    Parameters
    ----------
    name
        name of the buffer.
    function
        the PrimFunc that allocates the buffer.
    size
        size in bytes as text, such as "4 * n".
    why
        the reason why the buffer is not planned, with advice.
    """

    name: str
    function: str
    size: str
    why: str


def dynamic_allocations(mod: IRModule) -> list[DynamicAllocation]:
    """Return the dynamic allocations of a module."""
    return list(DYNAMIC_ALLOCATIONS_ATTR.of(mod) or ())


def dynamic_allocator(mod: IRModule) -> str:
    """Return the name of the allocator of a module; empty without dynamic allocations."""
    return DYNAMIC_ALLOCATOR_ATTR.of(mod) or ""


def takes_arena(func: tirx.PrimFunc) -> bool:
    """Return whether a PrimFunc has an arena parameter, which stands before the pools."""
    return bool(TAKES_ARENA_ATTR.of(func))


def as_json(mod: IRModule) -> dict[str, Any]:
    """Return the dynamic allocations for metadata.json; empty if there are none."""
    allocations = dynamic_allocations(mod)
    if not allocations:
        return {}
    keys = ("name", "function", "size", "why")
    buffers = [{key: str(getattr(allocation, key)) for key in keys} for allocation in allocations]
    return {"dynamic_allocations": {"allocator": dynamic_allocator(mod), "buffers": buffers}}
