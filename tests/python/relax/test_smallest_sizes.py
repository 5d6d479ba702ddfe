"""Sizes are bounded from below where smaller ones leave a tensor without elements."""

from __future__ import annotations

import pytest
from tvm import relax, tirx

import usmp
from usmp.relax.smallest_sizes import with_smallest_sizes
from usmp.relax.symbolic_sizes import symbolic_sizes_of

N, M = tirx.Var("n", "int64"), tirx.Var("m", "int64")


def function(extent, *inputs, attributes=None) -> relax.Function:
    """A tensor of one extent, beside inputs."""
    params = [relax.Var(f"x{i}", relax.TensorType((e,), "float32")) for i, e in enumerate(inputs)]
    builder = relax.BlockBuilder()
    with builder.function("main", params, attrs=attributes or {}):
        with builder.dataflow():
            made = relax.op.full([extent], relax.const(0, "float32"), "float32")
            output = builder.emit_output(made)
        builder.emit_func_output(output)
    return builder.get()["main"]


def lower_bounds(*arguments, **options) -> list[int]:
    return [
        s.lower_bound
        for s in symbolic_sizes_of(with_smallest_sizes(function(*arguments, **options)))
    ]


@pytest.mark.parametrize(
    ("extent", "smallest"),
    [
        (N, 1),
        (N - 2, 3),
        (tirx.floordiv(N - 3, 2) + 1, 3),
        (tirx.floordiv(N, 4), 4),
        (2 * N - 9, 5),
    ],
    ids=str,
)
def test_smallest_size(extent, smallest):
    assert lower_bounds(extent, N) == [smallest]


def test_a_larger_bound_stays():
    assert lower_bounds(N - 2, N, attributes={"tir_var_lower_bound": {"n": 8}}) == [8]


def test_each_size_by_itself():
    assert lower_bounds(N - 2, M, N) == [1, 3]


def test_no_size_is_large_enough():
    main = function(N - 8, N, attributes={"tir_var_upper_bound": {"n": 8}})
    with pytest.raises(usmp.UnsupportedModelError) as error:
        with_smallest_sizes(main)
    assert str(error.value) == (
        'a tensor of shape [n - 8] has no elements even where size "n" is largest, 8; give a '
        "larger one"
    )


def test_several_sizes_at_once():
    with pytest.raises(usmp.UnsupportedModelError) as error:
        with_smallest_sizes(function(N - M, N, M))
    assert str(error.value) == (
        'a tensor of shape [n - m] has no elements for some of the sizes "n" and "m"; fix all of '
        "them but one"
    )
