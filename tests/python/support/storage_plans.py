"""What the virtual machine allocates for a Relax module, by the pass that plans its storage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import tvm
from tvm import relax, tirx
from tvm.ir import Call, IRModule
from tvm.ir.transform import Pass, Sequential
from tvm.relax.backend.cpu_generic import pipeline
from tvm.sym import Analyzer

from support.storages import TARGET, lowered
from usmp.tir.nodes import nodes_of


@dataclass(frozen=True)
class Allocated:
    """What the functions of a module allocate, each counted once.

    Parameters
    ----------
    storages, storage_bytes
        that the pass planned.
    tensors, tensor_bytes
        that it left alone: outputs, and what it cannot plan.
    """

    storages: int = 0
    storage_bytes: int = 0
    tensors: int = 0
    tensor_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """Of storages and tensors."""
        return self.storage_bytes + self.tensor_bytes


def lowered_as_fused(mod: IRModule) -> IRModule:
    """As TVM's pipeline for CPUs has it when storage is planned: operators are fused."""
    passes = [*pipeline.library_dispatch_passes(TARGET), *pipeline.legalize_passes(TARGET)]
    with TARGET:
        return lowered(Sequential(passes)(mod))


def planned(mod: IRModule, planner: Pass) -> IRModule:
    """The lowered module with its storage planned."""
    with TARGET:
        return planner(mod)


def allocated(mod: IRModule, sizes: Mapping[str, int] | None = None) -> Allocated:
    """Storages and tensors of all Relax functions of a planned module.

    Parameters
    ----------
    sizes
        values of symbolic sizes by name; if missing, the upper bounds that the functions have.
    """
    storages, tensors = [], []
    for function in mod.functions.values():
        if not isinstance(function, relax.Function):
            continue
        bounds = (function.attrs or {}).get("tir_var_upper_bound") or {}
        values = sizes or {str(name): int(bound) for name, bound in bounds.items()}
        for call in nodes_of(function.body, Call):
            name = getattr(call.op, "name", "")
            if name == "relax.memory.alloc_storage":
                storages.append(_extent(call.args[0], values))
            elif name == "relax.builtin.alloc_tensor":
                width = tvm.DataType(call.args[1].value)
                tensors.append(-(-_extent(call.args[0], values) * width.bits // 8) * width.lanes)
    return Allocated(len(storages), sum(storages), len(tensors), sum(tensors))


def _extent(shape: relax.ShapeExpr, values: Mapping[str, int]) -> int:
    return prod(_at(each, values) for each in shape.values)


def _at(size: tirx.PrimExpr, values: Mapping[str, int]) -> int:
    analyzer = Analyzer()
    for each in nodes_of(size, tirx.Var):
        analyzer.bind(each, tirx.IntImm("int64", values[each.name]), allow_override=True)
    return int(analyzer.simplify(size))
