"""Which parameters a function takes for the integers in which several differ."""

from __future__ import annotations

import pytest
import tvm_ffi
from tvm import tirx

from usmp.tir.integer_constants import SimilarFunctions, parameters_of


def parameters(*constants, sizes=()):
    """The values of the parameters, and what stands for each constant, as text."""
    similar = SimilarFunctions(["f", "g", "h"][: len(constants[0])], list(constants), list(sizes))
    found = parameters_of(similar)
    named = {v: tirx.Var(name, "int32") for v, name in zip(found.variables, "abc", strict=False)}
    texts = [str(tvm_ffi.structural_map(e, (tirx.Var, named.get))) for e in found.constants]
    return found.values, texts


def test_what_is_equal_stays_constant():
    assert parameters((3, 3), (-1, -1)) == ([], ["3", "-1"])


@pytest.mark.parametrize(
    ("values", "text"),
    [((4, 6), "a"), ((5, 7), "a + 1"), ((8, 12), "a * 2"), ((-8, -12), "a * -2")],
)
def test_what_follows_from_another(values, text):
    assert parameters((4, 6), values) == ([(4, 6)], ["a", text])


def test_sums_and_differences():
    few, sums, more = (4, 6, 9), (30, 31, 37), (26, 25, 28)
    assert parameters(few, sums, more) == ([few, more], ["a", "a + b", "b"])
    assert parameters((9, 9, 9), (-22, -19, -19), few, more) == (
        [few, (-22, -19, -19)],
        ["9", "b", "a", "a - b"],
    )


def test_zero_is_a_value():
    assert parameters((0, 1), (0, 2), (5, 5)) == ([(0, 1)], ["a", "a + a", "5"])


def test_sizes_of_buffers_take_no_parameter():
    sizes = [(64, 32), (64, 32)]
    assert parameters((64, 32), (64, 32), (7, 9), sizes=sizes) == ([(7, 9)], ["64", "64", "a"])


def test_sizes_that_are_computed_with_do():
    assert parameters((64, 32), (64, 32), sizes=[(64, 32)]) == ([(64, 32)], ["a", "a"])
