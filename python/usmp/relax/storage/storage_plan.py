"""Summaries of planned storages, kept as attributes of Relax functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from tvm.ir import IRModule

from usmp.objects.attributes.attribute import Attribute


@dataclass(frozen=True)
class MemoryStorage:
    """The storage of a function in one memory.

    Parameters
    ----------
    device_index
        index of the memory's device among those of the module.
    scope
        scope of the memory.
    bytes
        size of the storage in bytes, at the largest symbolic sizes.
    lower_bound
        lower bound of the bytes, given which tensors replace each other in place.
    is_optimal
        whether the bytes are proved to be minimal, given the same.
    num_tensors
        number of tensors in the storage.
    num_in_place
        number of tensors that overlap an input of the operator that writes them.
    """

    device_index: int
    scope: str
    bytes: int
    lower_bound: int
    is_optimal: bool
    num_tensors: int
    num_in_place: int


@dataclass(frozen=True)
class FunctionStorage:
    """The allocations of a function in one call.

    Parameters
    ----------
    function
        name of the function.
    storages
        planned storages, one for each memory.
    left_bytes
        bytes of bounded storages and tensors that are left to TVM, without outputs.
    num_left
        number of these storages and tensors, unbounded ones included.
    output_bytes
        bytes of bounded outputs, which callers keep.
    needs_less_by_tvm
        whether the function has the plan of TVM's pass, because it takes fewer bytes in all.
    """

    function: str
    storages: tuple[MemoryStorage, ...]
    left_bytes: int
    num_left: int
    output_bytes: int
    needs_less_by_tvm: bool = False

    @property
    def bytes(self) -> int:
        """The bytes of all allocations except outputs."""
        return sum(storage.bytes for storage in self.storages) + self.left_bytes

    def __str__(self) -> str:
        lines = [
            f"{self.function}: device {plan.device_index}, {plan.scope}: {plan.bytes} bytes "
            f"({'optimal' if plan.is_optimal else f'lower bound {plan.lower_bound}'}), "
            f"{plan.num_tensors} tensors, {plan.num_in_place} in place"
            for plan in self.storages
        ]
        rest = f"{self.function}: left to TVM: {self.left_bytes} bytes in {self.num_left}"
        if self.needs_less_by_tvm:
            rest += ", since its own plan of the function takes fewer bytes"
        return "\n".join([*lines, rest, f"{self.function}: outputs: {self.output_bytes} bytes"])


def _read(facts: Mapping[str, Any]) -> FunctionStorage:
    storages = tuple(
        MemoryStorage(
            device_index=int(entry["device_index"]),
            scope=str(entry["scope"]),
            bytes=int(entry["bytes"]),
            lower_bound=int(entry["lower_bound"]),
            is_optimal=bool(entry["is_optimal"]),
            num_tensors=int(entry["num_tensors"]),
            num_in_place=int(entry["num_in_place"]),
        )
        for entry in facts["storages"]
    )
    return FunctionStorage(
        str(facts["function"]),
        storages,
        int(facts["left_bytes"]),
        int(facts["num_left"]),
        int(facts["output_bytes"]),
        bool(facts["needs_less_by_tvm"]),
    )


STORAGE_PLAN_ATTR: Attribute[FunctionStorage] = Attribute(
    "usmp.storage_plan",
    "Relax function",
    "the facts of its storage, as `storage_plan` reads them",
    _read,
    lambda facts: {**asdict(facts), "storages": [asdict(storage) for storage in facts.storages]},
)


def storage_plan(mod: IRModule) -> tuple[FunctionStorage, ...]:
    """Return the storage of each function that `PlanStorage` planned, sorted by name.

    Parameters
    ----------
    mod
        a module after `PlanStorage`, and perhaps later passes.
    """
    storages = []
    for variable, function in mod.functions.items():
        facts = STORAGE_PLAN_ATTR.read(getattr(function, "attrs", None))
        if facts is not None:
            storages.append(replace(facts, function=str(variable.name_hint)))
    return tuple(sorted(storages, key=lambda storage: storage.function))
