"""Bias and factors in fewer bytes: which constants an operator takes, and that outputs stay."""

from __future__ import annotations

import numpy as np
import pytest
import tvm_ffi
from tvm import s_tir
from tvm.ir import TensorLoad, Var

from support.kernel_loops import output_of, plain_call
from usmp.ops import quantized
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.constants.pack_constants import with_packed_constants
from usmp.ops.quantized import (
    Layout,
    OutputLimits,
    Quantization,
    Rescale,
    Rounding,
    TransposedSide,
    Window,
    quantize_multiplier,
)
from usmp.tir.nodes import nodes_of

NHWC = Layout("NHWC")
LIMITS = OutputLimits("int8", -128, 127)
OUTPUT = Quantization("int8", (1.0,), (3,))
DATA = Quantization("int8", (0.02,), (-5,))
STORED = Quantization("int8", (0.01,), (0,))
MANY, ONE = (0.01, 0.02, 0.03, 0.005), (0.01,)
BIAS = np.array([500, -700, 90000, 40], np.int32)
WINDOW = Window((4, 5), (3, 2), (1, 1), (1, 1), (1, 0), (4, 4))


def rescale_of(factors, rounding=Rounding.TWICE) -> Rescale:
    return Rescale(tuple(map(quantize_multiplier, factors)), OUTPUT, LIMITS, rounding)


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-127, 128, shape).astype(np.int8)


def convolution(bias=BIAS, factors=MANY, rounding=Rounding.TWICE, weight=None, stored=STORED):
    """A convolution of four channels, with a rectifier behind it."""
    weight = weights(4, 3, 2, 3) if weight is None else weight

    def make(builder, x):
        ends = (DATA, rescale_of(factors, rounding), NHWC, stored)
        y = builder.emit(quantized.conv2d(builder, x, weight, bias, WINDOW, *ends))
        return quantized.relu(builder, y, OUTPUT, OUTPUT, LIMITS)

    return plain_call(make, (1, 4, 5, 3))


def depthwise():
    ends = (BIAS // 100, WINDOW, DATA, rescale_of(MANY), NHWC, STORED)
    return plain_call(
        lambda b, x: quantized.depthwise_conv2d(b, x, weights(3, 2, 4), *ends), (1, 4, 5, 4)
    )


def dense():
    ends = (BIAS // 100, DATA, STORED, rescale_of(MANY))
    return plain_call(lambda b, x: quantized.fully_connected(b, x, weights(4, 7), *ends), (3, 7))


def transposed():
    sides = tuple(TransposedSide(n, 3, 2, 0, 2 * n + 1) for n in (4, 5))
    ends = (BIAS, sides, DATA, rescale_of(MANY), NHWC, STORED)
    return plain_call(
        lambda b, x: quantized.transpose_conv2d(b, x, weights(4, 3, 3, 3), *ends), (1, 4, 5, 3)
    )


def types_of(call: OperatorCall) -> list[tuple[str, tuple[int, ...]]]:
    """The types and shapes of the constants behind the weight."""
    constants = [array for array in call.constants if array is not None]
    return [(str(array.dtype), array.shape) for array in constants[1:]]


def assert_same(call: OperatorCall, packed: OperatorCall) -> None:
    shape = [int(extent) for extent in call.func.params[0].shape]
    dtype = str(call.func.params[0].dtype)
    limits = np.iinfo(dtype)
    x = np.random.default_rng(1).integers(limits.min, limits.max + 1, shape).astype(dtype)
    results = [
        output_of(each.func, [x if array is None else array for array in each.constants])
        for each in (call, packed)
    ]
    np.testing.assert_array_equal(results[1], results[0])
    assert len(np.unique(results[0])) > 3


@pytest.mark.cc
@pytest.mark.parametrize("make", [convolution, depthwise, dense, transposed])
def test_factors_of_channels_are_packed_with_their_biases(make):
    call = make()
    packed = with_packed_constants(call)
    assert types_of(call) == [("int32", (4,))] * 3
    assert types_of(packed) == [("uint16", (4, 3))]
    assert [argument for argument in packed.arguments if isinstance(argument, int)] == [0, 1]
    assert_same(call, packed)


@pytest.mark.parametrize(
    ("changes", "types"),
    [
        ({"factors": ONE}, ["int32"]),
        ({"factors": ONE * 4}, ["int32"]),
        ({"factors": ONE, "bias": BIAS // 10}, ["int16"]),
        ({"factors": ONE, "bias": None}, []),
        ({"factors": ONE, "bias": BIAS * 0}, []),
        ({"rounding": Rounding.AS_FLOAT}, ["int32", "int32", "int8"]),
        ({"rounding": Rounding.AS_FLOAT, "bias": None}, ["int32", "int8"]),
        # With more than 30 bits for factors and biases.
        ({"bias": BIAS * 100, "factors": (1e-4, 2e-4, 1e-5, 3e-4)}, ["uint16", "uint8"]),
        # A factor of more than 1 has no record.
        ({"factors": (1.5, 0.01, 0.02, 0.03)}, ["int32", "int32", "int8"]),
    ],
)
@pytest.mark.cc
def test_other_constants_are_as_narrow_as_they_can_be(changes, types):
    call = convolution(**changes)
    packed = with_packed_constants(call)
    assert [dtype for dtype, _ in types_of(packed)] == types
    assert packed.ending is not None
    assert_same(call, packed)


@pytest.mark.cc
@pytest.mark.parametrize("zero_point", [0, 7])
def test_weights_that_make_no_difference_are_zero(zero_point):
    """Of a channel whose output is at a limit for all inputs."""
    bias = np.array([500, 2**28, -700, 40], np.int32)
    call = convolution(bias, stored=Quantization("int8", (0.01,), (zero_point,)))
    packed = with_packed_constants(call)
    weight = packed.constants[1]
    assert weight is not None
    assert [bool((channel == zero_point).all()) for channel in weight] == [0, 1, 0, 0]
    assert packed.arguments[1] is weight
    assert_same(call, packed)


@pytest.mark.parametrize("changes", [{}, {"factors": ONE}, {"factors": ONE, "bias": None}])
def test_regions_that_blocks_read_are_those_of_their_loads(changes):
    """Schedules rely on them."""
    body = with_packed_constants(convolution(**changes)).func.body.block.body
    for realize in nodes_of(body, s_tir.SBlockRealize):
        block = realize.block
        written = {region.source for region in block.writes}
        loaded = {load.source for load in nodes_of(block.body, TensorLoad)}
        assert {region.source for region in block.reads} == loaded - written


def test_other_operators_stay():
    call = plain_call(lambda b, x: quantized.relu(b, x, OUTPUT, OUTPUT, LIMITS), (1, 4))
    assert with_packed_constants(call) is call


def test_constants_that_something_else_reads_stay():
    """As one that is both the multiplier and the shift."""
    call = convolution()
    *_, multiplier, shift, _ = call.func.params
    func = tvm_ffi.structural_map(
        call.func, (Var, lambda var: multiplier if var.same_as(shift) else var)
    )
    shared = OperatorCall(func, call.constants)
    assert with_packed_constants(call).ending is not None
    assert with_packed_constants(shared) is shared
