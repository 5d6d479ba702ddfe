"""Random expressions: the emitted C computes what numpy computes for the same TIR, bit for bit."""

import ctypes

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tir_expressions import (
    BUFFERS,
    COUNT,
    DTYPES,
    Generator,
    evaluate,
    function_of,
    random_input,
    same_bits,
    stores_of,
)


@settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_expressions(seed, load_functions):
    draw = Generator(seed)
    exprs = [draw.expression(dtype, 1 + n % 4).expr for n, dtype in enumerate(DTYPES * 4)]
    func, outputs = function_of(exprs)
    numbers = np.random.default_rng(seed)
    inputs = [random_input(dtype, numbers) for dtype in BUFFERS]
    values = dict(zip(BUFFERS.values(), inputs, strict=True))
    with np.errstate(all="ignore"):
        expected = [evaluate(store.value, values) for store in stores_of(func)]
    actual = [np.zeros(COUNT, str(o.dtype)) for o in outputs]
    # Random expressions are often always true, of which compilers warn.
    library = load_functions(func, "-O1", "-w")
    library.f(*(array.ctypes.data_as(ctypes.c_void_p) for array in (*inputs, *actual)))
    for expr, want, got in zip(exprs, expected, actual, strict=True):
        assert same_bits(want, got), f"{expr}\n{want}\n{got}"
