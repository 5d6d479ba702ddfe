"""The operators of PT2E: every form of them, and what a quantized model looks like in Relax."""

from __future__ import annotations

import numpy as np
import pytest
from tvm.ir import GenericConst

import usmp
from support.lazy import TorchModule, lazy
from support.pytorch_models import (
    Function,
    Mobile,
    Perceptron,
    Residual,
    example_of,
    exported,
    quantized,
    seeded,
    torch,
)
from support.qdq_models import assert_between_quantizers, raw_calls_of

import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")


@pytest.fixture(autouse=True)
def operators():
    """That module registers them."""
    pytest.importorskip("torch.ao.quantization.fx._decomposed")


def row():
    return torch.tensor([[-40.0, -1.25, -0.75, 0.0, 0.75, 1.25, 40.0]])


def quantize(x, *arguments, form="per_tensor"):
    return getattr(torch.ops.quantized_decomposed, f"quantize_{form}")(x, *arguments)


def dequantize(x, *arguments, form="per_tensor"):
    return getattr(torch.ops.quantized_decomposed, f"dequantize_{form}")(x, *arguments)


def check_like_pytorch(module, *operators: str) -> None:
    mod = import_pytorch(exported(module, row()))
    assert [call.op.name for call in raw_calls_of(mod)] == [f"relax.{name}" for name in operators]
    (output,) = usmp.build(mod).run({"x": row().numpy()}).values()
    expected = module(row()).numpy()
    assert output.dtype == expected.dtype
    np.testing.assert_array_equal(output, expected)


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(
    ("low", "high", "dtype"), [(-128, 127, "int8"), (0, 255, "uint8")], ids=str
)
def test_per_tensor(low, high, dtype):
    arguments = (0.25, 3, low, high, getattr(torch, dtype))
    check_like_pytorch(Function(lambda x: quantize(x, *arguments)), "quantize")
    both = Function(lambda x: dequantize(quantize(x, *arguments), *arguments))
    check_like_pytorch(both, "quantize", "dequantize")


@pytest.mark.cc
def test_narrow_range_is_clipped():
    arguments = (0.25, 0, -127, 127, torch.int8)
    check_like_pytorch(Function(lambda x: quantize(x, *arguments)), "quantize", "clip")


class TensorParameters(TorchModule):
    """The scale and the zero point as buffers, of one element."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor([0.25]))
        self.register_buffer("zero_point", torch.tensor([3]))

    def forward(self, x):
        arguments = (self.scale, self.zero_point, -128, 127, torch.int8)
        return dequantize(quantize(x, *arguments), *arguments)


@pytest.mark.slow
@pytest.mark.cc
def test_parameters_in_tensors():
    check_like_pytorch(TensorParameters(), "quantize", "dequantize")
    for call in raw_calls_of(import_pytorch(exported(TensorParameters(), row()))):
        assert [argument.value.shape for argument in call.args[1:]] == [(), ()]


class ChannelParameters(TorchModule):
    """A scale and a zero point for each element of the second axis."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scales", 2.0 ** torch.arange(-6, 1))
        self.register_buffer("zero_points", torch.arange(7))

    def forward(self, x):
        arguments = (self.scales, self.zero_points, 1, -128, 127, torch.int8)
        both = quantize(x, *arguments, form="per_channel")
        return dequantize(both, *arguments, form="per_channel")


@pytest.mark.slow
@pytest.mark.cc
def test_per_channel():
    check_like_pytorch(ChannelParameters(), "quantize", "dequantize")


@pytest.mark.slow
@pytest.mark.cc
def test_parameters_computed_at_run_time():
    def dynamic(x):
        return quantize(x, x.abs().max() / 127, torch.tensor(0), -128, 127, torch.int8)

    with pytest.raises(usmp.UnsupportedModelError) as error:
        import_pytorch(exported(Function(dynamic), row()))
    assert str(error.value).endswith("the quantization parameter div is computed at run time")


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize(
    ("make", "operators"),
    [
        (Residual, "add conv2d matmul mean permute_dims relu reshape"),
        (Mobile, "add avg_pool2d clip conv2d matmul permute_dims reshape"),
        (Perceptron, "add matmul permute_dims relu"),
    ],
)
def test_only_float_operators_stand_between_quantizers(make, operators):
    mod = import_pytorch(exported(quantized(seeded(make)), example_of(make)))
    assert_between_quantizers(mod, operators.split())
    for call in raw_calls_of(mod):
        if call.op.name in ("relax.quantize", "relax.dequantize"):
            assert call.args[2].value.dtype == "int8"


@pytest.mark.slow
@pytest.mark.models
def test_weights_stay_integers():
    mod = import_pytorch(exported(quantized(seeded(Perceptron)), example_of(Perceptron)))
    weights = [
        (call.args[0].value.dtype, call.args[0].value.shape, call.args[1].value.shape)
        for call in raw_calls_of(mod)
        if call.op.name == "relax.dequantize" and isinstance(call.args[0], GenericConst)
    ]
    assert sorted(weights) == [
        ("int8", (4, 16), (4,)),
        ("int8", (16, 32), (16,)),
        ("int8", (32, 20), (32,)),
    ]
