"""Safe distances between buffers for every combination of symbolic sizes.

Most often one operator decides the distance of two tensors of a main function, because it reads one
of them for the last time and writes the other. Then only instances of this operator are analyzed,
otherwise instances of the whole program.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.memory.distances.safe_distance import DEEPEST_CALLS, SafeOverlap
from usmp.analysis.memory.facts import ModuleFacts
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.traced_access import TracedAccess
from usmp.analysis.symbolic.extents import value_of
from usmp.analysis.symbolic.instances import Instance, Instances, InstanceStore, all_sizes
from usmp.tir.dtypes import item_bytes


class DistancesOfAllSizes:
    """The safe distances between the memories of a main function, for all sizes.

    Parameters
    ----------
    main
        name of the main function.
    instances
        instances of the module, whose sizes have upper bounds.
    largest
        the instance for the largest sizes, whose memories are arguments of `distance`.
    store
        a cache of facts of instances.
    """

    def __init__(
        self, main: str, instances: Instances, largest: Instance, store: InstanceStore
    ) -> None:
        self._main = main
        self._instances = instances
        self._store = store
        self._largest = largest
        self._extents = instances.extents()
        self._allocations = {stmt.buffer: key for stmt, key in largest.allocations.items()}
        self._overlap = self._overlap_of(largest)
        self._found: dict[tuple[Memory, Memory], np.ndarray] = {}
        self.groups: Mapping[Memory, set[object]] = self._overlap.groups

    def distance(self, dying: Memory, written: Memory) -> int:
        """Return the largest `SafeOverlap.distance` over all sizes.

        Raises
        ------
        ValueError
            the size of `written` is unknown.
        """
        if self._overlap.distance(dying, written) >= int(self.bytes_of(written).max()):
            return int(self.bytes_of(written).max())
        return int(self.by_size(dying, written).max())

    def by_size(self, dying: Memory, written: Memory) -> np.ndarray:
        """Return the distance at each combination of sizes, in the order of `all_sizes`."""
        pair = dying, written
        if pair not in self._found:
            distances = self._of_one_call(dying, written)
            if distances is None:
                distances = np.array([o.distance(m[dying], m[written]) for o, m in self._programs])
            else:
                distances = np.maximum(np.minimum(distances, self.bytes_of(written)), 0)
            self._found[pair] = distances
        return self._found[pair]

    @cached_property
    def values(self) -> dict[str, np.ndarray]:
        """The values of each size, by name, in the order of `all_sizes`."""
        combinations = list(all_sizes(self._instances.sizes))
        names = [str(size.name) for size in self._instances.sizes]
        return {name: np.array([sizes[name] for sizes in combinations]) for name in names}

    def bytes_of(self, memory: Memory) -> np.ndarray:
        """Return the bytes of a buffer at each combination of sizes."""
        count = len(next(iter(self.values.values())))
        extent = self._extents.get(self._allocations[memory])
        if extent is None:
            return np.full(count, size_bytes(memory))
        item = item_bytes(str(memory.dtype))
        elements = np.broadcast_to(value_of(extent, self.values), count)
        size: np.ndarray = np.maximum(elements, 0) * item
        return size

    # ---- one operator

    def _of_one_call(self, dying: Memory, written: Memory) -> np.ndarray | None:
        """Return the unclamped distances within one operator; None if no single call decides."""
        pair = self._accesses_of_one_call(dying, written)
        if pair is None:
            return None
        name = str(pair[0].statement.callee)
        callee = self._overlap.callees[name]
        if not isinstance(callee, SafeOverlap) or callee.height >= DEEPEST_CALLS:
            return None
        params = list(callee.func.params)
        memories = [access.in_callee for access in pair]
        if not all(memory in params for memory in memories):
            return None
        positions = tuple(map(params.index, memories))
        key = (*self._instances.key_of(name), positions)
        if key not in self._store.distances:
            self._store.distances[key] = self._distances_in(name, *positions)
        return self._store.distances[key]

    def _accesses_of_one_call(
        self, dying: Memory, written: Memory
    ) -> tuple[TracedAccess, TracedAccess] | None:
        """Return the access to `dying` and the write to `written` if one call does both and
        decides, else None. No other statement may access `dying` after the first write, or write
        `written` before the access. No access to `dying` and no write to `written` may be in a
        loop, have a guard, or begin elsewhere than at the start of the buffer."""
        trace = self._overlap.trace
        if {dying, written} & trace.escaped:
            return None
        accesses = trace.accesses.get(dying, [])
        writes = [access for access in trace.accesses.get(written, []) if access.is_write]
        first = min((write.statement.order for write in writes), default=-1)
        late = [access for access in accesses if access.statement.order >= first]
        if len(late) != 1:
            return None
        (access,) = late
        before = [write for write in writes if write.statement.order <= access.statement.order]
        if len(before) != 1 or before[0].statement is not access.statement:
            return None
        is_plain = access.statement.callee is not None and not any(
            item.statement.loops or item.conditions or item.address.terms != ()
            for item in (*accesses, *writes)
        )
        return (access, before[0]) if is_plain else None

    def _distances_in(self, name: str, dying: int, written: int) -> np.ndarray:
        """Return the distances between two parameters of an operator, at each size."""
        distances = []
        for sizes in all_sizes(self._instances.sizes):
            functions = self._instances.functions_at(name, sizes)
            overlap = ModuleFacts(functions, self._store.facts).of(name).overlap
            params = overlap.func.params
            distances.append(overlap.relative_distance(params[dying], params[written]))
        return np.array(distances, dtype=np.int64)

    # ---- the whole program

    @cached_property
    def _programs(self) -> list[tuple[SafeOverlap, dict[Memory, Memory]]]:
        """The distances at each size, and the program's memory for each memory of `largest`."""
        by_stmt = {key: stmt.buffer for stmt, key in self._largest.allocations.items()}
        programs = []
        for sizes in all_sizes(self._instances.sizes):
            instance = self._instances.at(sizes)
            memories = {by_stmt[key]: stmt.buffer for stmt, key in instance.allocations.items()}
            programs.append((self._overlap_of(instance), memories))
        return programs

    def _overlap_of(self, instance: Instance) -> SafeOverlap:
        return ModuleFacts(prim_funcs(instance.mod), self._store.facts).of(self._main).overlap
