"""Several models in one archive, and what that takes of RAM, flash and time."""

import shutil

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

import usmp
from conftest import ROOT
from support import public_models
from support.levels import number
from support.planner_contexts import planner_context
from support.small_digits import small_convolutions, small_digits
from usmp import StateInfo
from usmp.relax.entries import split_entries

SMALL = {"product": small_digits(), "convolutions": small_convolutions()}
MLPERF = ["mlperf_ad01_int8", "mlperf_strww_int8", "mlperf_kws_int8"]
PEAKS = {
    "small": [(False, 400), (True, 272)],
    "mlperf": [(False, 9792), (True, 4314)],
}
"""Of models: whether operators run interleaved, and the peak."""
NAMES = ["add", "clear", "query"]
CONFIG = {"tir.usmp.algorithm": "auto", "tir.usmp.use_workspace_io": True}
ZERO, HALF = (tvm.runtime.tensor(np.float32(value)) for value in (0, 0.5))
TOTAL = [StateInfo("total", 1, HALF)]
READ = [StateInfo("total", -1, HALF)]
RESET = [StateInfo("total", 0, HALF)]


@I.ir_module
class Counter:
    """`add` adds to a total, `query` reads it, `clear` sets it to x; it starts as 0.5."""

    @R.function
    def add(x: R.Tensor((8,), "float32"), total: R.Tensor((8,), "float32")):
        R.func_attr({"states": TOTAL})
        with R.dataflow():
            new = R.add(total, x)
            wide = R.concat((new, R.nn.relu(x)), axis=0)
            y = R.sum(wide, axis=[0])
            R.output(y, new)
        return (y, new)

    @R.function
    def query(x: R.Tensor((2,), "float32"), total: R.Tensor((8,), "float32")):
        R.func_attr({"states": READ})
        with R.dataflow():
            y = R.multiply(R.take(total, R.const(np.array([1, 2]), "int64"), axis=0), x)
            R.output(y)
        return y

    @R.function
    def clear(x: R.Tensor((8,), "float32"), total: R.Tensor((8,), "float32")):
        R.func_attr({"states": RESET})
        return (x,)


def build(model, config=None, **options):
    with planner_context({**CONFIG, **(config or {})}):
        return usmp.build(model, **options)


def random_inputs(random, tensors):
    return {
        name: random.integers(-128, 128, info["shape"]).astype(info["dtype"])
        for name, info in tensors.items()
    }


@pytest.fixture(scope="module")
def small_models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, content in SMALL.items():
        (folder / f"{name}.tflite").write_bytes(content)
    return [folder / f"{name}.tflite" for name in SMALL]


@pytest.mark.slow
@pytest.mark.parametrize("models", list(PEAKS)[: number(1, 2)])
@pytest.mark.parametrize("order", [0, 1], ids=["one after the other", "interleaved"])
def test_models_in_one_archive_take_what_the_largest_takes(
    shared_model, small_models, models, order
):
    """It is also proved that no plan takes less."""
    streaming, peak = PEAKS[models][order]
    changed = {} if streaming else {"disabled_pass": ("StreamOperators",)}
    paths = small_models if models == "small" else [shared_model(name) for name in MLPERF]
    alone = {p.stem: public_models.build(p, use_workspace_io=True, **changed) for p in paths}
    together = build(paths, changed)
    sizes = {pool.kind: pool.size_bytes for pool in together.interface.pools}
    each = [{p.kind: p.size_bytes for p in factory.interface.pools} for factory in alone.values()]
    assert sizes["workspace"] == max(size["workspace"] for size in each) == peak
    assert sizes["constant"] <= sum(size["constant"] for size in each)
    bounds = together.memory_plan.pool_bounds
    assert bounds["global_workspace"].lower_bound_bytes == peak
    assert bounds["global_workspace"].optimal
    assert bounds["global_const_workspace"].optimal
    random, module = np.random.default_rng(1), together.load()
    names = [path.stem for path in paths]
    assert list(module.entries) == names
    runs = [name for name in names for _ in range(2)]
    random.shuffle(runs)
    for name in runs:
        inputs = random_inputs(random, module.entries[name].inputs)
        expected = alone[name].run(inputs)
        found = module.run(inputs, name)
        assert {k: v.tolist() for k, v in found.items()} == {
            k: v.tolist() for k, v in expected.items()
        }


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("poison", [False, True], ids=["plain", "poison"])
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_entries_share_a_state(target, poison):
    factory = build(
        Counter, {"tir.usmp.debug": ["poison_dead_bytes"] if poison else []}, target=target
    )
    module, random = factory.load(), np.random.default_rng(0)
    total = np.full(8, 0.5, np.float32)
    for _ in range(30):
        entry = random.choice(["add", "query", "clear"])
        x = random.standard_normal(2 if entry == "query" else 8).astype(np.float32)
        found = module.run({"x": x}, entry)
        if entry == "query":
            np.testing.assert_array_equal(found["output"], total[1:3] * x)
        elif entry == "clear":
            assert found == {}
            total = x
        else:
            total = total + x
            expected = total.sum() + np.maximum(x, 0).sum()
            np.testing.assert_allclose(found["output"], expected, rtol=1e-5, atol=1e-5)
    module.reset()
    x = np.ones(2, np.float32)
    assert module.run({"x": x}, "query")["output"].tolist() == [0.5, 0.5]


