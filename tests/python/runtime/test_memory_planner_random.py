"""Random Relax functions under the planner, with all bytes overwritten that hold nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.levels import number
from support.managed_models import called_function, tensor
from support.random_relax import random_function
from usmp.runtime import MemoryPlanner, compile_managed


def run(planner, compute, rows, flags, random):
    """Compare one call with what NumPy computes; what it returned, and what that has to be."""
    shapes = {"x": (rows, 16), "y": (rows, 16)}
    arrays = {
        name: random.integers(-3, 4, shape).astype("float32") for name, shape in shapes.items()
    }
    expected = compute({**arrays, "c0": flags[0], "c1": flags[1]})
    inputs = [*map(tensor, arrays.values()), *(tensor(np.array(flag)) for flag in flags)]
    results = list(planner(*inputs))
    pairs = [(result, array.copy()) for result, array in zip(results, expected, strict=True)]
    check(pairs)
    return pairs


def check(pairs):
    for result, array in pairs:
        np.testing.assert_array_equal(result.numpy(), array)


FLAGS = [(False, False), (False, True), (True, False), (True, True)]


@pytest.mark.slow
@pytest.mark.property
@settings(max_examples=number(3, 30), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["give", "copy", "keep"]))
def test_functions_compute_what_numpy_does(seed, manner):
    mod, compute = random_function(seed)
    random, kept, held = np.random.default_rng(seed), [], []

    def keep(data):
        if manner == "keep":
            kept.append((data, data.numpy().copy()))

    def rows(data):
        return tensor(data.numpy()) if manner == "copy" else data

    with called_function("call", keep), called_function("rows", rows):
        planner = MemoryPlanner(compile_managed(mod), poison=True)
        for number in range(10):
            flags = FLAGS[random.integers(4)]
            held += run(planner, compute, int(random.integers(0, 9)), flags, random)
            if number % 2:
                held.clear()
            check(held + kept)
        for flags in FLAGS * 2:
            run(planner, compute, 9, flags, random)
        before = planner.num_allocations
        for flags in FLAGS:
            run(planner, compute, 9, flags, random)
        assert manner == "keep" or planner.num_allocations == before
