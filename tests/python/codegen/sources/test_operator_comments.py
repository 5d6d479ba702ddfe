"""The line above the C of an operator."""

from __future__ import annotations

import pytest
from tvm.script import tirx as T
from tvm.target import Target

from usmp.codegen.sources.operator_comments import operator_comment
from usmp.objects.attributes.operator_attributes import OPERATOR_STEPS_ATTR
from usmp.objects.operator_step import OperatorStep
from usmp.objects.schedule import SCHEDULE_ATTR, Schedule


@T.prim_func
def operator(p: T.handle("int8")):
    a = T.decl_buffer((4,), "int8", data=p)
    a[0] = T.int8(1)


CONV2D = OperatorStep("conv2d", 1244160, (3, 3), (2, 2), (1, 1))
TILES = Schedule("2 pixels x 2 channels", 2600000)


def said(target, schedule, *steps):
    func = SCHEDULE_ATTR.put(operator.with_attr("target", Target(target)), schedule)
    return operator_comment(OPERATOR_STEPS_ATTR.put(func, steps), "operator")


def test_nothing_of_an_operator_without_a_schedule():
    assert operator_comment(OPERATOR_STEPS_ATTR.put(operator, [CONV2D]), "operator") == ""


@pytest.mark.parametrize(
    ("target", "where"),
    [({"kind": "c", "mcpu": "cortex-m4"}, " on cortex-m4"), ("c", ""), ("llvm", "")],
)
def test_a_convolution(target, where):
    assert said(target, TILES, CONV2D) == (
        "/* conv2d 3x3, strides 2x2: 1244160 MACs; "
        f"tiles of 2 pixels x 2 channels, about 2600000 instructions{where} */\n"
    )


def test_several_steps_and_no_estimate():
    steps = [OperatorStep("conv2d", 12, (1, 3), (1, 1), (1, 2)), OperatorStep("add", 0)]
    assert said("c", Schedule("4 channels"), *steps) == (
        "/* conv2d 1x3, dilations 1x2 and add: 12 MACs; tiles of 4 channels */\n"
    )


def test_what_is_not_known_is_not_said():
    assert said("c", Schedule("4 channels"), OperatorStep("f", None)) == (
        "/* f; tiles of 4 channels */\n"
    )


def test_what_operators_share_has_their_names():
    shared = operator.with_attr("merged_functions", ["conv2d", "conv2d3"])
    assert operator_comment(shared, "conv2d_shared") == "/* conv2d, conv2d3 */\n"


def test_names_end_no_comment():
    hostile = operator.with_attr("merged_functions", ["*/ x"])
    assert operator_comment(hostile, "f").count("*/") == 1
    assert said("c", Schedule("*/ x"), OperatorStep("f */", 1)).count("*/") == 1
