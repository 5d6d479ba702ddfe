"""PyTorch operators on shapes that depend on a size which only the run knows."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

import usmp
from support.lazy import TorchModule, lazy
from support.pytorch_models import exported, torch
from support.relax_vm import TARGET
from usmp.frontend.dynamic_sizes import AskedSizes
from usmp.relax.symbolic_operators import with_possible_sizes
from usmp.relax.symbolic_sizes import shown_shape, symbolic_sizes_of

import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")

LARGEST = 12
Dim = lazy("torch.export:Dim")


class Function(TorchModule):
    """A function of x as a module."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Sum(TorchModule):
    """Of two inputs."""

    def forward(self, x, z):
        return x + z


def program(function, *tensors, smallest=1, axis=1) -> bytes:
    """Of inputs whose extents along the axis are one size."""
    module = function if isinstance(function, torch.nn.Module) else Function(function)
    n = Dim("n", min=smallest, max=LARGEST)
    return exported(module, *tensors, dynamic_shapes=tuple({axis: n} for _ in tensors))


def imported(content: bytes, max_sizes=None) -> tvm.IRModule:
    mod = import_pytorch(content, asked=AskedSizes(max_sizes or {}))
    mod.update_func(mod.get_global_var("main"), with_possible_sizes(mod["main"]))
    return mod


def message_of(content: bytes, max_sizes=None) -> str:
    with pytest.raises((usmp.UnsupportedModelError, ValueError)) as error:
        imported(content, max_sizes)
    return str(error.value)


def normal(*shape: int):
    return torch.from_numpy(np.random.default_rng(0).normal(size=shape).astype(np.float32))


def check_results(function, sizes=(1, 2, 7, LARGEST), **options) -> tvm.IRModule:
    """Compare with PyTorch, of x of shape [2, n, 6]."""
    mod = imported(program(function, normal(2, 9, 6), **options))
    machine = relax.VirtualMachine(tvm.compile(mod, TARGET), tvm.cpu())
    for size in sizes:
        x = normal(2, size, 6)
        results = machine["main"](tvm.runtime.tensor(x.numpy()))
        results = [results] if isinstance(results, tvm.runtime.Tensor) else list(results)
        with torch.no_grad():
            expected = function(x)
        expected = [expected] if isinstance(expected, torch.Tensor) else expected
        for result, each in zip(results, expected, strict=True):
            np.testing.assert_allclose(result.numpy(), each.numpy(), atol=1e-5, rtol=1e-5)
    return mod


# ---- operators


def shapes(x):
    """What moves elements, and gives a tensor another shape."""
    batch, n, width = x.shape
    row = torch.arange(6, dtype=torch.float32)
    return (
        x.view(batch, n, 2, 3).transpose(1, 2).reshape(batch, 2 * n, 3),
        x.reshape(batch * n, width),
        x.flatten(1),
        x.permute(1, 0, 2).unsqueeze(0).squeeze(0),
        x.unsqueeze(1).expand(batch, 4, n, width),
        row.expand(batch, n, width) + x,
        torch.cat([x, x + 1], 1),
        torch.cat([x, x + 1], 2),
        *x.split(2, 2),
        *x.chunk(2, 0),
        torch.nn.functional.pad(x, (1, 2, 3, 0)),
        x[:, :, 1:4],
        x[:, -1],
        x[:, 0],
        torch.zeros_like(x) + torch.ones_like(x),
        torch.arange(n).float().view(n, 1) + x,
        torch.full_like(x, 2.5) * x.new_zeros(batch, n, width),
        x.repeat(1, 1, 1),
    )


