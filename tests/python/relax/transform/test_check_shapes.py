"""Models whose memory cannot be planned because a shape is not known, impossible, or too large."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax, tirx

import usmp
from usmp.relax.transform import CheckShapes
from usmp.tir.model_operator import model_operator
from usmp.tir.spans import with_span


def model(shape, dtype: str = "float32", operator=relax.op.nn.relu) -> tvm.IRModule:
    """x -> operator(x)."""
    x = relax.Var("x", relax.TensorType(shape, dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(operator(x))
        builder.emit_func_output(result)
    return builder.get()


def message_of(mod: tvm.IRModule, check=usmp.build) -> str:
    with pytest.raises(usmp.UnsupportedModelError) as error:
        check(mod)
    return str(error.value)


@pytest.mark.parametrize("shape", [(), (1,), (1, 2, 3)], ids=str)
def test_static_shapes(shape):
    CheckShapes()(model(shape))


def test_a_size_without_a_bound():
    CheckShapes()(model((tirx.Var("n", "int64"), 4)))


def test_input_of_unknown_shape():
    x = relax.Var("x", relax.TensorType(dtype="float32", ndim=2))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(x)
    assert message_of(builder.get()).startswith("input x has a dynamic shape, ")


@pytest.mark.parametrize("operator", [relax.op.unique, relax.op.nonzero])
def test_shape_that_depends_on_the_data(operator):
    message = message_of(model((4,), "int32", operator))
    assert message.startswith(
        f"tensor gv, the result of {operator.__name__}, has a dynamic shape, "
    )
    assert message.endswith(
        f": that of what {operator.__name__} computes is only known when the model runs, and "
        "memory is planned at compile time; compute something of fixed shape"
    )


@pytest.mark.parametrize(
    ("ty", "fault"),
    [
        (
            relax.TupleType([relax.TensorType((4,), "int8")]),
            'is a tuple, T.Tuple(R.Tensor((T.int64(4),), dtype="int8")); make each of its tensors '
            "a parameter",
        ),
        (relax.ShapeType([4]), "has type R.Shape([4]); inputs are tensors of known shape"),
        (relax.AnyType(), "has type R.Any; inputs are tensors of known shape"),
    ],
    ids=["tuple", "shape", "any"],
)
def test_inputs_that_are_no_tensors(ty, fault):
    x = relax.Var("x", ty)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(relax.const(1))
    assert message_of(builder.get()) == f"input x {fault}"


def test_largest_tensor():
    CheckShapes()(model((2**31 - 1,), "int8"))


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [((2**31,), "int8", 2**31), ((2**29,), "float32", 2**31), ((2**40, 2**20), "int8", 2**60)],
)
def test_tensor_that_is_too_large(shape, dtype, size):
    assert message_of(model(shape, dtype, relax.op.abs)) == (
        f"input x of shape {list(shape)} takes {size} bytes; a tensor may take 2147483647, "
        "because the emitted C indexes with 32 bits"
    )


def test_impossible_shape():
    assert message_of(model((1, -3))) == "input x has the impossible shape [1, -3]"


def test_impossible_result():
    def pool(x):
        return relax.op.nn.max_pool2d(x, (7, 7))

    assert message_of(model((1, 1, 4, 4), operator=pool)) == (
        "tensor gv, the result of nn.max_pool2d, has the impossible shape [1, 1, -2, -2]"
    )


def test_impossible_result_of_a_model_file():
    of_file = model_operator(3, "MAX_POOL_2D", ["x"], [("y", "float32", (1, 7, 1, 1))])

    def pool(x):
        return with_span(relax.op.nn.max_pool2d(x, (7, 7)), of_file.as_span())

    assert message_of(model((1, 1, 4, 4), operator=pool)) == (
        "tensor y of operator 3 MAX_POOL_2D (7x1x1) has the impossible shape [1, 1, -2, -2]"
    )


def test_module_without_main():
    assert message_of(tvm.IRModule()) == 'the module has no Relax function "main"'


def with_size(operator, lower: int | None = None) -> tvm.IRModule:
    """`operator` of [n, 4], where n is at most 9."""
    bounds = {"tir_var_upper_bound": {"n": 9}}
    if lower is not None:
        bounds["tir_var_lower_bound"] = {"n": lower}
    mod = model((tirx.Var("n", "int64"), 4), operator=operator)
    mod.update_func(mod.get_global_var("main"), mod["main"].with_attrs(bounds))
    return mod


@pytest.mark.parametrize(
    ("operator", "fault"),
    [
        (lambda x: relax.op.reshape(x, (2, 4)), "reshape of [n, 4] is not supported: n * 4 and 8"),
        (
            lambda x: relax.op.strided_slice(x, [0], [0], [3], assume_inbound=True),
            "strided_slice of [n, 4] is not supported: 3 is more than n for some sizes",
        ),
        (lambda x: relax.op.matmul(x, x), "matmul of [n, 4] and [n, 4] is not supported: 4 and n"),
        (lambda x: relax.op.squeeze(x, [0]), "squeeze of [n, 4] is not supported: n and 1 must"),
        (
            lambda x: relax.op.gather_elements(x, relax.const([[3] * 4], "int64"), 0),
            "gather_elements of [n, 4] and [1, 4] is not supported: it has been compared with",
        ),
    ],
    ids=["reshape", "strided_slice", "matmul", "squeeze", "gather_elements"],
)
def test_operators_of_a_module_that_no_front_end_made(operator, fault):
    """TVM lowers them, and they would read or write beyond their tensors."""
    assert message_of(with_size(operator)).startswith(f"operator {fault}")


def test_sizes_of_which_a_module_that_no_front_end_made_computes_nothing():
    def operator(x):
        return relax.op.strided_slice(x, [0], [3], [x.ty.shape[0]], assume_inbound=True)

    assert "3 is more than n for some sizes" in message_of(with_size(operator))
    checked = CheckShapes()(with_size(operator, 3))
    assert dict(checked["main"].attrs["tir_var_lower_bound"]) == {"n": 4}
