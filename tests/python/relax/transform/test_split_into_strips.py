"""Chains of operators in strips: results stay as they are, and the peak is lower."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from tvm import relax
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

import usmp
from support.c_program import SANITIZERS, run_as_program
from support.channel_networks import Style, random_network
from support.levels import number
from support.planner_contexts import planner_context
from support.relax_passes import passes_until
from support.relax_vm import integer_function
from usmp.aot_pipeline import lower_to_aot
from usmp.objects.attributes.module_attributes import STRIPS_ATTR
from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.form import Interval
from usmp.ops.macs import macs_of
from usmp.ops.quantized import (
    Layout,
    OutputLimits,
    Quantization,
    QuantizedMultiplier,
    Rescale,
    Window,
)
from usmp.planning.options import planning_options
from usmp.relax.transform import SplitIntoStrips
from usmp.relax.transform.strips.choice import strip_choices
from usmp.relax.transform.strips.rewrite import with_strips
from usmp.relax.transform.strips.strip_chain import StripChain, StripMain, strip_chain, strip_main
from usmp.transform import OrderOperators

NHWC = Layout("NHWC")
SCALE = Quantization("int8", (1.0,), (3,))
LIMITS = OutputLimits("int8", -128, 127)
RESCALE = Rescale((QuantizedMultiplier(1 << 30, -3),), SCALE, LIMITS)
OFF = {"disabled_pass": ["usmp.PruneConstantChannels"]}


class Network:
    """A Relax `main` of operators on images."""

    def __init__(self, *shape: int) -> None:
        self.builder = relax.BlockBuilder()
        self.x = relax.Var("x", relax.TensorType((1, *shape), "int8"))
        self.values = np.random.default_rng(0)

    def build(self, layers) -> IRModule:
        """The module whose `main` gives what `layers` makes of the image."""
        with self.builder.function("main", [self.x]):
            with self.builder.dataflow():
                result = self.builder.emit_output(layers(self.x))
            self.builder.emit_func_output(result)
        return self.builder.get()

    def conv(self, data, outputs, kernel=3, stride=1, dilation=1, padding=1):
        """A convolution, the same in both directions."""
        _, height, width, channels = shape_of(data)
        weight = self.values.integers(-127, 128, (outputs, kernel, kernel, channels), np.int8)
        bias = self.values.integers(-500, 500, outputs, np.int32)
        reach = (kernel - 1) * dilation + 1
        rows, columns = ((e + 2 * padding - reach) // stride + 1 for e in (height, width))
        pairs = ((n, n) for n in (kernel, stride, dilation, padding))
        window = Window((height, width), *pairs, (rows, columns))
        ends = (weight, bias, window, SCALE, RESCALE, NHWC, SCALE)
        return self.builder.emit(quantized.conv2d(self.builder, data, *ends))

    def add(self, left, right):
        """The sum of two images."""
        three = (SCALE, SCALE, SCALE)
        return self.builder.emit(quantized.add(self.builder, left, right, three, LIMITS))


def main_of(mod: IRModule, **options) -> StripMain:
    return strip_main(mod, planning_options(planner_context(options)))


def ranges_of(chain: StripChain, main: StripMain) -> list[list[Interval]]:
    """By strip, the columns of each result in the chain."""
    chosen = main.variables[chain.start : chain.stop]
    return [[ranges[var] for var in chosen] for ranges in chain.strips]


def products(mod: IRModule) -> int:
    """The multiply-accumulates of all calls in `main`."""
    values = [b.value for block in mod["main"].body.blocks for b in block.bindings]
    calls = [v for v in values if isinstance(v, relax.Call) and v.op.name == "relax.call_tir"]
    return sum(macs_of(mod[call.args[0]]) or 0 for call in calls)


def assert_same(mod: IRModule, other: IRModule) -> None:
    """Both give the same of random images."""
    whole, strips = integer_function(mod), integer_function(other)
    for inputs in random_images(mod):
        for found, expected in zip(strips(inputs), whole(inputs), strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)


def assert_same_built(mod: IRModule, other: IRModule, **config) -> None:
    """So do the modules that are built of both, the latter with options."""
    with planner_context(OFF):
        whole = usmp.build(mod).load()
    with planner_context({**OFF, **config}):
        strips = usmp.build(other).load()
    for inputs in random_images(mod):
        expected, found = whole.run(inputs), strips.run(inputs)
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array, strict=True)


def random_images(mod: IRModule) -> Iterator[dict[str, np.ndarray]]:
    """Six values of the input."""
    (x,) = mod["main"].params
    dtype, generator = str(x.ty.dtype), np.random.default_rng(1)
    limits = np.iinfo(dtype)
    for _ in range(6):
        yield {"x": generator.integers(limits.min, limits.max + 1, shape_of(x)).astype(dtype)}


def test_columns_that_strips_need():
    network = Network(6, 11, 2)
    mod = network.build(
        lambda x: network.conv(network.conv(network.conv(x, 4), 4, stride=2), 3, dilation=2)
    )
    main = main_of(mod)
    chain = strip_chain(main, 0, 3, 2)
    assert chain is not None
    # Of 11, 6 and 4 columns.
    assert ranges_of(chain, main) == [
        [(0, 10), (0, 5), (0, 2)],
        [(1, 11), (1, 6), (2, 4)],
    ]


def test_multiply_accumulates_are_counted():
    network = Network(8, 12, 3)
    mod = network.build(lambda x: network.conv(network.conv(x, 4), 4))
    main = main_of(mod)
    chain = strip_chain(main, 0, 2, 3)
    assert chain is not None and main.macs == products(mod)
    # Two more columns on each inner border of the first convolution.
    assert chain.extra_macs == 4 * 8 * 9 * 3 * 4
    assert products(with_strips(main, [chain])) == main.macs + chain.extra_macs == chain.macs


@pytest.mark.slow
@pytest.mark.cc
def test_from_a_view_to_an_output():
    network = Network(6, 10, 4)

    def layers(x):
        y = network.builder.emit(relax.op.reshape(x, (1, 4, 12, 5)))
        return network.conv(network.conv(y, 3), 6)

    mod = relax.transform.CanonicalizeBindings()(network.build(layers))
    main = main_of(mod)
    assert strip_chain(main, 0, 2, 2) is None
    chain = strip_chain(main, 1, 3, 3)
    assert chain is not None and chain.stop == len(main.operators)
    split = with_strips(main, [chain])
    relax.analysis.well_formed(split)
    assert_same(mod, split)
    by_rows = main_of(mod, stream_inputs="x")
    assert strip_chain(by_rows, 1, 2, 2) is None and strip_chain(by_rows, 2, 3, 2) is not None


def test_what_is_no_chain():
    network = Network(8, 12, 3)

    def layers(x):
        y = network.conv(x, 3)
        z = network.conv(y, 3)
        return network.add(network.builder.emit(relax.op.nn.relu(z)), y)

    main = main_of(network.build(layers))
    # Another operator is between, which reads what the chain would keep for itself.
    assert strip_chain(main, 0, 2, 2) is None
    assert strip_chain(main, 1, 3, 2) is None
    assert strip_chain(main, 1, 2, 13) is None
    assert strip_chain(main, 1, 2, 12) is not None
    by_rows = main_of(main.mod, stream_inputs="x")
    assert strip_chain(by_rows, 0, 1, 2) is None and strip_chain(by_rows, 1, 2, 2) is not None


def large() -> IRModule:
    """A network whose first tensors are wide and whose last one is small."""
    network = Network(24, 24, 1)

    def layers(x):
        y = network.conv(network.conv(x, 16, stride=2), 16)
        return network.conv(network.conv(y, 16), 4, stride=2)

    return network.build(layers)


@pytest.mark.slow
def test_the_peak_is_lower_and_the_report_says_so():
    mod = large()
    factories = {}
    for limit in (0, "40%"):
        with PassContext(config={"tir.usmp.max_extra_macs": limit}):
            factories[limit] = usmp.build(mod)
    memories = {limit: f.metadata["modules"]["default"]["memory"] for limit, f in factories.items()}
    assert "strips" not in memories[0]
    said = memories["40%"]["strips"]
    assert said["max_extra_macs"] == 40
    assert said["macs_before"] < said["macs"] <= 1.4 * said["macs_before"]
    (chain,) = said["chains"]
    assert chain["operators"][0] == "conv2d" and chain["strips"] >= 2
    peaks = {
        limit: sum(p["peak_bytes"] for p in memory["pools"] if p["kind"] == "workspace")
        for limit, memory in memories.items()
    }
    assert peaks["40%"] == said["peak_bytes"] < said["unsplit_peak_bytes"] <= peaks[0]
    assert said["peak_bytes"] == min(choice["peak_bytes"] for choice in said["choices"])


def test_a_limit_that_permits_nothing_leaves_the_module():
    mod = large()
    split = SplitIntoStrips()
    assert split(mod).same_as(mod)
    for limit in (0, 0.0, "0.001%"):
        with PassContext(config={"tir.usmp.max_extra_macs": limit}):
            assert split(mod).same_as(mod)
    with PassContext(config={"tir.usmp.max_extra_macs": "50%"}, disabled_pass=["StreamOperators"]):
        assert split(mod).same_as(mod)


def test_an_input_by_rows_leaves_strips_to_others():
    network = Network(24, 24, 1)

    def layers(x):
        y = network.conv(network.conv(x, 2), 16)
        return network.conv(network.conv(y, 16), 4, stride=2)

    main = main_of(network.build(layers), stream_inputs="x")
    for chains in (choices := strip_choices(main, main.macs)):
        assert all(chain.start > 0 for chain in chains)
    assert choices


@pytest.mark.slow
def test_strips_are_taken_once():
    with PassContext(config={"tir.usmp.max_extra_macs": "40%"}):
        mod = SplitIntoStrips()(large())
        assert STRIPS_ATTR.name in mod.attrs
        assert SplitIntoStrips()(mod).same_as(mod)


@pytest.mark.parametrize("limit", ["-1%", "ten", float("nan"), -3])
def test_a_limit_that_is_no_percentage(limit):
    refused = pytest.raises(ValueError, match=r"tir\.usmp\.max_extra_macs: .* is no percentage")
    with PassContext(config={"tir.usmp.max_extra_macs": limit}), refused:
        SplitIntoStrips()(large())


@pytest.mark.slow
def test_strips_stay_in_their_order():
    main = main_of(large())
    chain = strip_chain(main, 0, 4, 2)
    assert chain is not None
    mod = lower_to_aot(with_strips(main, [chain]))
    assert "usmp.search" in OrderOperators()(mod).attrs
    marked = mod.with_attr(STRIPS_ATTR.name, {"chains": [{"strips": 2}]})
    assert OrderOperators()(marked).same_as(marked)


def any_strips(mod: IRModule, seed: int) -> IRModule:
    """The module with random chains in strips."""
    random, main = Random(seed), main_of(mod)
    chains, at = [], 0
    while at < len(main.operators):
        found = [
            chain
            for stop in range(at + 1, len(main.operators) + 1)
            for count in (2, 3, 4)
            if (chain := strip_chain(main, at, stop, count)) is not None
        ]
        if found:
            chains.append(random.choice(found))
            at = chains[-1].stop
        else:
            at += 1
    return with_strips(main, chains)


def random_strips(seed: int) -> tuple[IRModule, IRModule]:
    """A network with windows of all sorts, pools, sums of two branches; and the same in strips."""
    style = Style(["int8", "uint8"][seed % 2], image=(6, 13), dilations=((1, 1), (1, 2), (2, 2)))
    mod = random_network(seed, style)
    split = any_strips(mod, seed)
    assert not split.same_as(mod)
    return mod, split


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("seed", range(6))
def test_outputs_of_random_networks_stay_as_they_are(seed):
    assert_same(*random_strips(seed))


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("seed", range(number(1, 6)))
def test_outputs_of_planned_networks_stay_as_they_are(seed):
    assert_same_built(*random_strips(seed), use_workspace_io=True, debug="poison_dead_bytes")


@pytest.mark.slow
@pytest.mark.cc
def test_a_residual_block_with_sanitizers(tmp_path):
    network = Network(9, 15, 2)

    def layers(x):
        y = network.conv(x, 5, stride=2)
        z = network.add(network.conv(network.conv(y, 7), 5, dilation=2, padding=2), y)
        return network.conv(z, 3, kernel=2, padding=0)

    mod = network.build(layers)
    main = main_of(mod)
    chain = strip_chain(main, 0, 5, 3)
    assert chain is not None
    (x,) = mod["main"].params
    data = np.random.default_rng(2).integers(-128, 128, (4, *shape_of(x)), np.int8).tobytes()
    # Other tests build strips with what follows; here they only have to be run.
    with PassContext(config={"tir.usmp.optimize": "ram"}, disabled_pass=["StreamOperators"]):
        factories = {"whole": usmp.build(mod), "strips": usmp.build(with_strips(main, [chain]))}
    whole, strips = (
        run_as_program(factory, tmp_path / name, (*SANITIZERS, "-O0"), data)
        for name, factory in factories.items()
    )
    assert strips == whole and len(set(whole)) > 20


@pytest.mark.slow
@pytest.mark.models
def test_what_is_chosen_of_a_public_model(shared_model):
    before = passes_until("usmp.PruneConstantChannels")
    main = main_of(before(usmp.import_model(shared_model("mlperf_vww_96_int8"))))
    assert strip_choices(main, main.macs // 20) == []
    (chains,) = strip_choices(main, main.macs // 10)
    (chain,) = chains
    assert (chain.start, chain.stop, len(chain.strips)) == (0, 8, 2)
    assert chain.extra_macs == 239232
