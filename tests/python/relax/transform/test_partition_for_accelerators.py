"""Which operators become functions of an accelerator."""

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.ir import IRModule
from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import FusionPattern
from tvm.script import ir as I
from tvm.script import relax as R

from support.accelerator_models import registered
from usmp.ops.emit import call_operator
from usmp.ops.records.elementwise import Add, Multiply
from usmp.relax.accelerators import patterns_of, quantized_operator
from usmp.relax.transform.partition_for_accelerators import PartitionForAccelerators


@I.ir_module
class Chain:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        a = R.nn.relu(x)
        b = R.negative(a)
        return R.nn.relu(b)


RELU = is_op("relax.nn.relu")(wildcard())
NEGATIVE = is_op("relax.negative")(wildcard())


def offloaded(mod: IRModule) -> dict[str, str]:
    """Relax functions other than main, with their targets."""
    return {
        variable.name_hint: str(function.attrs["Codegen"])
        for variable, function in mod.functions.items()
        if isinstance(function, relax.Function) and variable.name_hint != "main"
    }


def test_without_patterns_nothing_changes():
    assert PartitionForAccelerators(["accel"])(Chain).same_as(Chain)


def test_each_match_is_a_function_of_its_own():
    """Also outside of dataflow blocks; equal functions are one."""
    with registered(("accel.relu", RELU)):
        assert offloaded(PartitionForAccelerators(["accel"])(Chain)) == {
            "fused_relax_nn_relu_accel": "accel"
        }


def test_only_the_named_accelerators_take_operators():
    with registered(("accel.relu", RELU), ("accel2.negative", NEGATIVE)):
        names = set(offloaded(PartitionForAccelerators(["accel2"])(Chain)).values())
    assert names == {"accel2"}


def test_the_first_accelerator_chooses_first():
    with registered(("first.relu", RELU), ("second.relu", RELU), ("second.negative", NEGATIVE)):
        mod = PartitionForAccelerators(["first", "second"])(Chain)
    assert offloaded(mod) == {
        "fused_relax_nn_relu_first": "first",
        "fused_relax_negative_second": "second",
    }


def test_patterns_that_are_objects_are_removed_before_python_ends():
    """TVM itself forgets them, and would crash."""
    from tvm.relax.backend import pattern_registry

    name = "accel.object"
    with registered((name, RELU)):
        pass
    pattern_registry.register_patterns([FusionPattern(name, RELU)])
    try:
        assert [str(pattern.name) for pattern in patterns_of("accel")] == [name]
        assert name in pattern_registry._REGISTERED_PATTERN_NAMES
    finally:
        pattern_registry._ffi_api.RemovePatterns([name])


def integer_model() -> IRModule:
    """Two multiplications, of which one is called as a sum is, and a sum."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4,), "int8"))

    def times(factor):
        return lambda t: tvm.te.compute((4,), lambda i: t[i] * tvm.tirx.IntImm("int8", factor))

    product, total = Multiply((), (), clamp=(0, 9)), Add((), (), clamp=(0, 9))
    with builder.function("main", [x]):
        with builder.dataflow():
            a = builder.emit(call_operator(builder, "double", times(2), [x], record=product))
            b = builder.emit(call_operator(builder, "add", times(3), [a], record=product))
            c = builder.emit(call_operator(builder, "double", times(4), [b], record=total))
            d = builder.emit(call_operator(builder, "multiply", times(5), [c]))
            result = builder.emit_output(d)
        builder.emit_func_output(result)
    return builder.get()


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (None, {"fused_double_accel", "fused_add_accel"}),
        (lambda context: context.matched_expr.args[1].fields[0].name == "x", None),
    ],
)
def test_integer_operators_by_their_records(check, expected):
    """Not by the names of their PrimFuncs."""
    with registered(quantized_operator("accel.double", "multiply", check)):
        mod = PartitionForAccelerators(["accel"])(integer_model())
    assert set(offloaded(mod)) == (expected or {"fused_double_accel"})


def test_the_workspace_of_an_integer_operator():
    with registered(quantized_operator("accel.sum", "add", workspace_bytes=12)):
        mod = PartitionForAccelerators(["accel"])(integer_model())
    composite, _ = mod["fused_double1_accel"].body.blocks[0].bindings
    assert dict(composite.value.attrs) == {"Composite": "accel.sum", "WorkspaceSize": 12}


def test_a_pattern_of_an_operator_that_does_not_exist():
    with pytest.raises(
        ValueError, match=r'"accel\.conv": no integer operator is called "convolve"'
    ):
        quantized_operator("accel.conv", "convolve")


def test_a_pattern_is_matched_where_the_module_is_known():
    mod = relax.transform.ConvertToDataflow(min_size=1)(integer_model())
    with registered(quantized_operator("accel.sum", "add")):
        fuse = relax.transform.FuseOpsByPattern(patterns_of("accel"))
        with pytest.raises(ValueError, match=r"match it by usmp\.relax\.transform\.partition_for"):
            fuse(mod)


@pytest.mark.parametrize("shape", [(4,), (2, 2)])
def test_constants_become_part_of_the_function(shape):
    """Also those that are computed, as importers leave them."""
    weight = relax.const(np.ones(shape, "float32"))
    if shape != (4,):
        weight = relax.op.reshape(weight, (4,))
    x = relax.Var("x", R.Tensor((4,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.add(x, weight))
        builder.emit_func_output(result)
    with registered(("accel.add", is_op("relax.add")(wildcard(), wildcard()))):
        mod = PartitionForAccelerators(["accel"])(builder.get())
    assert [param.name for param in mod["fused_relax_add_accel"].params] == ["x"]
