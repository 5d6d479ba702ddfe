"""Operators in statements get tensors at any offset; those of a model begin at theirs."""

import numpy as np
import pytest
from tvm import te
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

import usmp


def reverse(x):
    """An operator that TVM makes of statements; its only block is no loop nest."""

    def body(inputs, outputs):
        source, target = map(T.buffer_proxy, (inputs[0], outputs[0]))
        with IRBuilder() as builder:
            with T.serial(0, 20) as i:
                target[i] = source[19 - i]
            return builder.get()

    return te.extern([x.shape], [x], body, dtype=[str(x.dtype)], name="reverse")


@pytest.mark.cc
def test_symbolic_offsets_are_zero(model):
    mod = model(lambda b, x: b.call_te(reverse, x), ("x", (4, 5), "float32"))
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    output = usmp.build(mod).run({"x": x})["output"]
    np.testing.assert_array_equal(output, x[::-1, ::-1])
