"""Functions of accelerators as PrimFuncs, and what is told about them."""

import numpy as np
import pytest
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import IRModule
from tvm.relax.transform import FuseOpsByPattern, MergeCompositeFunctions
from tvm.script import ir as I
from tvm.script import relax as R

from support.accelerator_models import CONV2D, MATMUL, Two, registered
from support.relax_models import PARAMS, Attention
from usmp import UnsupportedModelError, import_model
from usmp.objects.attributes.annotations import CONSTANT_DATA_ATTR
from usmp.objects.attributes.operator_attributes import (
    ACCELERATOR_FUNCTION_ATTR,
    OPERATOR_SHAPES_ATTR,
    OPERATOR_STEPS_ATTR,
)
from usmp.objects.operator_step import OperatorStep
from usmp.objects.target.targets import accelerator_of
from usmp.ops.accelerator_function import AcceleratorFunction
from usmp.ops.records import operator_of, operators_of
from usmp.ops.records.attributes import OPERATOR_ATTR
from usmp.passes import apply_passes
from usmp.relax.bind_params import bind_params
from usmp.relax.transform.fusion.describe_operators import DescribeOperators
from usmp.relax.transform.lower_accelerator_functions import LowerAcceleratorFunctions
from usmp.relax.transform.partition_for_accelerators import PartitionForAccelerators


def lower(mod: IRModule, *accelerators: str) -> IRModule:
    return apply_passes(LowerAcceleratorFunctions(accelerators, "tvmgen_net"), mod)


def told(mod: IRModule, name: str) -> AcceleratorFunction:
    return mod[name].attrs[ACCELERATOR_FUNCTION_ATTR.name]


def parameters(function: AcceleratorFunction) -> list[tuple]:
    return [(p.name, p.role, p.dtype, [int(e) for e in p.shape]) for p in function.parameters]


def operators(function: AcceleratorFunction) -> list[tuple]:
    return [
        (str(o.name), [str(a) for a in o.arguments], [str(r) for r in o.results])
        for o in function.operators
    ]


def test_a_function_of_the_user():
    mod = lower(Two, "my-npu")
    function = told(mod, "call_my_npu_main_0")
    assert function.symbol == "tvmgen_net_my_npu_main_0"
    assert (function.accelerator, function.composite) == ("my-npu", "")
    assert parameters(function) == [
        ("input0", "input", "float32", [2, 3]),
        ("input1", "input", "float32", [3]),
        ("output0", "output", "float32", [2, 3]),
        ("output1", "output", "float32", [6]),
    ]
    assert operators(function) == [
        ("add", ["input0", "input1"], ["result"]),
        ("nn.softmax", ["result"], ["output0"]),
        ("reshape", ["result", "[6]"], ["output1"]),
    ]
    assert dict(function.operators[1].attributes) == {"axis": 1}


def test_its_operators_and_shapes_are_described_for_reports():
    func = apply_passes(DescribeOperators(), lower(Two, "my-npu"))["call_my_npu_main_0"]
    kinds = ("add", "nn.softmax", "reshape")
    assert OPERATOR_STEPS_ATTR.of(func) == tuple(OperatorStep(kind, 0) for kind in kinds)
    assert OPERATOR_SHAPES_ATTR.of(func) == {
        "input0": [2, 3],
        "input1": [3],
        "output0": [2, 3],
        "output1": [6],
    }


def test_its_prim_func_is_called_in_its_place():
    mod = lower(Two, "my-npu")
    assert {v.name_hint for v in mod.functions} == {"main", "call_my_npu_main_0"}
    func = mod["call_my_npu_main_0"]
    assert accelerator_of(func.attrs["target"]) == "my-npu"
    assert [param.name for param in func.params] == ["input0", "input1", "output0", "output1"]
    relax.analysis.well_formed(mod)
    call = next(b.value for b in mod["main"].body.blocks[0].bindings if "call_tir" in str(b))
    assert call.args[0].same_as(mod.get_global_var("call_my_npu_main_0"))
    assert [str(argument) for argument in call.args[1].fields] == ["x", "y"]


def accesses(func: tirx.PrimFunc) -> list[int]:
    """The access mask of each tensor that the C function is passed."""
    masks: list[int] = []

    def on_call(call) -> None:
        if getattr(call.op, "name", "") == "tirx.tvm_access_ptr":
            masks.append(int(call.args[4]))

    tvm_ffi.structural_walk(func.body, (relax.Call, on_call), order="pre")
    return masks


