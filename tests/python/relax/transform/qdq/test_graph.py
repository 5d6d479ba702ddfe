"""What matchers ask of a function: values behind variables, constants, quantizations."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from support.qdq_graph import graph_of
from usmp.ops.quantized import OutputLimits, Quantization, Rounding
from usmp.relax.transform.qdq.graph import Output

X = relax.Var("x", relax.TensorType((2, 4), "float32"))
EMPTY = relax.Var("e", relax.TensorType((0, 4), "float32"))


def quantize(scale, zero_point, dtype="int8", axis=-1):
    scale, zero_point = (
        each if isinstance(each, relax.Expr) else relax.const(np.array(each, kind))
        for each, kind in ((scale, "float32"), (zero_point, "int32" if dtype == "int16" else dtype))
    )
    return relax.op.quantize(X, scale, zero_point, axis, dtype)


@pytest.mark.parametrize(
    ("scale", "zero_point", "axis", "expected"),
    [
        (0.5, 3, -1, Quantization("int8", (0.5,), (3,), 0)),
        ([0.5], [3], 1, Quantization("int8", (0.5,), (3,), 0)),
        ([0.5, 0.25], [3, 4], 0, Quantization("int8", (0.5, 0.25), (3, 4), 0)),
        ([1.0, 2.0, 3.0, 4.0], 5, -1, Quantization("int8", (1.0, 2.0, 3.0, 4.0), (5,) * 4, 1)),
        # Scales that stand for no numbers.
        (0.0, 0, -1, None),
        (-1.0, 0, -1, None),
        (np.inf, 0, -1, None),
        (np.nan, 0, -1, None),
        ([1.0, 0.0], [0, 0], 0, None),
        (relax.Var("s", relax.TensorType((), "float32")), 0, -1, None),
        (0.5, relax.Var("z", relax.TensorType((), "int8")), -1, None),
    ],
)
def test_quantizations_of_constants(scale, zero_point, axis, expected):
    call = quantize(scale, zero_point, axis=axis)
    assert graph_of().quantization(call, "int8") == expected


def test_empty_scales_stand_for_nothing():
    empty = relax.const(np.zeros((0,), "float32"))
    call = quantize(0.5, 3)
    other = relax.Call(call.op, [X, empty, empty], call.attrs)
    assert graph_of().quantization(other, "int8") is None


@pytest.mark.parametrize(
    ("dtype", "rounding", "limits"),
    [
        ("int8", Rounding.AS_FLOAT, OutputLimits("int8", -128, 127)),
        ("uint8", Rounding.AS_FLOAT, OutputLimits("uint8", 0, 255)),
        ("int16", Rounding.TWICE, OutputLimits("int16", -32768, 32767)),
    ],
)
def test_outputs_of_one_scale(dtype, rounding, limits):
    output = graph_of().output_of(quantize(0.5, 0, dtype))
    assert output == Output(Quantization(dtype, (0.5,), (0,), 0), limits)
    assert output.rounding == rounding


def test_other_outputs_are_none():
    assert graph_of().output_of(quantize([0.5, 1.0], [0, 0], axis=0)) is None
    assert graph_of().output_of(quantize(0.0, 0)) is None
    call = relax.op.quantize(X, relax.const(0.5, "float32"), relax.const(0, "int8"), -1, "int32")
    assert graph_of().output_of(call) is None


def test_values_behind_variables_and_tuples():
    a, b, c, d = (relax.Var(name, X.ty) for name in "abcd")
    pair = relax.Var("p", relax.TupleType([X.ty, X.ty]))
    call, value = relax.op.exp(X), relax.const(np.arange(3))
    bound = {
        a: b,
        b: call,
        c: value,
        pair: relax.Tuple([a, c]),
        d: relax.TupleGetItem(pair, 1),
    }
    found = graph_of(bound)
    assert found.resolve(a).same_as(call) and found.resolve(X).same_as(X)
    assert found.resolve(d).same_as(value)
    assert found.resolve(relax.TupleGetItem(pair, 0)).same_as(call)
    item = relax.TupleGetItem(relax.Var("q", pair.ty), 0)
    assert found.resolve(item).same_as(item)
    assert found.call(a, "relax.add", "relax.exp").same_as(call)
    assert found.call(a, "relax.add") is None and found.call(X, "relax.exp") is None
    assert found.constant(d).tolist() == [0, 1, 2]
    assert found.constant(a) is None


def test_integers_are_found_once():
    seen = []

    def matcher(_, expr, output):
        seen.append(expr)
        return None if expr is EMPTY or len(seen) > 2 else relax.op.astype(expr, "int8")

    found = graph_of(matcher=matcher)
    one, other = (
        Output(Quantization("int8", (s,), (0,)), OutputLimits("int8", 0, 1)) for s in (1, 2)
    )
    with found.builder.function("main", [X]):
        first = found.match(X, one)
        assert found.match(X, one) is first
        assert found.match(X, other) is not first
        assert len(seen) == 2
        assert found.match(relax.BlockBuilder().normalize(relax.op.exp(X)), one) is None
        assert found.match(EMPTY, one) is None
        assert len(seen) == 3
        found.builder.emit_func_output(first)