@pytest.mark.slow
def test_the_state_has_one_address_and_no_entry_has_it_for_something_else():
    factory = build(Counter)
    plan = factory.memory_plan
    (state,) = [b for b in plan.buffers if b.name == "total"]
    assert factory.source.count(f"[{int(state.byte_offset)}]") >= 3
    others = [b for b in plan.buffers if b.pool_name == state.pool_name and b.name != "total"]
    end = state.byte_offset + state.size_bytes
    assert all(
        b.byte_offset >= end or b.byte_offset + b.size_bytes <= state.byte_offset for b in others
    )


@pytest.mark.slow
def test_the_peak_is_that_of_the_largest_entry_and_the_state():
    factory = build(Counter)
    alone = {
        name: build(one).interface.workspace_size_bytes
        for name, one in split_entries(Counter, NAMES).items()
    }
    # Each of them has the state, of 32 bytes, and its flag.
    assert factory.interface.workspace_size_bytes <= max(alone.values())
    assert factory.memory_plan.pool_bounds["global_workspace"].optimal


@pytest.mark.slow
def test_models_are_named_by_files_numbers_or_keys():
    one = split_entries(Counter, NAMES)["add"]
    assert [e.name for e in build([one, one]).interface.entries] == ["model0", "model1"]
    assert [e.name for e in build({"x": one, "y": one}).interface.entries] == ["x", "y"]


def message(model, **options):
    with pytest.raises(ValueError) as error:
        build(model, **options)
    return str(error.value)


@pytest.mark.slow
def test_programs_that_are_refused(tmp_path):
    assert message(Counter, concurrent=[("add", "query")]) == (
        'entries "add" and "query" may run at once, but both use the state "total", which add and '
        "query may write; let them run in turn, or give each a state of its own"
    )
    assert message(Counter, concurrent=[("add", "stop")]) == (
        'concurrent entries add, stop: there is no entry "stop". Entries: add, clear, query'
    )
    assert message({"no-name": Counter}).startswith('an entry cannot be called "no-name"')
    (tmp_path / "a").mkdir()
    files = [tmp_path / "m.tflite", tmp_path / "a" / "m.tflite"]
    for file in files:
        shutil.copy(ROOT / "examples/digits/digits_int8.tflite", file)
    assert message(files) == ('two models are called "m"; give a dictionary of names and models')


def test_errors_name_the_entry():
    @I.ir_module
    class Dynamic:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            return R.unique(x)

    alone = split_entries(Counter, NAMES)["add"]
    with pytest.raises(
        usmp.UnsupportedModelError, match=r'^entry "b": tensor .* has a dynamic shape'
    ):
        build({"a": alone, "b": Dynamic})
