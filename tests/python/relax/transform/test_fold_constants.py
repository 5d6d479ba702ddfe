"""What depends on constants alone is computed at compile time, unless it calls C functions."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tvm import relax, topi
from tvm.ir import GenericConst
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import usmp
from support.quantized_models.model import Spec, random_constant
from support.tflite_builder import Graph, options, write_model
from usmp.frontend.tflite.importer import import_tflite
from usmp.relax.fold_exact_calls import fold_exact_calls
from usmp.tir.nodes import nodes_of

X = Spec((2, 3), 0.05, -7)
SUM = Spec((2, 3), 0.08, 4)
ADD = options("AddOptions", fused_activation_function=0)


def two_sums() -> bytes:
    """A sum of two constants, and the sum of that and the input."""
    graph = Graph()
    x = graph.input(X.shape, X.dtype, X.quantization)
    constant = random_constant(X)
    c = graph.constant(constant.data, constant.quantization)
    s, y = (graph.tensor(SUM.shape, SUM.dtype, SUM.quantization) for _ in range(2))
    graph.operator("ADD", [c, c], [s], ADD)
    graph.operator("ADD", [x, s], [y], ADD)
    graph.output(y)
    return write_model(graph)


@pytest.mark.models
def test_a_quantized_operator_on_constants():
    """TVM would call a function that only the emitted C has: the process would end."""
    from support.micro import Micro

    content = two_sums()
    factory, reference = usmp.build(import_tflite(content)), Micro(content)
    for seed in range(5):
        inputs = reference.random_inputs(seed)
        np.testing.assert_array_equal(
            factory.run(inputs)["t3"], reference.run(inputs)["t3"], strict=True
        )


@pytest.mark.cc
def test_other_operators_on_constants_are_folded():
    graph = Graph()
    x, y = graph.input((4,), "float32"), graph.tensor((4,), "float32")
    left, right = (graph.constant(np.full(4, number, np.float32)) for number in (3, 5))
    product = graph.tensor((4,), "float32")
    graph.operator("MUL", [left, right], [product], options("MulOptions"))
    graph.operator("ADD", [x, product], [y], ADD)
    graph.output(y)
    factory = usmp.build(import_tflite(write_model(graph)))
    functions = factory.metadata["modules"]["default"]["memory"]["functions"]
    assert len(functions["operator_functions"]) == 1
    np.testing.assert_array_equal(factory.run({"t0": np.zeros(4, "f4")})["t1"], np.full(4, 15))


@pytest.mark.slow
@pytest.mark.cc
def test_what_takes_long_runs_with_the_model(model, monkeypatch):
    """A product of two constants of 4096 x 4096 would take minutes."""
    left = np.arange(64 * 64, dtype=np.float32).reshape(64, 64) / 64

    def body(b, x):
        product = b.emit(relax.op.matmul(relax.const(left), relax.const(left)))
        return relax.op.maximum(x, product)

    for most, name in ((64**3, "maximum"), (64**3 - 1, "fused_matmul_maximum")):
        monkeypatch.setattr("usmp.relax.transform.fold_constants._MOST_ITERATIONS", most)
        factory = usmp.build(model(body, ("x", (64,), "float32")))
        functions = factory.metadata["modules"]["default"]["memory"]["functions"]
        assert [f["function_name"] for f in functions["operator_functions"]] == [name]
        (result,) = factory.run({"x": np.zeros(64, "f4")}).values()
        np.testing.assert_allclose(result, left @ left, rtol=1e-5)


@pytest.mark.cc
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_quotients_that_no_machine_computes(dtype):
    """Folding them ended the process by SIGFPE."""
    least = np.iinfo(dtype).min
    dividends = relax.const(np.array([least, least, 7], dtype), dtype)
    divisors = relax.const(np.array([-1, 0, 0], dtype), dtype)
    operators = (relax.op.divide, relax.op.mod, relax.op.floor_divide, relax.op.floor_mod)
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3,), dtype))
    with builder.function("main", [x]):
        with builder.dataflow():
            sums = [
                builder.emit(relax.op.add(x, builder.emit(operator(dividends, divisors))))
                for operator in operators
            ]
            output = builder.emit_output(relax.Tuple(sums))
        builder.emit_func_output(output)
    outputs = usmp.build(builder.get()).run({"x": np.zeros(3, dtype)}).values()
    for output, first in zip(outputs, (least, 0, least, 0), strict=True):
        assert output.tolist() == [first, 0, 0]


@pytest.mark.cc
@pytest.mark.parametrize(
    "operation, left, right, expected",
    [
        (relax.op.divide, 7, 0, 0),
        (relax.op.divide, -(2**31), -1, -(2**31)),
        (relax.op.floor_divide, 7, 0, 0),
        (relax.op.left_shift, 1, 40, 0),
    ],
)
def test_arithmetic_on_constants_is_that_of_the_emitted_c(model, operation, left, right, expected):
    """LLVM defines none of these, and a division by zero would end the process."""

    def body(b, x):
        numbers = (relax.const(np.full(4, number, np.int32)) for number in (left, right))
        return relax.op.maximum(x, b.emit(operation(*numbers)))

    factory = usmp.build(model(body, ("x", (4,), "int32")))
    (result,) = factory.run({"x": np.full(4, -(2**31), np.int32)}).values()
    np.testing.assert_array_equal(result, np.full(4, expected))


@pytest.mark.cc
def test_what_is_only_moved_is_folded_without_compiling(model, monkeypatch):
    """Compiling and linking each reshape and transpose took most of the time of some builds."""
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

    def body(b, x):
        moved = b.emit(relax.op.permute_dims(relax.const(values), [2, 0, 1]))
        rooted = b.emit(relax.op.sqrt(b.emit(relax.op.reshape(moved, (4, 6)))))
        return relax.op.maximum(x, b.emit(relax.op.broadcast_to(rooted, (2, 4, 6))))

    monkeypatch.setattr(sys.modules["tvm.tirx.build"], "codegen_build", None)
    factory = usmp.build(model(body, ("x", (2, 4, 6), "float32")))
    functions = factory.metadata["modules"]["default"]["memory"]["functions"]
    assert [f["function_name"] for f in functions["operator_functions"]] == ["maximum"]
    (result,) = factory.run({"x": np.zeros((2, 4, 6), "f4")}).values()
    expected = np.sqrt(values.transpose(2, 0, 1).reshape(4, 6))
    np.testing.assert_array_equal(result, np.broadcast_to(expected, (2, 4, 6)))


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float16", "float32", "float64"])
def test_what_is_folded_keeps_its_type(dtype):
    values = np.array([[0, 1, 2**31 - 1], [1, 0, 3]]).astype(dtype)
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        with builder.dataflow():
            moved = builder.call_te(topi.transpose, relax.const(values, dtype), (1, 0))
            output = builder.emit_output(moved)
        builder.emit_func_output(output)
    folded = fold_exact_calls(builder.get())["main"]
    constants = nodes_of(folded.body, GenericConst)
    found = [constant.value.numpy() for constant in constants]
    assert any(np.array_equal(each, values.T) and each.dtype == dtype for each in found)


ONES = relax.const(np.ones(4, np.int8))


@I.ir_module
class Addresses:
    """An operator that takes addresses, not buffers."""

    @T.prim_func(private=True)
    def add(a_ptr: T.handle("int8"), b_ptr: T.handle("int8"), to_ptr: T.handle("int8")):
        T.func_attr({"op_pattern": 8})
        a = T.decl_buffer((4,), "int8", data=a_ptr)
        b = T.decl_buffer((4,), "int8", data=b_ptr)
        to = T.decl_buffer((4,), "int8", data=to_ptr)
        for i in range(4):
            to[i] = a[i] + b[i]

    @R.function
    def main(x: R.Tensor((4,), "int8")):
        cls = Addresses
        with R.dataflow():
            twos = R.call_tir(cls.add, (ONES, ONES), out_ty=R.Tensor((4,), "int8"))
            y = R.call_tir(cls.add, (x, twos), out_ty=R.Tensor((4,), "int8"))
            R.output(y)
        return y


@pytest.mark.cc
def test_an_operator_that_takes_addresses_is_not_called():
    """TVM would let it write over a struct of its own, and end in a segmentation fault."""
    outputs = usmp.build(Addresses).run({"x": np.arange(4, dtype=np.int8)})
    assert [value.tolist() for value in outputs.values()] == [[2, 3, 4, 5]]
