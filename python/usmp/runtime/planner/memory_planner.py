"""MemoryPlanner: runs a compiled module of changing sizes in one managed buffer.

Source: the memory planner of PyTorch's Static Runtime, which has the same names of counters. RFC
0019 describes the differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from weakref import ref

import tvm
from tvm import relax

from usmp.names import ALGORITHMS
from usmp.runtime.planner.growth import GrowthPolicy, SizeRecords
from usmp.runtime.planner.managed_memory import CapacityError, ManagedMemory
from usmp.runtime.planner.module import ManagedModule
from usmp.runtime.planner.plan import StorageGroup, TensorPlaces, plan_places
from usmp.support.not_copied import NotCopied
from usmp.support.text.known_names import unknown_name


class MemoryPlanner(NotCopied):
    """Runs a function of a module with its tensors in a buffer that all calls share.

    The first call makes a plan, and each call with a tensor that does not fit makes a new one. All
    other calls allocate nothing. Plans are for the largest sizes so far, by the algorithms and the
    checker of the static planner. Outputs have their own memory, which is reused only after the
    caller released all of them.

    Several planners may share a module, but a planner runs on one thread at a time, and cannot be
    copied or pickled.

    Parameters
    ----------
    module
        result of `compile_managed`.
    function
        name of the function to run.
    capacity_bytes
        limit of the intermediates in bytes; None for no limit.
    algorithm
        planning algorithm, as in the option ``tir.usmp.algorithm``.
    growth
        headroom of plans beyond the largest sizes.
    poison
        whether to overwrite unused bytes with 0xFF before each allocation and after each call. This
        is slow, and finds functions that use released tensors.

    Raises
    ------
    ValueError
        The function or the algorithm is unknown, or the capacity is negative.
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
            problem = f'the module has no function "{function}" to run'
            raise ValueError(unknown_name(problem, function, list(module.functions), "Functions"))
        if capacity_bytes is not None and capacity_bytes < 0:
            raise ValueError(f"a capacity of {capacity_bytes} bytes cannot be")
        if algorithm not in ALGORITHMS:
            problem = f'unknown algorithm "{algorithm}"'
            raise ValueError(unknown_name(problem, algorithm, ALGORITHMS, "Algorithms"))
        self._facts = module.functions[function]
        self._capacity = capacity_bytes
        self._algorithm = algorithm
        self._records = SizeRecords(growth or GrowthPolicy())
        self._places: TensorPlaces | None = None
        self._num_plans = 0
        tensors = self._facts.tensors
        # Use a weak reference, because otherwise planner and memory keep each other alive.
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
            arguments of the function: tensors of TVM, or values that tvm-ffi converts to tensors.

        Returns
        -------
        result
            result of the function.

        Raises
        ------
        CapacityError
            The sizes exceed the capacity. Nothing was overwritten, and the planner stays usable.
        RuntimeError
            The planner is running already, on this thread or on another one.
        """
        return self._run(*inputs)

    def _replan_after_run(self) -> None:
        """Make a plan for the sizes of a run. If it exceeds the capacity, the next run raises."""
        with suppress(CapacityError):
            self._replan(None)

    def _replan(self, expected: Sequence[int] | None) -> None:
        """Make a plan for the sizes that a run announces, or after a run if `expected` is None."""
        largest = [int(size) for size in self._memory.largest()]
        needed = [-1] * len(largest)
        for number, size in zip(self._facts.expected, expected or (), strict=False):
            # Ignore sizes of a branch until it was taken once.
            if largest[number] >= 0 or not self._facts.tensors[number].is_in_branch:
                needed[number] = max(int(size), 0)
        largest = list(map(max, largest, needed))
        self._records.note_plan(self.num_runs)
        # If the capacity is too small, drop the headroom, then the sizes of other runs.
        for known, sizes in (
            (largest, self._records.raised(largest)),
            (largest, largest),
            (needed, needed),
        ):
            places = self._planned(sizes)
            if self._capacity is None or places.buffer_bytes <= self._capacity:
                self._adopt(places, known)
                return
        if expected is None:  # The run is over, and the next one announces its own sizes.
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
            places.limits,
            places.sharing,
            places.buffer_bytes,
            places.output_bytes,
        )
        self._places = places
        self._num_plans += 1

    def deallocate(self) -> None:
        """Free the buffers and reset the sizes, so that the next call makes a new plan.

        Outputs that the caller holds stay valid.
        """
        self._memory.release()
        self._places = None
        self._records = SizeRecords(self._records.policy)

    def deallocate_output_tensors(self) -> None:
        """Free the output buffers.

        A buffer is freed only once the caller releases its tensors. The buffer of the last result
        is freed at the next call, because the virtual machine holds it until then.
        """
        self._memory.release_outputs()

    def is_managed_output_tensor(self, value: Any) -> bool:
        """Return whether a value is a tensor in an output buffer of this planner."""
        return _is_tensor(value) and bool(self._memory.is_in_output_buffer(value))

    def overlap_with_internal_buffer(self, value: Any) -> bool:
        """Return whether a value is a tensor in the buffer that the next call overwrites."""
        return _is_tensor(value) and bool(self._memory.is_in_buffer(value))

    @property
    def storage_groups(self) -> tuple[StorageGroup, ...]:
        """The groups of tensors that share storage, by offset; none before the first call."""
        return () if self._places is None else self._places.groups

    @property
    def total_num_managed_tensors(self) -> int:
        """The number of tensors in the managed buffer."""
        return self._num_placed(is_output=False)

    @property
    def total_num_managed_output_tensors(self) -> int:
        """The number of tensors in an output buffer."""
        return self._num_placed(is_output=True)

    @property
    def total_reused_tensors(self) -> int:
        """The number of managed tensors that reuse bytes of another tensor in a call."""
        return 0 if self._places is None else self._places.num_reused

    @property
    def total_num_unmanaged(self) -> int:
        """The number of values of the function without a place in a buffer."""
        return self.num_unmanaged_non_scalars + self.num_unmanaged_scalars

    @property
    def num_unmanaged_non_scalars(self) -> int:
        """The number of unmanaged tensors and objects, with tensors kept alive after a run."""
        escaped = len(self._memory.escaped())
        return self._facts.num_unmanaged + self._facts.num_borrowed + escaped

    @property
    def num_borrowed(self) -> int:
        """The number of unmanaged values that are parts or views of other values."""
        return self._facts.num_borrowed

    @property
    def num_unmanaged_scalars(self) -> int:
        """The number of shapes and scalars."""
        return self._facts.num_scalars

    @property
    def total_managed(self) -> int:
        """The size of the managed buffer in bytes."""
        return self._counter("buffer_bytes")

    @property
    def num_output_buffer_bytes(self) -> int:
        """The bytes of all output buffers, including old ones that something still holds. Each
        result that the caller holds has its own buffer, and the next call has another one."""
        return self._counter("output_bytes")

    @property
    def num_runs(self) -> int:
        """The number of calls so far."""
        return self._counter("runs")

    @property
    def num_plans(self) -> int:
        """The number of plans made so far. Calls without a plan allocate nothing."""
        return self._num_plans

    @property
    def num_tensors_alone(self) -> int:
        """The number of tensors so far that exceeded their place, and got their own memory."""
        return self._counter("alone")

    @property
    def num_allocations(self) -> int:
        """The number of allocations so far, of buffers and of tensors with their own memory."""
        return self._counter("allocations")

    @property
    def allocated_bytes(self) -> int:
        """The allocated bytes, including outputs that the caller holds."""
        return self._counter("bytes")

    @property
    def peak_bytes(self) -> int:
        """The high-water mark of the allocated bytes."""
        return self._counter("peak_bytes")

    def _counter(self, name: str) -> int:
        return int(self._memory.counters()[name])

    def _num_placed(self, is_output: bool) -> int:
        places = self._places
        limits = [] if places is None else places.limits
        tensors = zip(self._facts.tensors, limits, strict=False)
        return sum(limit >= 0 and tensor.is_output == is_output for tensor, limit in tensors)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, tvm.runtime.Tensor)