def test_constants_and_workspace_are_its_own(digits_model):
    with registered(CONV2D):
        mod = PartitionForAccelerators(["accel"])(import_model(digits_model))
    mod = lower(mod, "accel")
    func = mod["call_accel_main_0"]
    allocated = [s for s in func.body.seq if isinstance(s, tirx.AllocBuffer)]
    names = ["weight", "bias", "multiplier", "shift", "workspace"]
    assert [s.buffer.name for s in allocated] == names
    assert [CONSTANT_DATA_ATTR.name in s.annotations for s in allocated] == [True] * 4 + [False]
    assert [param.name for param in func.params] == ["input", "output"]
    assert accesses(func) == [1, 1, 1, 1, 1, 2, 3]
    steps = OPERATOR_STEPS_ATTR.of(func)
    assert steps == (OperatorStep("conv2d", 9216, (3, 3), (1, 1), (1, 1)),)
    assert parameters(told(mod, "call_accel_main_0")) == [
        ("input", "input", "int8", [1, 8, 8, 1]),
        ("weight", "constant", "int8", [16, 3, 3, 1]),
        ("bias", "constant", "int32", [16]),
        ("multiplier", "constant", "int32", [16]),
        ("shift", "constant", "int32", [16]),
        ("output", "output", "int8", [1, 8, 8, 16]),
        ("workspace", "workspace", "uint8", [256]),
    ]


@pytest.mark.slow
def test_what_an_integer_operator_is_told(digits_model):
    with registered(CONV2D):
        mod = PartitionForAccelerators(["accel"])(import_model(digits_model))
    (operator,) = told(lower(mod, "accel"), "call_accel_main_1").operators
    attributes = {
        name: value if isinstance(value, int | str) else [int(element) for element in value]
        for name, value in operator.attributes.items()
    }
    assert operator.name == "conv2d"
    inputs, outputs = (operator.quantization[key] for key in ("inputs", "outputs"))
    assert [str(q["dtype"]) for q in (*inputs, *outputs)] == ["int8", "int8", "int8"]
    assert [len(q["scales"]) for q in (*inputs, *outputs)] == [1, 32, 1]
    assert [int(q["zero_points"][0]) for q in (*inputs, *outputs)] == [-128, 0, -128]
    assert attributes == {
        "layout": "NHWC",
        "strides": [2, 2],
        "dilations": [1, 1],
        "padding": [0, 0],
        "input_zero_point": -128,
        "weight_zero_point": 0,
        "output_zero_point": -128,
        "clamp": [-128, 127],
        "rounding": "twice",
    }


@pytest.mark.slow
def test_operators_that_stay_are_merged_and_keep_their_records(digits_model):
    mod = import_model(digits_model)
    record = operator_of(mod["conv2d"])
    for lowered in (lower(mod), lower(import_model(digits_model), "accel")):
        assert operators_of(lowered["conv2d"]) == ((record,),)
        assert all(
            OPERATOR_ATTR.name not in f.attrs for v, f in lowered.functions.items() if f.attrs
        )


def test_merged_functions_have_all_their_operators():
    """A module that the user partitioned, with adjacent matches in one function."""
    softmax = ("accel.softmax", relax.dpl.is_op("relax.nn.softmax")(relax.dpl.wildcard()))
    with registered(MATMUL, softmax):
        patterns = relax.backend.get_patterns_with_prefix("accel.")
        mod = FuseOpsByPattern(patterns, bind_constants=True)(bind_params(Attention, PARAMS))
        mod = MergeCompositeFunctions()(mod)
    function = told(lower(mod, "accel"), "call_accel_main_0")
    assert function.composite == " + ".join(["accel.matmul", "accel.softmax"] * 3)
    assert operators(function) == [
        ("matmul", ["input", "constant0"], ["result"]),
        ("nn.softmax", ["result"], ["result_1"]),
        ("matmul", ["result_1", "constant1"], ["result_2"]),
        ("nn.softmax", ["result_2"], ["result_3"]),
        ("matmul", ["result_3", "constant2"], ["result_4"]),
        ("nn.softmax", ["result_4"], ["output"]),
    ]


def test_a_function_for_a_target_that_is_not_named():
    with pytest.raises(ValueError, match="both") as caught:
        lower(Two, "accel")
    assert str(caught.value) == (
        'function both is for target "my-npu", which is not among the targets; name it too, as in '
        '"my-npu,c"'
    )


@I.ir_module
class PassedOn:
    @R.function
    def same(x: R.Tensor((4,), "float32")):
        R.func_attr({"Codegen": "accel"})
        return x

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = PassedOn
        return cls.same(x)


def test_a_function_that_computes_nothing():
    with pytest.raises(UnsupportedModelError) as caught:
        lower(PassedOn, "accel")
    assert str(caught.value) == (
        "a function for an accelerator returns an input, a constant, or a tensor twice: input; "
        "leave what only passes a tensor on to the CPU"
    )


def test_a_function_that_is_called_twice_is_one():
    with registered(MATMUL):
        mod = PartitionForAccelerators(["accel"])(bind_params(Attention, PARAMS))
    names = {v.name_hint for v in lower(mod, "accel").functions}
    assert names == {"main", "call_accel_main_0", "call_accel_main_1"}
    assert np.shape(PARAMS["w"]) == (16, 64)
