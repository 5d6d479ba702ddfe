"""What the algorithm returns: sizes of the memories, and the place of each tensor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from usmp_solver.integrations.executorch.interface import (
    SpecAllocResult,
    extend_storage_base_lifetimes,
)
from usmp_solver.integrations.executorch.tensors import Spec


class MemoryPlan(list[int]):
    """Bytes of each memory by its number, the first being 0; and where each tensor is.

    `MemoryPlanningPass` wants a list from an algorithm, which has written the places into the
    tensors; `MemoryPlanningAlgorithmSuite` wants an object that has `bufsizes` and `spec_dict`, and
    writes the places itself. This is both.

    Parameters
    ----------
    sizes
        bytes, by memory.
    places
        tensor to its memory and byte offset there.
    in_place
        output to the input whose place it has.
    is_optimal
        whether it is proved that no plan with these outputs in place takes fewer bytes.
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
        """Bytes, by memory; the name that ExecuTorch has for it."""
        return list(self)

    @property
    def spec_dict(self) -> dict[Spec, Any]:
        """Tensor to its place.

        ExecuTorch's suite of algorithms asks only the plan that it takes for this. So this is where
        outputs become known to be in the place of an input, which other algorithms must not see.
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
        """Say that outputs have the place of an input, as ExecuTorch's Verifier asks for."""
        for output, spec in self.in_place.items():
            output.storage_base, output.storage_base_offset = spec, 0
        extend_storage_base_lifetimes(set(self.in_place))


def _shared_objects(places: dict[Spec, tuple[int, int]]) -> dict[Spec, int]:
    """Numbers by tensor that are equal where bytes are shared, as ExecuTorch's Verifier asks for.

    ExecuTorch's own algorithms divide a memory into such objects before they place tensors.
    """
    objects: dict[Spec, int] = {}
    number, end_of_object, memory_of_object = -1, 0, 0
    for spec, (memory, offset) in sorted(places.items(), key=lambda place: place[1]):
        if number < 0 or memory != memory_of_object or offset >= end_of_object:
            number, end_of_object, memory_of_object = number + 1, offset, memory
        end_of_object = max(end_of_object, offset + spec.allocated_memory)
        objects[spec] = number
    return objects
