"""The result of the algorithm: sizes of the memories, and the place of each tensor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from usmp_solver.integrations.executorch.interface import (
    SpecAllocResult,
    extend_storage_base_lifetimes,
)
from usmp_solver.integrations.executorch.tensors import Spec


class MemoryPlan(list[int]):
    """Bytes of each memory, from memory 0, and the place of each tensor.

    `MemoryPlanningPass` expects a list from an algorithm that has written the places into the
    tensors. `MemoryPlanningAlgorithmSuite` expects an object with `bufsizes` and `spec_dict`, and
    writes the places. This class serves both.

    Parameters
    ----------
    sizes
        bytes by memory.
    places
        memory and byte offset of each tensor.
    in_place
        outputs, each with the input whose place it takes.
    is_optimal
        whether the plan is proved best for these in-place outputs.
    """

    def __init__(
        self,
        sizes: Iterable[int],
        places: dict[Spec, tuple[int, int]],
        in_place: dict[Spec, Spec],
        is_optimal: bool,
    ) -> None:
        super().__init__(sizes)
        self.places = places
        self.in_place = in_place
        self.is_optimal = is_optimal

    @property
    def bufsizes(self) -> list[int]:
        """Bytes by memory, under ExecuTorch's name."""
        return list(self)

    @property
    def spec_dict(self) -> dict[Spec, Any]:
        """The place of each tensor.

        ExecuTorch's suite reads this property of the selected plan only. So in-place outputs are
        marked here, where other algorithms cannot see them.
        """
        self._mark_in_place()
        objects = _shared_objects(self.places)
        return {
            spec: SpecAllocResult(memory, objects[spec], offset)
            for spec, (memory, offset) in self.places.items()
        }

    def write(self) -> None:
        """Write the places into the tensors."""
        for spec, place in self.spec_dict.items():
            spec.mem_id, spec.mem_offset = place.mem_id, place.mem_offset
            spec.mem_obj_id = place.mem_obj_id

    def _mark_in_place(self) -> None:
        """Mark outputs as views of their inputs, as ExecuTorch's Verifier requires."""
        for output, spec in self.in_place.items():
            output.storage_base, output.storage_base_offset = spec, 0
        extend_storage_base_lifetimes(set(self.in_place))


def _shared_objects(places: dict[Spec, tuple[int, int]]) -> dict[Spec, int]:
    """Return an object number for each tensor, equal if bytes are shared.

    ExecuTorch's Verifier requires this. Its own algorithms divide a memory into objects before they
    place tensors.
    """
    objects: dict[Spec, int] = {}
    number, end_of_object, memory_of_object = -1, 0, 0
    for spec, (memory, offset) in sorted(places.items(), key=lambda place: place[1]):
        if number < 0 or memory != memory_of_object or offset >= end_of_object:
            number, end_of_object, memory_of_object = number + 1, offset, memory
        end_of_object = max(end_of_object, offset + spec.allocated_memory)
        objects[spec] = number
    return objects