def elements(x):
    """Functions of elements."""
    half = x / (x.abs() + 1)
    return (
        *(getattr(x, name)() for name in _OF_REAL),
        *(getattr(x.abs() + 1, name)() for name in ("log", "reciprocal", "rsqrt", "sqrt")),
        *(getattr(half, name)() for name in ("acos", "asin")),
        torch.nn.functional.gelu(x),
        torch.nn.functional.silu(x),
        torch.nn.functional.elu(x),
        torch.nn.functional.hardtanh(x),
        torch.nn.functional.leaky_relu(x, 0.1),
        torch.where(x > 0, x, half) + torch.maximum(x, half) - torch.minimum(x, half),
        torch.clamp(x, -1, 0.5) ** 2,
        (x > half).float() + (x <= half).float() + ((x == half) | (x < half)).float(),
        x.isnan().float(),
        torch.atan2(x, half) + x.fmod(2) + torch.nn.functional.gelu(half, approximate="tanh"),
        (x.int() // 2 + x.int() % 3 + torch.minimum(x.int(), half.int() + 1)).float(),
    )


_OF_REAL = """abs atan ceil cos cosh erf exp floor neg relu round sigmoid sign sin sinh tan tanh
trunc""".split()


def reductions(x):
    """Over the axis of the size, and over another one beside it."""
    norm = torch.nn.functional.layer_norm(x, [6])
    by_axis = [
        result
        for axis in (1, 2)
        for result in (
            x.sum(axis),
            x.mean(axis, keepdim=True),
            x.softmax(axis),
            x.log_softmax(axis),
            x.amax(axis),
            x.amin(axis, keepdim=True),
            (x > 1).any(axis).float(),
        )
    ]
    return (norm, *by_axis, x.var(2), x.mean())


def products(x):
    """Of matrices of which one or both have a size."""
    weight = torch.linspace(-1, 1, 30).reshape(5, 6)
    return (
        x @ x.transpose(1, 2),
        x.transpose(1, 2) @ x,
        torch.nn.functional.linear(x, weight, weight[:, 0]),
        torch.nn.functional.scaled_dot_product_attention(x, x, x),
    )


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("function", [shapes, elements, reductions, products])
def test_operators(function):
    check_results(function)


@pytest.mark.slow
@pytest.mark.models
def test_a_causal_mask():
    """A mask as models make it, of a table for the longest sequence."""
    table = torch.full((LARGEST + 1, LARGEST + 1), float("-inf")).triu(1)

    def attention(x):
        scores = x @ x.transpose(1, 2) + table[: x.shape[1], : x.shape[1]]
        return scores.softmax(-1) @ x

    check_results(attention)


@pytest.mark.slow
@pytest.mark.models
def test_windows():
    weight = torch.linspace(-1, 1, 54).reshape(3, 6, 3)

    def windows(x):
        return torch.nn.functional.conv1d(x.transpose(1, 2), weight, stride=2)

    mod = check_results(windows, (5, 6, LARGEST), smallest=5)
    assert shown_shape(mod["main"].body.body.ty.shape) == "[2, 3, (x_1 - 3) // 2 + 1]"


# ---- names and bounds


def bounds_of(mod: tvm.IRModule) -> list[tuple[str, int, int | None]]:
    return [(s.name, s.lower_bound, s.upper_bound) for s in symbolic_sizes_of(mod["main"])]


@pytest.mark.slow
def test_one_size_of_two_inputs_is_one_variable():
    mod = imported(program(Sum(), normal(2, 9), normal(2, 9)))
    assert [str(param.ty.shape[1]) for param in mod["main"].params] == ["x_1", "x_1"]
    assert bounds_of(mod) == [("x_1", 1, LARGEST)]


@pytest.mark.slow
def test_the_range_of_the_program():
    content = program(torch.relu, normal(2, 9), smallest=3)
    assert bounds_of(imported(content)) == [("x_1", 3, LARGEST)]
    assert bounds_of(imported(content, {"x_1": 4})) == [("x_1", 3, 4)]
    assert message_of(content, {"x_1": 2}) == (
        'size "x_1" is at least 3 in the model, so that it cannot be at most 2'
    )
    assert message_of(content, {"x_1": 13}) == (
        'size "x_1" is at most 12 in the model, which holds for no larger one; it cannot be '
        "13: give 12 or less, or export the model anew"
    )


@pytest.mark.slow
def test_a_batch_with_a_bound_is_a_size():
    content = program(torch.relu, normal(3, 4), axis=0)
    assert bounds_of(imported(content)) == []
    assert bounds_of(imported(content, {"x_0": 8})) == [("x_0", 1, 8)]


def test_an_extent_that_is_computed_of_a_size():
    half = Dim("half", max=6)
    content = exported(Function(torch.relu), normal(1, 8), dynamic_shapes=({1: 2 * half},))
    message = message_of(content)
    assert message.startswith("an extent of an input is 2*s")
    assert message.endswith(
        ", which is computed of another size; export the model with a torch.export.Dim of its own "
        "for each extent"
    )


# ---- what is not supported


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x.cumsum(1), "is supported for fixed shapes only, and here a tensor has"),
        (lambda x: x.argmax(1), "is supported for fixed shapes only, and here a tensor has"),
        (lambda x: x.var(1), "is not supported over an axis whose size only the run knows"),
        (lambda x: x[:, torch.tensor([0, 0])], "it takes positions along an axis of x_1 elements"),
    ],
    ids=["cumsum", "argmax", "var", "index"],
)
def test_operators_that_need_fixed_shapes(function, message):
    assert message in message_of(program(function, normal(2, 9, 6)))


@pytest.mark.slow
def test_a_state_of_a_dynamic_shape():
    """A buffer has a fixed shape; what replaces it must have that too."""

    class Keeps(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("kept", torch.zeros(2, 6))

        def forward(self, x):
            self.kept.copy_(x.sum(1))
            return x + self.kept.unsqueeze(1)

    mod = imported(exported(Keeps(), normal(2, 9, 6), dynamic_shapes={"x": {1: Dim("n", max=12)}}))
    assert bounds_of(mod) == [("x_1", 1, 12)]
    assert [state.name for state in mod["main"].attrs["states"]] == ["kept"]
