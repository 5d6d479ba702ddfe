"""PyTorch operators compute what they do in PyTorch, or are refused by name.

`benchmarks/operators.py pytorch` compares them with many more random arguments.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.lazy import lazy
from support.levels import is_long_run
from support.operator_trials.trial import Outcome, outcome
from support.pytorch_models import Function, exported, torch

converters = lazy("usmp.frontend.pytorch.converters")
import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")

pytestmark = pytest.mark.cc

trials = lazy("support.operator_trials.pytorch")
F = lazy("torch.nn.functional")

PARTS = 6
LAYERS = ("recurrent layers", "transformer layers")
"""Their programs are long; models of them are compared in test_import_pytorch.py."""


class Recorded(dict):
    """Converters that tell which of them were used."""

    def __init__(self, converters) -> None:
        super().__init__(converters)
        self.used: set[str] = set()

    def __getitem__(self, name):
        self.used.add(name)
        return super().__getitem__(name)


def outcome_of_many(cases) -> Outcome:
    """Of one program, which is lowered in each layout of images only in a long run."""
    disabled = [] if is_long_run() else ["usmp.ConvertImageLayout"]
    with PassContext(disabled_pass=disabled):
        return outcome(trials.trial_of_cases("many", cases), ("-O0",))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_operator_is_like_pytorch(part, monkeypatch):
    """Many in one program: to export one is slow."""
    used = Recorded(converters.CONVERTERS)
    monkeypatch.setattr("usmp.frontend.pytorch.translator.CONVERTERS", used)
    names = sorted(set(trials.CASES) - set(LAYERS))[part::PARTS]
    cases = [trials.CASES[name](Random(f"{name} 0")) for name in names]
    result = outcome_of_many(cases)
    assert result.is_compared, result.detail
    assert set(names) & set(converters.CONVERTERS) <= used.used


def test_no_operator_is_accepted_that_is_never_compared():
    assert trials.registered_operators() - set(trials.CASES) == set()


X = np.array([[-3.0, -0.5, 0.0, 1.0, 2.5, 7.0]], "float32")
N = np.array([[-7, -2, 1, 3, 5, 2**24 + 1]], "int32")
NAN = np.array([1.0, np.nan, -2.0, np.nan, 3.0], "float32")
IMAGE = np.sin(np.arange(70, dtype="float32").reshape(1, 2, 5, 7))


ONCE_DIFFERENT = [
    (lambda x: torch.selu(x), X),
    (lambda x: torch.add(x, x * 2, alpha=3), X),
    (lambda x: torch.sub(x, x * 2, alpha=3), X),
    (lambda x: torch.rsub(x, 2, alpha=3), X),
    (lambda x: torch.clamp(x, 2, -1), X),
    (lambda x: F.interpolate(x, scale_factor=(1.1, 2.1), mode="nearest"), IMAGE[:, :, :, :4]),
    (lambda x: F.interpolate(x, scale_factor=1.1, mode="bilinear"), IMAGE),
    (lambda x: F.interpolate(x, scale_factor=1.1, mode="linear"), IMAGE[0]),
    (lambda x: F.interpolate(x, scale_factor=1.1, mode="trilinear"), IMAGE[:, None]),
    (lambda x: F.interpolate(x, scale_factor=2.0, mode="area"), IMAGE[:, :, :4, :1]),
    (lambda x: torch.bucketize(x, torch.tensor([0.5])), NAN),
    (lambda x: torch.cummax(x, 0), NAN),
    (lambda x: torch.cummin(x // 3, 1), X),
    (lambda x: torch.logcumsumexp(x.log(), 1), np.maximum(X, 0)),
    (lambda x: torch.linalg.vector_norm(x, -torch.inf, 1), X),
    (lambda x: torch.clamp(x, min=3), N),
    (lambda x: torch.round(x, decimals=-1), X),
    (lambda x: x / 2, N),
    (lambda x: x // 2, N),
    (lambda x: x % -2, N),
    (lambda x: x / torch.tensor(3), N),
    (lambda x: torch.fmod(x, 0.7), X),
    (lambda x: torch.remainder(x, -0.7), X),
    (lambda x: torch.div(x, 0.1, rounding_mode="floor"), X),
    (lambda x: x + 0.5, N),
    (lambda x: x > 1.5, N),
    (lambda x: x + x, X > 0),
    (lambda x: (x * x).sum(1), X > 0),
    (lambda x: -x, N.astype("uint8")),
    (lambda x: x.to(torch.bool), N),
    (lambda x: x[[0, 1], [0, 1]], IMAGE[0]),
    (lambda x: x[:, [0, -1], [1, 1]], IMAGE[0]),
    (lambda x: (x != x, x == x, x >= x, x <= x, x > x), NAN),
    (lambda x: (x + 1) != (x + 1), NAN),
    (lambda x: (torch.isfinite(x), x * 0, x - x), NAN),
    (lambda x: torch.relu(x), NAN),
    (lambda x: torch.clamp(x, -1, 2), NAN),
    (lambda x: torch.maximum(x, torch.zeros(5)), NAN),
    (lambda x: torch.maximum(torch.zeros(5), x), NAN),
    (lambda x: (x.amax(), x.argmax(), x.argmin(), x.max(0)[1], x.sign()), NAN),
    (lambda x: x.argmax(1), np.ones((2, 3), "float32")),
    (lambda x: F.celu(x, 0.3), X),
    (lambda x: torch.log1p(x * 1e-6), X),
    (lambda x: torch.expm1(x * 1e-6), X),
    (lambda x: x.var(1, correction=3), X),
    (lambda x: F.avg_pool2d(x, 2, divisor_override=3), IMAGE),
    (lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=True), IMAGE),
    (lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), IMAGE),
    (lambda x: F.adaptive_avg_pool2d(x, (3, 4)), IMAGE),
    (lambda x: F.conv2d(x[0], torch.ones(3, 2, 2, 2), padding="same"), IMAGE),
    (lambda x: F.interpolate(x, (7, 9)), IMAGE),
    (lambda x: F.interpolate(x, scale_factor=1.7), IMAGE),
    (lambda x: F.interpolate(x, (7, 9), mode="bilinear"), IMAGE),
    (lambda x: F.interpolate(x, scale_factor=0.7, mode="bilinear"), IMAGE),
    (lambda x: F.interpolate(x, (3, 9), mode="bilinear", align_corners=True), IMAGE),
    (lambda x: F.interpolate(x, (7, 3), mode="bicubic"), IMAGE),
    (lambda x: F.pad(x, (-1, 2, 1, -2), value=3.0), IMAGE),
    (lambda x: x.squeeze((0, 1)), IMAGE),
]
"""What was computed in another way before, without a word."""


@pytest.mark.slow
def test_what_was_once_different():
    cases = [trials.Case(function, [torch.from_numpy(x)]) for function, x in ONCE_DIFFERENT]
    result = outcome_of_many(cases)
    assert result.is_compared, result.detail


def refusal(function, *inputs, trust=False) -> str:
    with pytest.raises(usmp.UnsupportedModelError) as error:
        import_pytorch(exported(Function(function), *map(torch.from_numpy, inputs)), trust=trust)
    return str(error.value)


@pytest.mark.slow
def test_indices_of_a_pool_are_refused():
    assert refusal(lambda x: F.max_pool2d(x, 2, return_indices=True), IMAGE) == (
        "operator aten.max_pool2d_with_indices.default (node max_pool2d_with_indices) returns "
        "indices, which are not supported; use return_indices=False"
    )


def test_statistics_of_a_normalization_are_refused():
    message = refusal(lambda x: torch.native_layer_norm(x, (7,), None, None, 1e-5), IMAGE)
    assert message == (
        "operator aten.native_layer_norm.default (node native_layer_norm) returns statistics, "
        "which are not supported; use the normalized tensor only"
    )


@pytest.mark.slow
def test_masks_as_indices_are_refused():
    message = refusal(lambda x: x[torch.tensor([True, False, True, False, True])] * 2, NAN)
    assert "aten.index.Tensor" in message
    assert message.endswith("must be known at compile time; use torch.where()")


@pytest.mark.slow
def test_values_for_what_a_mask_picks_are_refused():
    message = refusal(lambda x: torch.ops.aten.index_put(x, [x > 0], x[:2]), NAN)
    assert message == (
        "operator aten.index_put.default (node index_put) with a mask and a value for each element "
        "that it picks is not supported: how many these are must be known at compile time; use "
        "torch.where()"
    )


def test_numbers_that_do_not_fit_are_refused():
    message = refusal(lambda x: x < 300, N.astype("int8"))
    assert message == (
        "operator aten.lt.Scalar (node lt) cannot be imported: ValueError: the number 300 does "
        "not fit int8"
    )


@pytest.mark.slow
@pytest.mark.parametrize("function", ["floor_divide", "remainder", "fmod"])
@pytest.mark.parametrize("divisor", [lambda: 0, lambda: torch.zeros(6, dtype=torch.int32)])
def test_integers_divided_by_zero_are_refused(function, divisor):
    assert refusal(lambda x: getattr(torch, function)(x, divisor()), N).endswith(
        "divides int32 elements by 0, for which PyTorch raises an error; take another number, or "
        "divide floats"
    )


def test_randomness_is_refused():
    assert refusal(lambda x: x + torch.randn(6), X).startswith(
        "operator aten.randn.default (node randn) is not supported: its results are random, "
    )


@pytest.mark.slow
def test_operators_of_other_libraries_are_refused():
    """Although they are called as one of PyTorch's is."""
    with torch.library._scoped_library("usmp_test", "DEF") as library:
        library.define("relu(Tensor self) -> Tensor")
        library.impl("relu", lambda x: x + 1, "CompositeExplicitAutograd")
        library.impl("relu", lambda x: torch.empty_like(x), "Meta")
        message = refusal(torch.ops.usmp_test.relu.default, X, trust=True)
    assert message.startswith(
        "operator usmp_test.relu.default (node relu) is not supported: it is no operator of "
    )


