"""Frames of samples: which samples each has, and which take no operator of their own."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx

from support.relax_vm import compiled
from usmp.ops.signal.streams import frames

CASES = {
    "one": (1, 4, 2, False),
    "one_of_all": (1, 9, 3, False),
    "side_by_side": (2, 3, 3, False),
    "overlapping": (3, 4, 2, True),
    "apart": (3, 2, 3, True),
}
"""Number of frames, their size and step, and whether they take an operator beside views."""


def framed(count, size, step):
    data = relax.Var("data", relax.TensorType((2, 9), "int16"))
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        with builder.dataflow():
            result = builder.emit_output(frames(builder, data, count, size, step))
        builder.emit_func_output(result)
    return builder.get()


@pytest.mark.parametrize(("count", "size", "step", "has_operator"), CASES.values(), ids=CASES)
def test_frames(count, size, step, has_operator):
    """Samples that lie one after the other already are only given another shape."""
    mod = framed(count, size, step)
    functions = [f for f in mod.functions.values() if isinstance(f, tirx.PrimFunc)]
    assert len(functions) == has_operator
    samples = np.arange(18, dtype=np.int16).reshape(2, 9)
    (result,) = compiled(mod)(samples)
    begins = [number * step for number in range(count)]
    expected = np.stack([samples[:, begin : begin + size] for begin in begins], axis=1)
    np.testing.assert_array_equal(result, expected)
