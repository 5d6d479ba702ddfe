"""MemoryPlanner: runs a compiled module of changing sizes in one managed buffer.

Source: the memory planner of PyTorch's Static Runtime, whose names the counters have; what is ours
is in RFC 0019.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from weakref import ref

import tvm
from tvm import relax

from usmp.names import ALGORITHMS
from usmp.runtime.managed_memory import CapacityError, ManagedMemory
from usmp.runtime.memory_planner_growth import GrowthPolicy, SizeRecords
from usmp.runtime.memory_planner_module import ManagedModule
from usmp.runtime.memory_planner_plan import StorageGroup, TensorPlaces, plan_places
from usmp.support.not_copied import NotCopied


class MemoryPlanner(NotCopied):
    """Runs one function of a module; its tensors are in a buffer that is kept from call to call.

    The first call plans, and so does each with tensors that have no room: for the largest sizes so
    far, with the algorithms of the static planner and its checker. All others allocate nothing.
    Outputs have memory of their own, which is not used again until the caller holds none of them.

    One thread at a time: make a planner for each thread, of the same module. A planner cannot be
    copied or pickled.

    Parameters
    ----------
    module
        made by `compile_managed`.
    function
        name of the function to run.
    capacity_bytes
        what intermediates may take; None is no limit.
    algorithm
        that places them, as in the option ``tir.usmp.algorithm``.
    growth
        how much room plans have beyond the largest sizes.
    poison
        write 0xFF over all bytes that hold nothing, before each allocation and after each call:
        slow, to find functions that use what they have let go of.

    Raises
    ------
    ValueError
        The module has no such function, the capacity is negative, or the algorithm is unknown.
    """

    _owns = "the memory of the module's tensors"
    _instead = "make another one of the same module: MemoryPlanner(module, ...)"

    def __init__(
        self,
        module: ManagedModule,
        function: str = "main",
        *,
        capacity_bytes: int | None = None,
        algorithm: str = "auto",
        growth: GrowthPolicy | None = None,
        poison: bool = False,
    ) -> None:
        if function not in module.functions:
            known = ", ".join(module.functions)
            raise ValueError(f'the module has no function "{function}" to run; it has: {known}')
        if capacity_bytes is not None and capacity_bytes < 0:
            raise ValueError(f"a capacity of {capacity_bytes} bytes cannot be")
        if algorithm not in ALGORITHMS:
            raise ValueError(f'unknown algorithm "{algorithm}"; known: {", ".join(ALGORITHMS)}')
        self._facts = module.functions[function]
        self._capacity = capacity_bytes
        self._algorithm = algorithm
        self._records = SizeRecords(growth or GrowthPolicy())
        self._places: TensorPlaces | None = None
        self._num_plans = 0
        tensors = self._facts.tensors
        # Weak, since the memory would keep the planner alive otherwise, and the planner the memory.
        planner = ref(self)

        def replan_if_alive(expected: Sequence[int] | None) -> None:
            alive = planner()
            if alive is not None and expected is None:
                alive._replan_after_run()
            elif alive is not None:
                alive._replan(expected)

        self._memory = ManagedMemory(
            module.tokens[function],
            [tensor.name for tensor in tensors],
            [tensor.ndim for tensor in tensors],
            [tensor.dtype for tensor in tensors],
            [tensor.is_output for tensor in tensors],
            [tensor.is_in_branch for tensor in tensors],
            self._facts.expected,
            capacity_bytes,
            poison,
            replan_if_alive,
        )
        machine = relax.VirtualMachine(module.library, tvm.cpu())
        self._run = self._memory.bind(machine[function])

    def __call__(self, *inputs: Any) -> Any:
        """Run the function.

        Parameters
        ----------
        inputs
            what the function takes: tensors of TVM, or what tvm-ffi takes for them.

        Returns
        -------
        result
            what the function returns.

        Raises
        ------
        CapacityError
            The sizes do not fit the capacity. Nothing was overwritten, and the planner goes on.
        RuntimeError
            The planner is running already, on this thread or another one.
        """
        return self._run(*inputs)

    def _replan_after_run(self) -> None:
        """Make a plan for what was seen; if the capacity does not hold it, the next run says so."""
        with suppress(CapacityError):
            self._replan(None)

    def _replan(self, expected: Sequence[int] | None) -> None:
        """Make a plan; called as a run begins, with what it needs, or after it."""
        largest = [int(size) for size in self._memory.largest()]
        needed = [-1] * len(largest)
        for number, size in zip(self._facts.expected, expected or (), strict=False):
            # What a branch allocates is expected once the branch was taken.
            if largest[number] >= 0 or not self._facts.tensors[number].is_in_branch:
                needed[number] = max(int(size), 0)
        largest = list(map(max, largest, needed))
        self._records.note_plan(self.num_runs)
        # Without what other runs needed, if the capacity does not hold both.
        for known, sizes in (
            (largest, self._records.raised(largest)),
            (largest, largest),
            (needed, needed),
        ):
            places = self._planned(sizes)
            if self._capacity is None or places.buffer_bytes <= self._capacity:
                self._adopt(places, known)
                return
        if expected is None:  # The run is over; the next one says what it needs.
            return
        raise CapacityError(
            f"MemoryPlanner: the intermediates of this call need {places.buffer_bytes} bytes, and "
            f"the capacity is {self._capacity} bytes; raise it, or give smaller inputs"
        )

    def _planned(self, sizes: Sequence[int]) -> TensorPlaces:
        escaped = {int(number) for number in self._memory.escaped()}
        return plan_places(self._facts.tensors, sizes, escaped, self._algorithm)

    def _adopt(self, places: TensorPlaces, largest: Sequence[int]) -> None:
        self._memory.set_plan(
            largest,
            places.offsets,
            places.rooms,
            places.sharing,
            places.buffer_bytes,
            places.output_bytes,
        )
        self._places = places
        self._num_plans += 1

    def deallocate(self) -> None:
        """Free the buffers and forget the sizes; the next call plans anew.

        Outputs that the caller holds live on.
        """
        self._memory.release()
        self._places = None
        self._records = SizeRecords(self._records.policy)

    def deallocate_output_tensors(self) -> None:
        """Free the output buffers.

        One of which the caller holds tensors is freed when they are gone, and that of the last
        result at the next call: the virtual machine holds it until then.
        """
        self._memory.release_outputs()

    def is_managed_output_tensor(self, value: Any) -> bool:
        """Whether a value is a tensor in an output buffer of this planner."""
        return _is_tensor(value) and bool(self._memory.is_in_output_buffer(value))

    def overlap_with_internal_buffer(self, value: Any) -> bool:
        """Whether a value is a tensor in the managed buffer, which the next call overwrites."""
        return _is_tensor(value) and bool(self._memory.is_in_buffer(value))

    @property
    def storage_groups(self) -> tuple[StorageGroup, ...]:
        """Managed tensors that share storage, by its first byte; none before the first call."""
        return () if self._places is None else self._places.groups

    @property
    def total_num_managed_tensors(self) -> int:
        """Tensors with a place in the managed buffer."""
        return self._num_placed(is_output=False)

    @property
    def total_num_managed_output_tensors(self) -> int:
        """Tensors with a place in an output buffer."""
        return self._num_placed(is_output=True)

    @property
    def total_reused_tensors(self) -> int:
        """Managed tensors with bytes that another one had before, in the same call."""
        return 0 if self._places is None else self._places.num_reused

    @property
    def total_num_unmanaged(self) -> int:
        """Values of the function that have no place of their own."""
        return self.num_unmanaged_non_scalars + self.num_unmanaged_scalars

    @property
    def num_unmanaged_non_scalars(self) -> int:
        """Tensors and other objects that come from elsewhere, or are parts or views of others."""
        escaped = len(self._memory.escaped())
        return self._facts.num_unmanaged + self._facts.num_borrowed + escaped

    @property
    def num_borrowed(self) -> int:
        """Those of them that are parts or views of others."""
        return self._facts.num_borrowed

    @property
    def num_unmanaged_scalars(self) -> int:
        """Shapes and numbers."""
        return self._facts.num_scalars

    @property
    def total_managed(self) -> int:
        """Bytes of the managed buffer."""
        return self._counter("buffer_bytes")

    @property
    def num_output_buffer_bytes(self) -> int:
        """Bytes of all output buffers, those that something still holds after a new plan or
        `deallocate_output_tensors` included; there is one more than the caller holds results of."""
        return self._counter("output_bytes")

    @property
    def num_runs(self) -> int:
        """Calls so far."""
        return self._counter("runs")

    @property
    def num_plans(self) -> int:
        """Plans so far; calls that need none allocate nothing."""
        return self._num_plans

    @property
    def num_tensors_alone(self) -> int:
        """Tensors so far that found no room at their places and got memory of their own."""
        return self._counter("alone")

    @property
    def num_allocations(self) -> int:
        """Allocations of memory so far, of buffers and of tensors alone."""
        return self._counter("allocations")

    @property
    def allocated_bytes(self) -> int:
        """Bytes that are allocated now, outputs that the caller holds included."""
        return self._counter("bytes")

    @property
    def peak_bytes(self) -> int:
        """The most bytes that were allocated at one time."""
        return self._counter("peak_bytes")

    def _counter(self, name: str) -> int:
        return int(self._memory.counters()[name])

    def _num_placed(self, is_output: bool) -> int:
        places = self._places
        rooms = [] if places is None else places.rooms
        tensors = zip(self._facts.tensors, rooms, strict=False)
        return sum(room >= 0 and tensor.is_output == is_output for tensor, room in tensors)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, tvm.runtime.Tensor)
