"""BindSymbolicSizes: an operator gets the sizes of the call that it was made for."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx

import usmp


@pytest.mark.slow
@pytest.mark.cc
def test_operators_that_differ_in_which_size_is_which():
    """The one transposes [m, n], the other [n, m]; renaming m and n makes one out of the other."""
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
    x = relax.Var("x", relax.TensorType((m, n), "float32"))
    builder = relax.BlockBuilder()
    bounds = {"tir_var_upper_bound": {"n": 7, "m": 3}}
    with builder.function("main", [x], attrs=bounds):
        with builder.dataflow():
            turned = builder.emit(relax.op.permute_dims(x, [1, 0]))
            squares = builder.emit(relax.op.matmul(turned, x))
            back = builder.emit(relax.op.permute_dims(turned, [1, 0]))
            others = builder.emit(relax.op.matmul(back, turned))
            output = builder.emit_output(relax.Tuple([turned, squares, back, others]))
        builder.emit_func_output(output)
    module = usmp.build(builder.get()).load()
    generator = np.random.default_rng(0)
    for shape in ((3, 7), (2, 4), (1, 5), (3, 1), (2, 2)):
        given = generator.random(shape, np.float32)
        found = list(module.run({"x": given}).values())
        expected = [given.T, given.T @ given, given, given @ given.T]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)
