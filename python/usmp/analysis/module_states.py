"""The states of a module, before planning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.buffer_extraction import byte_alignment
from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.state_tails import kept_bytes
from usmp.objects.arguments.executor import executor_of
from usmp.objects.attributes.annotations import STATE_TENSOR_ATTR
from usmp.objects.attributes.module_attributes import STATE_TENSORS_ATTR
from usmp.objects.placed_state import StateTensor
from usmp.tir.dtypes import item_bytes


@dataclass(frozen=True)
class ModuleState:
    """A state.

    Parameters
    ----------
    tensor
        shape, type and initial value; flat and without initial value if no entry describes it.
    alignment
        alignment of the offset, in bytes.
    """

    tensor: StateTensor
    alignment: int


def module_states(mod: IRModule) -> dict[str, ModuleState]:
    """Return the states that PrimFuncs allocate, by name, as the first allocation has them."""
    executor, described = executor_of(mod), state_tensors(mod)
    states: dict[str, ModuleState] = {}

    def on_allocation(stmt: tirx.AllocBuffer) -> None:
        if STATE_TENSOR_ATTR.is_on(stmt):
            name = STATE_TENSOR_ATTR.required(stmt)
            tensor = described.get(name) or flat_tensor(stmt)
            states.setdefault(name, ModuleState(tensor, byte_alignment(stmt, executor)))

    for func in prim_funcs(mod).values():
        tvm_ffi.structural_walk(func.body, (tirx.AllocBuffer, on_allocation))
    return states


def state_tensors(mod: IRModule) -> Mapping[str, StateTensor]:
    """Return the tensors by which entries describe their states, by name."""
    return {
        str(tensor.name): tensor
        for func in prim_funcs(mod).values()
        for tensor in STATE_TENSORS_ATTR.of(func) or ()
    }


def flat_tensor(stmt: tirx.AllocBuffer) -> StateTensor:
    """Return a state as a flat tensor, from its allocation alone."""
    name = STATE_TENSOR_ATTR.required(stmt)
    dtype = str(stmt.buffer.dtype)
    return StateTensor(name, [kept_bytes(stmt) // item_bytes(dtype)], dtype)
