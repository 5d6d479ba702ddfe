"""What PrimFuncs are said to compute, fused or not, from the model to the planned module."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.small_digits import small_convolutions
from usmp.frontend.tflite.importer import import_tflite
from usmp.objects.attributes.operator_attributes import OPERATOR_STEPS_ATTR
from usmp.objects.operator_step import OperatorStep
from usmp.ops.operator_steps import steps_of

DIGITS = ROOT / "examples/digits/digits_int8.tflite"


def steps_by_name(mod):
    return {
        v.name_hint: steps_of(f, v.name_hint)
        for v, f in mod.functions.items()
        if isinstance(f, tirx.PrimFunc)
    }


@pytest.mark.slow
def test_steps_of_a_planned_model():
    """A fused operator has the steps of both; windows are those of the model."""
    config = {"tir.usmp.algorithm": "hill_climb"}
    with PassContext(config=config, disabled_pass=["StreamOperators"]):
        steps = steps_by_name(usmp.build(DIGITS).ir_mod)
    del steps["__tvm_main__"]
    one, two = (1, 1), (2, 2)
    assert steps == {
        "conv2d": (OperatorStep("conv2d", 8 * 8 * 16 * 9, (3, 3), one, one),),
        "conv2d1": (OperatorStep("conv2d", 4 * 4 * 32 * 9 * 16, (3, 3), two, one),),
        "depthwise_conv2d": (OperatorStep("depthwise_conv2d", 4 * 4 * 32 * 9, (3, 3), one, one),),
        "fused_conv2d2_add": (
            OperatorStep("conv2d", 4 * 4 * 32 * 32, one, one, one),
            OperatorStep("add", 0),
        ),
        "conv2d3": (OperatorStep("conv2d", 4 * 4 * 64 * 9 * 32, (3, 3), one, one),),
        "max_pool": (OperatorStep("max_pool", 0, two, two, one),),
        "mean": (OperatorStep("mean", 0),),
        "fully_connected": (OperatorStep("fully_connected", 640),),
        "softmax": (OperatorStep("softmax", 0),),
    }


@pytest.mark.slow
def test_a_segment_has_the_steps_of_its_operators():
    steps = steps_by_name(usmp.build(import_tflite(small_convolutions())).ir_mod)
    assert steps["conv2d_to_conv2d1"] == (
        OperatorStep("conv2d", 8 * 8 * 6 * 9 * 2, (3, 3), (1, 1), (1, 1)),
        OperatorStep("conv2d", 4 * 4 * 4 * 9 * 6, (3, 3), (2, 2), (1, 1)),
    )


def test_a_fused_float_operator_has_the_names_of_what_it_is_made_of():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 5), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            product = builder.emit(relax.op.matmul(x, relax.const(np.ones((5, 3), np.float32))))
            result = builder.emit_output(relax.op.nn.relu(product))
        builder.emit_func_output(result)
    steps = steps_by_name(usmp.build(builder.get()).ir_mod)
    del steps["__tvm_main__"]
    assert list(steps.values()) == [(OperatorStep("matmul", 30), OperatorStep("relu", 0))]


def test_steps_survive_an_attribute():
    func = tirx.PrimFunc([], tirx.Evaluate(0))
    steps = (OperatorStep("max_pool", 0, (2, 3), (1, 2), (1, 1)), OperatorStep("mine", None))
    assert steps_of(OPERATOR_STEPS_ATTR.put(func, steps), "other") == steps


def test_a_function_without_the_attribute_is_one_step_of_its_name():
    func = tirx.PrimFunc([], tirx.Evaluate(0))
    assert steps_of(func, "mine") == (OperatorStep("mine", 0),)
