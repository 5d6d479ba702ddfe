"""Softmax between quantizers, against float."""

from __future__ import annotations

import pytest
from tvm import relax

from support.qdq_models import between, float_counts, integer_calls, steps_apart

pytestmark = pytest.mark.cc

USUAL = (1 / 256, -128)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2, 10, 300])
@pytest.mark.parametrize("scale", [0.01, 0.1, 1.0])
def test_scales(scale, depth):
    outs = [USUAL, (1 / 255, -128), (0.0021, -128), (1 / 127, 0)]
    mod = between(lambda g, x: relax.op.nn.softmax(x), (20, depth), scale=scale, out=outs)
    calls = integer_calls(mod)
    # Those of other scales are rescaled from one that is computed in 16 bits.
    assert [call.rstrip("_123") for call in calls] == ["softmax"] + ["softmax", "relu"] * 3
    assert float_counts(mod) == {}
    assert steps_apart(mod) <= 1


def test_uint8():
    mod = between(lambda g, x: relax.op.nn.softmax(x), (7, 10), dtype="uint8", out=(1 / 255, 0))
    assert float_counts(mod) == {}
    assert steps_apart(mod) <= 1


@pytest.mark.parametrize(
    ("shape", "axis"), [((2, 3, 5), -1), ((2, 5, 1, 1), 1), ((5,), 0)], ids=str
)
def test_axes(shape, axis):
    mod = between(lambda g, x: relax.op.nn.softmax(x, axis), shape, out=USUAL)
    assert float_counts(mod) == {}
    assert steps_apart(mod) <= 1


REFUSED = {
    "another axis": ((2, 5, 3), {"axis": 1}, "int8"),
    "rows that are too long": ((1, 5000), {}, "int8"),
    "int16": ((2, 5), {}, "int16"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_stays_in_float(reason):
    shape, options, dtype = REFUSED[reason]
    out = (1 / 256, 0) if dtype == "int16" else USUAL
    mod = between(lambda g, x: relax.op.nn.softmax(x, **options), shape, dtype=dtype, out=out)
    assert float_counts(mod) == {"softmax": 1}
