"""Allocations of a Relax function, at the upper bounds of its sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tvm import relax
from tvm.ir import Call

from usmp.relax.storage.tensor_bytes import SizeBounds
from usmp.tir.dtypes import item_bytes
from usmp.tir.nodes import bindings_of
from usmp.tir.op_names import op_name

_STORAGE = "relax.memory.alloc_storage"
_TENSOR = "relax.builtin.alloc_tensor"


@dataclass
class Allocations:
    """The allocations of a function, its branches included.

    Parameters
    ----------
    storages
        variable of a storage -> its maximum size in bytes; None if unbounded.
    tensors
        variable of a tensor with its own allocation -> its maximum size in bytes; None if
        unbounded.
    """

    storages: dict[relax.Var, int | None] = field(default_factory=dict)
    tensors: dict[relax.Var, int | None] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """The bytes of all bounded allocations."""
        return sum(size or 0 for size in (*self.storages.values(), *self.tensors.values()))


def allocations_of(function: relax.Function) -> Allocations:
    """Return the allocations of a function."""
    allocations = Allocations()
    bounds = SizeBounds("function", function)
    for binding in _all_bindings(function.body):
        value = getattr(binding, "value", None)
        if not isinstance(value, Call):
            continue
        name = op_name(value)
        if name == _STORAGE:
            allocations.storages[binding.var] = bounds.elements_of(value.args[0])
        elif name == _TENSOR:
            elements = bounds.elements_of(value.args[0])
            size = item_bytes(str(value.args[1].value))
            allocations.tensors[binding.var] = None if elements is None else elements * size
    return allocations


def _all_bindings(body: relax.SeqExpr) -> Iterator[relax.Binding]:
    for binding in bindings_of(body):
        yield binding
        value = getattr(binding, "value", None)
        if isinstance(value, relax.If):
            yield from _all_bindings(value.true_branch)
            yield from _all_bindings(value.false_branch)
