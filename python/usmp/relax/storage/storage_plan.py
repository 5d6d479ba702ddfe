"""What was planned of the storage of Relax functions: facts for people, kept on the functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from tvm.ir import IRModule

from usmp.objects.attribute import Attribute


@dataclass(frozen=True)
class MemoryStorage:
    """The storage of a function in one memory.

    Parameters
    ----------
    device_index
        of the memory's device, among those of the module.
    scope
        of the memory.
    bytes
        of the storage, at the largest sizes.
    lower_bound
        no plan of these tensors takes less bytes.
    is_optimal
        whether the bytes are proved to be the least.
    num_tensors
        that have a place in it.
    num_in_place
        those of them that take bytes of an input of the operator that writes them.
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
    """What one function allocates in a call.

    Parameters
    ----------
    function
        its name.
    storages
        that were planned, one a memory.
    left_bytes
        of storages and tensors that are left to TVM, without outputs; those whose size has a bound.
    num_left
        how many these are, and those whose size has no bound.
    output_bytes
        of outputs whose size has a bound, which callers keep.
    needs_less_by_tvm
        the function has the plan of TVM's pass, which takes fewer bytes in all.
    """

    function: str
    storages: tuple[MemoryStorage, ...]
    left_bytes: int
    num_left: int
    output_bytes: int
    needs_less_by_tvm: bool = False

    @property
    def bytes(self) -> int:
        """Of all but the outputs."""
        return sum(storage.bytes for storage in self.storages) + self.left_bytes

    def __str__(self) -> str:
        lines = [
            f"{self.function}: device {each.device_index}, {each.scope}: {each.bytes} bytes "
            f"({'optimal' if each.is_optimal else f'lower bound {each.lower_bound}'}), "
            f"{each.num_tensors} tensors, {each.num_in_place} in place"
            for each in self.storages
        ]
        left = f"{self.function}: left to TVM: {self.left_bytes} bytes in {self.num_left}"
        if self.needs_less_by_tvm:
            left += ", since its own plan of the function takes fewer bytes"
        return "\n".join([*lines, left, f"{self.function}: outputs: {self.output_bytes} bytes"])


def _read(facts: Mapping[str, Any]) -> FunctionStorage:
    storages = tuple(
        MemoryStorage(
            device_index=int(each["device_index"]),
            scope=str(each["scope"]),
            bytes=int(each["bytes"]),
            lower_bound=int(each["lower_bound"]),
            is_optimal=bool(each["is_optimal"]),
            num_tensors=int(each["num_tensors"]),
            num_in_place=int(each["num_in_place"]),
        )
        for each in facts["storages"]
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
    lambda facts: {**asdict(facts), "storages": [asdict(each) for each in facts.storages]},
)


def storage_plan(mod: IRModule) -> tuple[FunctionStorage, ...]:
    """The facts of each function that `PlanStorage` planned, by name of the function.

    Parameters
    ----------
    mod
        what the pass returned, or what later passes made of it.
    """
    found = []
    for variable, function in mod.functions.items():
        facts = STORAGE_PLAN_ATTR.read(getattr(function, "attrs", None))
        if facts is not None:
            found.append(replace(facts, function=str(variable.name_hint)))
    return tuple(sorted(found, key=lambda each: each.function))
