"""Elements that follow each other both in an output and in what it is computed from."""

from __future__ import annotations

import pytest
from tvm import tirx

from support.kernel_loops import M55, check_loops, operator_call
from usmp.ops.kernels.mve.elementwise import mve_elementwise_kernel
from usmp.ops.quantized import Quantization
from usmp.ops.quantized.arithmetic import add
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

QUANTIZATIONS = tuple(Quantization("int8", (s,), (z,)) for s, z in ((0.5, -3), (0.7, 4), (40, 5)))


def operator(first, second):
    def make(builder, left, right):
        return add(builder, left, right, QUANTIZATIONS, QUANTIZATIONS[2].limits())

    return operator_call(make, first, second)


SHAPES = {
    "alike": ((2, 3, 20), (2, 3, 20)),
    "last_axis": ((2, 3, 20), (20,)),
    "last_axes": ((2, 3, 20), (3, 20)),
    "outer_axis": ((2, 3, 20), (1, 3, 20)),
    "one_a_row": ((2, 3, 20), (2, 3, 1)),
    "one_an_image": ((2, 3, 20), (2, 1, 1)),
    "one": ((2, 3, 20), (1,)),
    "one_of_many": ((30, 10), (1,)),
    "one_of_the_first": ((1,), (13, 10)),
    "each_other": ((4, 1, 20), (1, 3, 20)),
    "outer_and_inner": ((2, 1, 20), (2, 3, 1)),
    "rows": ((1, 6, 5, 20), (1, 6, 5, 20)),
}


@pytest.mark.cc
@pytest.mark.parametrize("shapes", SHAPES)
def test_runs_compute_all_elements(shapes):
    call = operator(*SHAPES[shapes])
    check_loops(call, mve_elementwise_kernel(call, M55))


@pytest.mark.parametrize(
    ("shapes", "counts"),
    [
        ("alike", [120]),
        ("last_axis", [20]),
        ("last_axes", [60]),
        ("outer_axis", [60]),
        ("one_a_row", [20]),
        ("one_an_image", [60]),
        ("one", [120]),
        ("one_of_many", [128, 44]),
        ("one_of_the_first", [128, 2]),
        ("each_other", [20]),
        ("outer_and_inner", [20]),
    ],
)
def test_runs_are_as_long_as_terms_follow_or_stay(shapes, counts):
    """Of what is repeated, 128 bytes lie on the stack."""
    call = operator(*SHAPES[shapes])
    kernel = mve_elementwise_kernel(call, M55)
    calls = map(intrinsic_call, nodes_of(kernel.func.body, tirx.AttrStmt))
    found = [int(c.args[4]) for c in calls if c.args[0].value == "tvmgen_mve_add"]
    assert found == counts
