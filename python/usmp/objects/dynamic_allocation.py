"""Allocations that no plan has, because their size has no bound."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.ir import IRModule
from tvm_ffi.dataclasses import py_class

from usmp.objects.attributes import (
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
        of the buffer.
    function
        the PrimFunc that allocates it.
    size
        its bytes as text, such as "4 * n".
    why
        it is not planned, and what would change that.
    """

    name: str
    function: str
    size: str
    why: str


def dynamic_allocations(mod: IRModule) -> list[DynamicAllocation]:
    """The allocations of a module that are made while it runs."""
    return list(DYNAMIC_ALLOCATIONS_ATTR.of(mod) or ())


def dynamic_allocator(mod: IRModule) -> str:
    """What makes them; empty if there are none."""
    return DYNAMIC_ALLOCATOR_ATTR.of(mod) or ""


def takes_arena(func: tirx.PrimFunc) -> bool:
    """Whether a PrimFunc has a parameter that is an arena, before those that are pools."""
    return bool(TAKES_ARENA_ATTR.of(func))


def as_json(mod: IRModule) -> dict[str, Any]:
    """What metadata.json says of them; nothing if there are none."""
    allocations = dynamic_allocations(mod)
    if not allocations:
        return {}
    keys = ("name", "function", "size", "why")
    buffers = [{key: str(getattr(one, key)) for key in keys} for one in allocations]
    return {"dynamic_allocations": {"allocator": dynamic_allocator(mod), "buffers": buffers}}
