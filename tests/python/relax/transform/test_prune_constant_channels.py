"""Channels that are constant, or that nothing reads, are not computed; results stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.ir import IRModule

import usmp
from support.channel_networks import random_network
from support.levels import in_long_run, number
from support.planner_contexts import planner_context
from support.relax_passes import passes_until
from support.relax_vm import integer_function
from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.quantized import (
    Layout,
    OutputLimits,
    Quantization,
    QuantizedMultiplier,
    Rescale,
    Window,
)
from usmp.ops.quantized.rescaling.weighted_constants import CONSTANTS
from usmp.ops.records import operator_of
from usmp.relax.transform import PruneConstantChannels
from usmp.support.errors import UnsupportedModelError

NHWC = Layout("NHWC")
SCALE = Quantization("int8", (1.0,), (0,))
LIMITS = OutputLimits("int8", -128, 127)
RESCALE = Rescale((QuantizedMultiplier(1 << 30, 1),), SCALE, LIMITS)
OFF = {"disabled_pass": ["usmp.PruneConstantChannels"]}

Build = Callable[[relax.BlockBuilder, relax.Expr], relax.Expr]
Run = Callable[[dict[str, np.ndarray]], Iterable[np.ndarray]]


def network(body: Build, shape: Sequence[int] = (1, 4, 4, 2)) -> IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, "int8"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(body(builder, x))
        builder.emit_func_output(y)
    return builder.get()


def convolved(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    weight: Sequence[Sequence[int]],
    bias: Sequence[int],
    kernel: int = 1,
    padding: int = 0,
) -> relax.Expr:
    """A convolution of factor 1 whose taps all have the weight, (outputs, channels)."""
    values = np.array(weight, np.int8)[:, None, None]
    values = np.tile(values, (1, kernel, kernel, 1))
    _, height, width, _ = shape_of(data)
    output = [extent + 2 * padding - kernel + 1 for extent in (height, width)]
    window = Window(
        (height, width), (kernel, kernel), (1, 1), (1, 1), (padding, padding), (*output,)
    )
    ends = (np.array(bias, np.int32), window, SCALE, RESCALE, NHWC, SCALE)
    return quantized.conv2d(builder, data, values, *ends)


def constant_in_the_middle(builder: relax.BlockBuilder, data: relax.Expr) -> relax.Var:
    """Channels 0 and 2 are computed, channel 1 is 9."""
    return builder.emit(convolved(builder, data, [[1, 0], [0, 0], [1, 1]], [0, 9, 0]))


def shapes(mod: IRModule) -> list[tuple[int, ...]]:
    """What is computed in `main`, in order."""
    return [
        shape_of(binding.var) for block in mod["main"].body.blocks for binding in block.bindings
    ]


def constants_of(mod: IRModule, index: int) -> dict[str, np.ndarray]:
    """Weight and bias of the operator at an index of `main`."""
    (block,) = mod["main"].body.blocks
    call = block.bindings[index].value
    given = [argument.value.numpy() for argument in call.args[1].fields[1:]]
    return dict(zip(CONSTANTS, given, strict=True))


def test_the_share_of_a_constant_channel_becomes_part_of_the_bias():
    def body(builder, x):
        y = constant_in_the_middle(builder, x)
        return convolved(builder, y, [[1, 2, 3], [4, 5, 6]], [10, 20], kernel=2)

    pruned = PruneConstantChannels()(network(body))
    assert shapes(pruned) == [(1, 4, 4, 2), (1, 3, 3, 2)]
    first, second = (constants_of(pruned, index) for index in (0, 1))
    assert first["weight"][:, 0, 0].tolist() == [[1, 0], [1, 1]]
    assert second["weight"][:, 1, 1].tolist() == [[1, 3], [4, 6]]
    # Four taps are on the channel that is 9.
    assert second["bias"].tolist() == [10 + 4 * 2 * 9, 20 + 4 * 5 * 9]
    assert dict(pruned.attrs["pruned_channels"]) == {
        "channels": 1,
        "weights_size_bytes_before": 6 + 24,
        "weights_size_bytes": 4 + 16,
        "macs_before": 16 * 6 + 9 * 24,
        "macs": 16 * 4 + 9 * 16,
    }


def test_a_channel_beside_which_there_is_padding_stays_unless_it_is_the_zero_point():
    for bias, channels in [(9, 3), (0, 2)]:

        def body(builder, x, bias=bias):
            y = builder.emit(convolved(builder, x, [[1, 0], [0, 0], [1, 1]], [0, bias, 0]))
            return convolved(builder, y, [[1, 2, 3]], [10], kernel=3, padding=1)

        assert shapes(PruneConstantChannels()(network(body))) == [
            (1, 4, 4, channels),
            (1, 4, 4, 1),
        ]


def test_channels_that_are_computed_and_not_read():
    def body(builder, x):
        y = builder.emit(convolved(builder, x, [[1, 0], [1, 1], [2, 3]], [0, 0, 0]))
        return convolved(builder, y, [[0, 1, 0], [5, 0, 0]], [0, 0], kernel=3, padding=1)

    assert shapes(PruneConstantChannels()(network(body))) == [(1, 4, 4, 2), (1, 4, 4, 2)]


def test_outputs_of_the_model_keep_their_channels_and_take_fewer_weights():
    def body(builder, x):
        y = builder.emit(convolved(builder, x, [[1, 0], [1, 1]], [0, 0]))
        return convolved(builder, y, [[0, 3], [0, 0], [1, 0]], [1, 2, 30000])

    pruned = PruneConstantChannels()(network(body))
    assert shapes(pruned) == [(1, 4, 4, 1), (1, 4, 4, 3)]
    assert constants_of(pruned, 1)["weight"].reshape(-1).tolist() == [3, 0, 0]


def test_depthwise_convolutions_lose_what_goes_in_and_what_comes_out():
    def body(builder, x):
        y = constant_in_the_middle(builder, x)
        window = Window((4, 4), (2, 2), (1, 1), (1, 1), (0, 0), (3, 3))
        weight = np.arange(12, dtype=np.int8).reshape(2, 2, 3)
        z = quantized.depthwise_conv2d(
            builder, y, weight, None, window, SCALE, RESCALE, NHWC, SCALE
        )
        return convolved(builder, builder.emit(z), [[1, 2, 3]], [10])

    pruned = PruneConstantChannels()(network(body))
    assert shapes(pruned) == [(1, 4, 4, 2), (1, 3, 3, 2), (1, 3, 3, 1)]
    assert constants_of(pruned, 1)["weight"].reshape(4, 2).tolist() == [
        [0, 2],
        [3, 5],
        [6, 8],
        [9, 11],
    ]
    # 1 + 4 + 7 + 10 is 22; 22 * 9 is beyond the type.
    assert constants_of(pruned, 2)["bias"].tolist() == [10 + 2 * 127]


def test_sums_keep_a_channel_that_one_of_the_terms_needs():
    def body(builder, x, bias):
        y = constant_in_the_middle(builder, x)
        z = builder.emit(convolved(builder, x, [[2, 1], [bias == 0, 0], [1, 3]], [0, bias, 0]))
        total = quantized.add(builder, y, z, (SCALE, SCALE, SCALE), LIMITS)
        return convolved(builder, builder.emit(total), [[1, 2, 3]], [10])

    pruned = PruneConstantChannels()(network(lambda builder, x: body(builder, x, 5)))
    assert shapes(pruned) == [(1, 4, 4, 2)] * 3 + [(1, 4, 4, 1)]
    assert constants_of(pruned, 3)["bias"].tolist() == [10 + 2 * (9 + 5)]
    before = network(lambda builder, x: body(builder, x, 0))
    assert PruneConstantChannels()(before).same_as(before)


def test_means_views_and_matrix_products():
    def body(builder, x):
        y = constant_in_the_middle(builder, x)
        pooled = builder.emit(quantized.mean(builder, y, [1, 2], SCALE, SCALE))
        flat = builder.emit(relax.op.reshape(y, (1, 48)))
        weight = np.ones((1, 48), np.int8)
        small = quantized.fully_connected(
            builder, flat, weight, np.array([7], np.int32), SCALE, SCALE, RESCALE
        )
        of_mean = quantized.fully_connected(
            builder, pooled, np.ones((1, 3), np.int8), None, SCALE, SCALE, RESCALE
        )
        return relax.op.concat([builder.emit(small), builder.emit(of_mean)], 1)

    pruned = PruneConstantChannels()(network(body))
    assert shapes(pruned) == [(1, 4, 4, 2), (1, 2), (1, 32), (1, 1), (1, 1), (1, 2)]
    assert constants_of(pruned, 3)["bias"].tolist() == [7 + 16 * 9]
    assert constants_of(pruned, 4)["bias"].tolist() == [9]


def test_what_no_step_is_known_of_takes_all_channels():
    def body(builder, x):
        y = constant_in_the_middle(builder, x)
        return quantized.mirror_pad(builder, y, [(0, 0), (0, 0), (1, 1), (0, 0)], "REFLECT", SCALE)

    before = network(body)
    assert PruneConstantChannels()(before).same_as(before)


def test_what_an_operator_computes_is_not_what_its_record_says():
    """The record says a clamp to [-128, 127]; the PrimFunc clamps to [-128, 5]."""

    def body(builder, x):
        y = constant_in_the_middle(builder, x)
        z = quantized.clamp(builder, y, OutputLimits("int8", -128, 5), SCALE)
        return convolved(builder, builder.emit(z), [[1, 2, 3]], [10])

    honest = network(body)
    assert shapes(PruneConstantChannels()(honest))[0] == (1, 4, 4, 2)
    record = operator_of(honest["clamp"]).as_json()
    record["parameters"]["clamp"] = [-128, 127]
    lying = IRModule(honest.functions)
    lying.update_func(
        honest.get_global_var("clamp"), honest["clamp"].with_attr("quantized_operator", record)
    )
    pruned = PruneConstantChannels()(lying)
    assert shapes(pruned)[0] == (1, 4, 4, 2)
    # The share of the channel that is 5 behind the clamp, not 9.
    assert constants_of(pruned, 2)["bias"].tolist() == [10 + 2 * 5]


def test_padding_along_the_channels_keeps_them():
    """Channels are rows of an image behind a transposition, to which padding adds one."""

    def body(builder, x):
        y = constant_in_the_middle(builder, x)
        z = builder.emit(relax.op.permute_dims(y, (0, 3, 1, 2)))
        return builder.emit(
            quantized.space_to_batch(builder, z, (1, 2), [(0, 1), (0, 0)], 0, SCALE)
        )

    mod = network(body)
    assert PruneConstantChannels()(mod).same_as(mod)


def test_an_operator_is_made_anew_under_its_name():
    def body(builder, x):
        y = constant_in_the_middle(builder, x)
        return convolved(builder, y, [[1, 2, 3]], [10])

    mod = PruneConstantChannels()(network(body).with_attr("kept", "so"))
    names = sorted(variable.name_hint for variable in mod.functions)
    assert names == ["conv2d", "conv2d1", "main"]
    assert mod.attrs["kept"] == "so"


def test_the_option_keeps_all_channels():
    def body(builder, x):
        y = constant_in_the_middle(builder, x)
        return convolved(builder, y, [[1, 2, 3]], [10])

    before = network(body)
    with planner_context(OFF):
        assert tvm.transform.Sequential([PruneConstantChannels()])(before).same_as(before)


def test_a_module_without_main():
    with pytest.raises(UnsupportedModelError, match='has no Relax function "main"'):
        PruneConstantChannels()(IRModule({}))


def assert_unchanged(mod: IRModule, whole: Run, pruned: Run, seed: int) -> None:
    """Both give the same of random images, and of images of the extremes."""
    (x,) = mod["main"].params
    dtype, generator = str(x.ty.dtype), np.random.default_rng(seed)
    limits = np.iinfo(dtype)
    for run in range(40):
        ends = [limits.min, limits.max]
        values = generator.integers(limits.min, limits.max + 1, shape_of(x))
        value = generator.choice(ends[: run or None], shape_of(x)) if run % 2 else values
        inputs = {"x": value.astype(dtype)}
        for array, expected in zip(pruned(inputs), whole(inputs), strict=True):
            np.testing.assert_array_equal(array, expected, strict=True)


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("seed", range(number(6, 12)))
def test_outputs_of_random_networks_stay_as_they_are(seed):
    mod = random_network(seed)
    pruned = PruneConstantChannels()(mod)
    assert_unchanged(mod, integer_function(mod), integer_function(pruned), seed)


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("seed", range(number(1, 12)))
def test_outputs_of_built_networks_stay_as_they_are(seed):
    mod = random_network(seed)
    with planner_context(OFF):
        whole = usmp.build(mod).load()
    pruned = usmp.build(mod).load()
    assert_unchanged(mod, *(lambda x, m=m: m.run(x).values() for m in (whole, pruned)), seed)


@pytest.mark.slow
def test_random_networks_lose_channels():
    """Or the tests above say nothing."""
    counts = [
        int(
            PruneConstantChannels()(random_network(seed))
            .attrs.get("pruned_channels", {})
            .get("channels", 0)
        )
        for seed in range(12)
    ]
    assert sum(count > 0 for count in counts) >= 6


REMOVED = {
    "mlperf_vww_96_int8": (1724, 208112, 29066, 7489664, 3727313),
    "mcunet_vww_int8": (352, 420520, 394626, 11578816, 10931325),
    "tflm_hello_world_int8": (4, 288, 220, 288, 220),
    "mlperf_ad01_int8": None,
    "mlperf_kws_int8": None,
    "mlperf_resnet8_int8": None,
    "mlperf_strww_int8": None,
}
"""Channels, bytes of weights before and after, products before and after."""

CHEAP = ["tflm_hello_world_int8", "mlperf_ad01_int8"]
"""One of which channels are removed, and one that stays as it is."""


@pytest.mark.models
@pytest.mark.parametrize(
    "name", [*CHEAP, *in_long_run([name for name in REMOVED if name not in CHEAP])]
)
def test_what_is_removed_of_public_models(shared_model, name):
    before = passes_until("usmp.PruneConstantChannels")
    attrs = before(usmp.import_model(shared_model(name))).attrs or {}
    assert removed(attrs.get("pruned_channels")) == REMOVED[name]


@pytest.mark.models
def test_metadata_say_what_is_removed(shared_model):
    name = "tflm_hello_world_int8"
    factory = usmp.build(shared_model(name))
    assert removed(factory.metadata["modules"]["default"]["pruned_channels"]) == REMOVED[name]


def removed(said: Mapping[str, int] | None) -> tuple[int, ...] | None:
    """The numbers of `REMOVED`, of the attribute or the metadata."""
    keys = ("channels", "weights_size_bytes_before", "weights_size_bytes", "macs_before", "macs")
    return None if said is None else tuple(int(said[key]) for key in keys)
