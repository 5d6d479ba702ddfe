"""Entries that share a state: some extend it, others read it or set it."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

import usmp
from support.levels import number
from support.micro import Micro
from support.planner_contexts import planner_context
from support.poison import poisoned
from support.public_models import imported
from usmp import StateInfo

pytestmark = [pytest.mark.cc, pytest.mark.usefixtures("one_session"), pytest.mark.slow]

STREAMING = "mww_okay_nabu_v2_int8"
ONES = np.ones((40, 60), np.float32)
START = tvm.runtime.tensor(np.arange(8, dtype=np.float32).reshape(2, 4))
READ, KEPT = [StateInfo("rows", -1, START)], [StateInfo("rows", 1, START)]


@I.ir_module
class Stream:
    """`step` and `burst` put one and three rows behind the last two; `peek` reads these."""

    @R.function
    def step(x: R.Tensor((1, 4), "float32"), rows: R.Tensor((2, 4), "float32")):
        R.func_attr({"states": KEPT})
        with R.dataflow():
            new = R.nn.relu(R.max(x, axis=[0], keepdims=True))
            window = R.concat((rows, new), axis=0)
            y = R.sum(window, axis=[0])
            last = R.strided_slice(window, [0], [1], [3])
            R.output(y, last)
        return (y, last)

    @R.function
    def burst(x: R.Tensor((3, 4), "float32"), rows: R.Tensor((2, 4), "float32")):
        R.func_attr({"states": KEPT})
        with R.dataflow():
            new = R.multiply(x, R.const(2, "float32"))
            window = R.concat((rows, new), axis=0)
            y = R.max(window, axis=[0])
            last = R.strided_slice(window, [0], [3], [5])
            R.output(y, last)
        return (y, last)

    @R.function
    def peek(x: R.Tensor((1, 40), "float32"), rows: R.Tensor((2, 4), "float32")):
        R.func_attr({"states": READ})
        with R.dataflow():
            wide = R.matmul(x, R.const(ONES))
            y = R.add(R.max(wide), R.sum(rows))
            R.output(y)
        return y


class Expected:
    """What the entries compute."""

    def __init__(self) -> None:
        self.rows = START.numpy()

    def run(self, entry: str, x: np.ndarray) -> np.ndarray:
        if entry == "peek":
            return x.sum() + self.rows.sum()
        new = np.maximum(x, 0) if entry == "step" else 2 * x
        window = np.concatenate([self.rows, new])
        self.rows = window[-2:]
        return window.sum(axis=0) if entry == "step" else window.max(axis=0)


SHAPES = {"step": (1, 4), "burst": (3, 4), "peek": (1, 40)}


def build(model, **options):
    with planner_context(options):
        return usmp.build(model)


def assert_computes(factory: usmp.AOTExecutorFactoryModule) -> None:
    module, expected, random = factory.load(), Expected(), np.random.default_rng(0)
    for _ in range(60):
        entry = random.choice(list(SHAPES))
        x = random.integers(-8, 9, SHAPES[entry]).astype("float32")
        (actual,) = module.run({"x": x}, entry).values()
        np.testing.assert_array_equal(actual, expected.run(entry, x))


@pytest.mark.parametrize("io", [False, True], ids=["own-io", "workspace-io"])
@pytest.mark.parametrize("algorithm", ["auto", "greedy_by_size"])
def test_entries_extend_one_state(io, algorithm):
    factory = build(Stream, use_workspace_io=io, algorithm=algorithm)
    assert_computes(factory)
    assert_computes(poisoned(factory))


def test_the_state_is_at_one_place_with_what_each_entry_puts_behind_it():
    placed = {str(b.name): b for b in build(Stream).memory_plan.buffers}
    state = placed["rows"]
    assert (state.kind, state.size_bytes) == (3, 32)
    behind = [b for b in placed.values() if b.byte_offset == state.byte_offset + 32 and b.kind == 0]
    sizes = {str(b.function): int(b.size_bytes) for b in behind if "rows_new_rows" in b.name}
    assert sizes == {"__tvm_step__": 16, "__tvm_burst__": 48}


@pytest.mark.parametrize(
    ("name", "streamed", "algorithm", "other_bytes"),
    # The search that proves nothing finds the same plans sooner.
    [
        ("mlperf_strww_int8", False, "hill_climb", 3840),
        ("mlperf_kws_int8", True, "hill_climb", 4314),
        ("mlperf_strww_int8", False, "auto", 3840),
        ("mlperf_kws_int8", False, "auto", 9792),
    ][: number(2, 4)],
)
def test_other_memory_is_not_divided_by_what_lies_behind_states(
    shared_model, name, streamed, algorithm, other_bytes
):
    """The other model needs little but its largest buffer, or but its input and some rows."""
    paths = {"words": shared_model(STREAMING), "other": shared_model(name)}
    models = {name: imported(path) for name, path in paths.items()}
    disabled = () if streamed else ("StreamOperators",)
    factory = build(models, use_workspace_io=True, disabled_pass=disabled, algorithm=algorithm)
    (pool,) = (pool for pool in factory.interface.pools if pool.kind == "workspace")
    assert other_bytes + 3473 <= pool.size_bytes <= other_bytes + 3473 + 16


def test_a_streaming_model_beside_another_one(shared_model):
    """The other one runs in between, and what is dead is overwritten after each call."""
    paths = {"words": shared_model(STREAMING), "hello": shared_model("tflm_hello_world_int8")}
    models = {name: imported(path) for name, path in paths.items()}
    # Nothing smaller is possible, which takes long to prove.
    factory = build(models, use_workspace_io=True, algorithm="hill_climb")
    (pool,) = (pool for pool in factory.interface.pools if pool.kind == "workspace")
    assert pool.size_bytes == 3873
    module = poisoned(factory).load()
    reference, other = Micro(paths["words"]), Micro(paths["hello"])
    for step in range(number(60, 200)):
        inputs = other.random_inputs(step)
        assert module.run(inputs, "hello") == other.run(inputs)
        inputs = reference.random_inputs(step)
        (expected,) = reference.run(inputs).values()
        (actual,) = module.run(inputs, "words").values()
        assert actual.tobytes() == expected.tobytes()
