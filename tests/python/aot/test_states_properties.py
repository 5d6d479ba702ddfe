"""Random models with states, inputs that they update, joins and cuts compute over several runs what
numpy does.

They are planned in every way and run as TIR; between runs only the states and the
caller's arrays keep their bytes, and reading what was not written is an error.
"""

from collections import Counter
from collections.abc import Mapping
from random import Random

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.target import Target

from support import levels
from support.state_models_random import StateModel
from support.tir_interpreter import Interpreter
from support.tir_memory import Pointer
from usmp.aot.main_versions import MainVersions
from usmp.objects import (
    BufferInfoKind,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.objects.attributes.module_attributes import (
    IO_TENSOR_POOL_ALLOCATIONS_ATTR,
    MAIN_FUNCTION_NAME,
    MEMORY_PLAN_ATTR,
    POOL_ARGS_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.transform import UnifiedStaticMemoryPlanner
from usmp_solver import ALGORITHMS

pytestmark = pytest.mark.property

SEEDS = levels.seeds(18, 160)
RUNS = 3
DOES_NOT_FIT = "the space available in the provided pools exceeded"


class Model(StateModel):
    """A random model with one to three states, all of which it changes; some are inputs."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        states = ["s", "r", "q"][: random.randint(1, 3)]
        kinds = [np.int8(0), np.int8(-5), np.array([1, 2, 3, 4], np.int8), np.zeros(4, np.int8)]
        initial = {name: random.choice(kinds) for name in states}
        owner = Random(seed)
        updated = [name for name in states if owner.random() < 0.4]
        super().__init__(random, states, initial, read_only=False, updated=updated)

    def expected(self, inputs: list[np.ndarray]) -> list[list[list[int]]]:
        """The outputs of some runs, one after the other, and then what they update."""
        states = {n: np.broadcast_to(v, 4).astype(np.int8) for n, v in self.initial.items()}
        outputs = []
        for x in inputs:
            results = self.compute(x, [states[name] for name in self.states])
            states |= self.changed(results)
            given_back = [*self.returned(results), *(states[name] for name in self.updated)]
            outputs.append([result.tolist() for result in given_back])
        return outputs


def planned(
    model: Model, algorithm: str, io: bool, limits: list[int], elides: bool
) -> tvm.ir.IRModule | None:
    """The planned module, or None if the pools are too small; with all copies elided that can be,
    or as live bytes decide."""
    versions = MainVersions(model.build())
    mod, copies = versions.version()
    if elides:
        mod, _ = versions.version(range(len(copies)))
    mod = tirx.transform.BindTarget(Target("c"))(mod)
    if limits:
        sizes = [PoolInfoProperties(size_hint_bytes=limit) for limit in limits]
        pools = [WorkspacePoolInfo(f"p{i}", [Target("c")], size) for i, size in enumerate(sizes)]
        mod = mod.with_attr(WORKSPACE_MEMORY_POOLS_ATTR.name, WorkspaceMemoryPools(pools))
    config = {"tir.usmp.algorithm": algorithm, "tir.usmp.use_workspace_io": io}
    try:
        with tvm.transform.PassContext(config=config):
            return UnifiedStaticMemoryPlanner()(mod)
    except ValueError as error:
        if limits and DOES_NOT_FIT in str(error):
            return None
        raise


def run(
    mod: tvm.ir.IRModule, inputs: list[np.ndarray], initial: Mapping[str, np.ndarray]
) -> list[list[list[int]]]:
    """The outputs of some runs, one after the other, and then what they update."""
    owned = {name: np.broadcast_to(value, 4).astype(np.int8) for name, value in initial.items()}
    pools = {}
    for arg in mod.attrs[POOL_ARGS_ATTR.name]:
        memory: list[int | None] = [None] * int(arg.allocated_size)
        if isinstance(arg.pool_info, ConstantPoolInfo):
            for constant in arg.pool_info.constant_info_array:
                data, start = constant.data.numpy().tobytes(), int(constant.byte_offset)
                memory[start : start + len(data)] = data
        pools[str(arg.pool_info.pool_name)] = memory
    states = [b for b in mod.attrs[MEMORY_PLAN_ATTR.name].buffers if b.kind == BufferInfoKind.STATE]
    main = mod[MAIN_FUNCTION_NAME]
    places = mod.attrs.get(IO_TENSOR_POOL_ALLOCATIONS_ATTR.name, {})
    kept = {(str(b.pool_name), i): 0 for b in states for i in range(b.byte_offset, end(b))}
    found = []
    for x in inputs:
        for name, memory in pools.items():
            for byte in range(len(memory)):
                if name.startswith("global_const"):
                    continue
                memory[byte] = kept.get((name, byte))

        def place(tensor, pools=pools):
            if tensor.name in places:
                allocation = places[tensor.name]
                return Pointer(
                    pools[str(allocation.pool_info.pool_name)], int(allocation.byte_offset)
                )
            return Pointer([None] * 4)

        given = [place(tensor) for tensor in main.attrs["input_tensors"]]
        results = [place(tensor) for tensor in main.attrs["output_tensors"]]
        updated = {}
        for tensor, pointer in zip(main.attrs["input_tensors"], given, strict=True):
            value = owned[str(tensor.name)] if tensor.is_updated else x
            pointer.memory[pointer.offset : pointer.offset + 4] = value.tobytes()
            if tensor.is_updated:
                updated[str(tensor.name)] = pointer
        tensors = [] if places else [*given, *results]
        Interpreter(mod).call(MAIN_FUNCTION_NAME, [*tensors, *map(Pointer, pools.values())])
        back = [*results, *updated.values()]
        contents = [bytes(p.memory[p.offset : p.offset + 4]) for p in back]
        for name, content in zip(updated, contents[len(results) :], strict=True):
            owned[name] = np.frombuffer(content, np.int8)
        found.append([np.frombuffer(content, np.int8).tolist() for content in contents])
        kept = {(name, byte): pools[name][byte] for name, byte in kept}
    return found


def end(buffer) -> int:
    return int(buffer.byte_offset + buffer.size_bytes)


@pytest.mark.slow
@pytest.mark.parametrize("io", [False, True], ids=["own-io", "workspace-io"])
@pytest.mark.parametrize("pools", ["one", "several"])
def test_models_with_states_compute_the_same(io, pools):
    tried: Counter[str] = Counter()
    for seed in SEEDS:
        model, random = Model(seed), Random(seed)
        inputs = [np.frombuffer(random.randbytes(4), np.int8) for _ in range(RUNS)]
        limits = [random.choice([1, 4, 20, 40, 80]), random.choice([20, 40]), 200]
        algorithm = ALGORITHMS[seed % len(ALGORITHMS)]
        elides = random.random() < 0.5
        mod = planned(model, algorithm, io, limits if pools == "several" else [], elides)
        if mod is not None:
            assert run(mod, inputs, model.initial) == model.expected(inputs), (seed, algorithm)
            tried[algorithm] += 1
    assert min(tried[name] for name in ALGORITHMS) >= len(SEEDS) // len(ALGORITHMS) // 2