@pytest.mark.slow
def test_places_outside_of_a_tensor_count_as_the_nearest():
    content = exported(Function(lambda i: torch.arange(3.0)[i]), torch.tensor([0, 1]))
    outputs = usmp.build(import_pytorch(content)).run({"x": np.array([-100, 100])})
    np.testing.assert_array_equal(next(iter(outputs.values())), [0, 2])


@pytest.mark.slow
def test_where_pytorch_leaves_a_choice_or_raises_an_error():
    """What has its place outside is left out, the last one remains, the first comes first."""
    outside, twice = torch.tensor([-100, 2, 100, 3]), torch.tensor([1, -2, 1, 0])

    def function(x):
        zeros = torch.zeros(3)
        return (
            zeros.index_put((outside,), x[:4]),
            zeros.scatter(0, outside, x[:4]),
            zeros.scatter_reduce(0, outside, x[:4], "amax", include_self=False),
            zeros.index_put((twice,), x[:4]),
            torch.topk(x, 4, sorted=False)[1],
        )

    values = torch.tensor([3.0, 2, 4, 5, 5])
    outputs = usmp.build(import_pytorch(exported(Function(function), values))).run(
        {"x": values.numpy()}
    )
    expected = [[0, 0, 2], [0, 0, 2], [0, 0, 2], [5, 4, 0], [3, 4, 2, 0]]
    for output, value in zip(outputs.values(), expected, strict=True):
        np.testing.assert_array_equal(output, value)
