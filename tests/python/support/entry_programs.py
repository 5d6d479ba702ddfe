"""Random programs of several entries with states in common, and the same in numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

import numpy as np
import tvm
from tvm.ir import IRModule

from support.state_models_random import StateModel
from support.tir_interpreter import Interpreter, _Return
from support.tir_memory import Pointer
from usmp.objects import BufferInfoKind, ConstantPoolInfo
from usmp.objects.attributes.module_attributes import (
    IO_TENSOR_POOL_ALLOCATIONS_ATTR,
    MEMORY_PLAN_ATTR,
    POOL_ARGS_ATTR,
)
from usmp.objects.entries import entries_of, entry_function_name
from usmp.relax.join_models import join_models

NAMES = ["a", "b", "c"]
STATES = ["s", "r", "q", "t"]
KINDS = [np.int8(0), np.int8(-5), np.array([1, 2, 3, 4], np.int8), np.zeros(4, np.int8)]


class EntriesModel:
    """Two or three entries, each a random model with some of four states."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.initial = {name: random.choice(KINDS) for name in STATES}
        self.entries: dict[str, StateModel] = {}
        for name in NAMES[: random.randint(2, 3)]:
            states = random.sample(STATES, random.randint(0, 3))
            self.entries[name] = StateModel(random, states, self.initial)

    def build(self) -> IRModule:
        """A Relax module with all entries."""
        models = {name: model.build() for name, model in self.entries.items()}
        return join_models(models, shared_state=True)

    def concurrent(self) -> list[list[str]]:
        """Pairs of entries that have no state in common, nor one that is set with one of theirs."""
        groups = [set(model.states) for model in self.entries.values()]
        for _ in groups:
            groups = [g.union(*(h for h in groups if h & g)) for g in groups]
        names = list(self.entries)
        return [
            [names[i], names[j]]
            for i in range(len(names))
            for j in range(i)
            if not groups[i] & groups[j]
        ]

    def expected(self, runs: list[tuple[str, np.ndarray]]) -> list[list[list[int]]]:
        """The outputs of some runs, one after the other."""
        states = {n: np.broadcast_to(v, 4).astype(np.int8) for n, v in self.initial.items()}
        outputs = []
        for name, x in runs:
            model = self.entries[name]
            results = model.compute(x, [states[state] for state in model.states])
            outputs.append([r.tolist() for r in model.returned(results)])
            states |= model.changed(results)
        return outputs


class Machine:
    """Memory in which the entries of a planned module run; between two runs only the states, and
    what an interrupted entry has, keep their bytes, and reading what was not written is an
    error."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.pools: dict[str, list[int | None]] = {}
        for arg in mod.attrs[POOL_ARGS_ATTR.name]:
            memory: list[int | None] = [None] * int(arg.allocated_size)
            if isinstance(arg.pool_info, ConstantPoolInfo):
                for constant in arg.pool_info.constant_info_array:
                    data, start = constant.data.numpy().tobytes(), int(constant.byte_offset)
                    memory[start : start + len(data)] = data
            self.pools[str(arg.pool_info.pool_name)] = memory
        buffers = mod.attrs[MEMORY_PLAN_ATTR.name].buffers
        self.states = {
            (str(b.pool_name), byte)
            for b in buffers
            if b.kind == BufferInfoKind.STATE
            for byte in range(int(b.byte_offset), int(b.byte_offset + b.size_bytes))
        }
        for pool, byte in self.states:
            self.pools[pool][byte] = 0

    def forget(self) -> None:
        """Lose the content of all bytes that no state has."""
        for name, memory in self.pools.items():
            for byte in range(len(memory)):
                if not name.startswith("global_const") and (name, byte) not in self.states:
                    memory[byte] = None

    def run(
        self, entry: str, x: np.ndarray, interrupt: Callable[[], None] | None = None, after: int = 0
    ) -> list[list[int]]:
        """The outputs of a run; `interrupt` is called after some steps."""
        name = entry_function_name(entry)
        main = self.mod[name]
        places = main.attrs.get(IO_TENSOR_POOL_ALLOCATIONS_ATTR.name, {})
        given = [self._place(places, tensor) for tensor in main.attrs["input_tensors"]]
        results = [self._place(places, tensor) for tensor in main.attrs["output_tensors"]]
        for pointer in given:
            pointer.memory[pointer.offset : pointer.offset + 4] = x.tobytes()
        pools = [
            Pointer(self.pools[str(arg.pool_info.pool_name)])
            for arg in main.attrs[POOL_ARGS_ATTR.name]
        ]
        arguments = [*([] if places else [*given, *results]), *pools]
        steps = Interpreter(self.mod).calling(name, arguments)
        try:
            for number, _ in enumerate(steps):
                if number == after and interrupt is not None:
                    interrupt()
                    interrupt = None
        except _Return:
            pass
        if interrupt is not None:
            interrupt()
        contents = [bytes(p.memory[p.offset : p.offset + 4]) for p in results]
        return [np.frombuffer(content, np.int8).tolist() for content in contents]

    def interrupted(
        self, entry: str, x: np.ndarray, inner: Callable[[], list[list[int]]], after: int
    ) -> list[list[list[int]]]:
        """The outputs of a run, and of one that begins after some steps of it."""
        found: list[list[list[int]]] = []
        outer = self.run(entry, x, lambda: found.append(inner()), after)
        return [outer, *found]

    def _place(self, places: Mapping, tensor) -> Pointer:
        if tensor.name not in places:
            return Pointer([None] * 4)
        allocation = places[tensor.name]
        return Pointer(self.pools[str(allocation.pool_info.pool_name)], int(allocation.byte_offset))


def bytes_of_entries(mod: IRModule) -> dict[str, set[tuple[str, int]]]:
    """The bytes of workspace pools that buffers of each entry have, without states."""
    plan = mod.attrs[MEMORY_PLAN_ATTR.name]
    found: dict[str, set[tuple[str, int]]] = {}
    for entry in entries_of(mod):
        span = plan.entry_ranges[entry]
        found[entry] = {
            (str(b.pool_name), byte)
            for b in plan.buffers
            if b.kind != BufferInfoKind.STATE and not str(b.pool_name).startswith("global_const")
            if any(r.start < span.stop and span.start < r.stop for r in b.live_ranges)
            for byte in range(int(b.byte_offset), int(b.byte_offset + b.size_bytes))
        }
    return found


def bound_to_c(mod: IRModule) -> IRModule:
    """The module with target c."""
    return tvm.tirx.transform.BindTarget(tvm.target.Target("c"))(mod)
