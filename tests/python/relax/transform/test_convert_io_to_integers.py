"""Which inputs and outputs become integers, and why others stay float."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

import usmp
from support.qdq_models import Qdq, qdq_module
from support.tflite_builder import Graph, per_tensor, write_model
from usmp import StateInfo
from usmp.frontend.tflite.importer import import_tflite
from usmp.passes import apply_passes
from usmp.relax.transform import ConvertIOToIntegers

REAL = ((2, 4), "float32")
INT8 = ((2, 4), "int8")


def converted(mod, io_type="quantized"):
    after = apply_passes(ConvertIOToIntegers(io_type), mod)
    relax.analysis.well_formed(after)
    return after


def assert_becomes(mod, expected, integers, floats=None, attrs=None):
    """`mod` becomes `expected`, whose attributes of `main` are not stated, and says so."""
    after, expected = converted(mod), relax.transform.CanonicalizeBindings()(expected)
    assert said(after) == {"integers": integers, "float": floats or {}}
    main = expected["main"].with_attrs({**(expected["main"].attrs or {}), **(attrs or {})})
    expected.update_func(expected.get_global_var("main"), main)
    tvm.ir.assert_structural_equal(after["main"], expected["main"])


def said(mod):
    return {
        str(kind): {str(name): str(text) for name, text in ends.items()}
        for kind, ends in mod.attrs["io_types"].items()
    }


def through(graph, x):
    """What an integer operator makes of `x`, still quantized."""
    return graph.quantize(graph.emit(relax.op.nn.relu(graph.dequantize(x))))


def quantization(inputs, outputs):
    return {"input_quantization": inputs, "output_quantization": outputs}


IN, OUT = [float(np.float32(0.1)), -3], [float(np.float32(0.2)), 4]


def test_input_and_output():
    before = qdq_module(lambda g, x: g.dequantize(through(g, g.quantize(x, 0.1, -3)), 0.2, 4), REAL)
    after = qdq_module(through, INT8)
    types = {'input "x0"': "int8", 'output "output"': "int8"}
    assert_becomes(before, after, types, attrs=quantization({"x0": IN}, [OUT]))


@pytest.mark.parametrize("dtype", ["uint8", "int16"])
def test_other_types_of_integers(dtype):
    before = qdq_module(
        lambda g, x: g.dequantize(g.quantize(x, 0.1, 0, dtype), 0.1, 0, dtype), REAL
    )
    after = converted(before)
    assert said(after)["integers"] == {'input "x0"': dtype, 'output "output"': dtype}
    assert str(after["main"].params[0].ty.dtype) == str(after["main"].ret_ty.dtype) == dtype


def test_one_input_of_several_equal_quantizations():
    def body(g, x):
        return g.emit(relax.op.add(g.quantize(x, 0.1, -3), g.quantize(x, 0.1, -3)))

    after = qdq_module(lambda g, x: g.emit(relax.op.add(x, x)), INT8)
    attrs = quantization({"x0": IN}, [[]])
    assert_becomes(qdq_module(body, REAL), after, {'input "x0"': "int8"}, attrs=attrs)


def test_what_nothing_needs_reads_no_input():
    def body(g, x):
        g.emit(relax.op.nn.relu(x))
        return g.dequantize(g.quantize(x, 0.1, -3), 0.1, -3)

    assert said(converted(qdq_module(body, REAL)))["float"] == {}


def test_output_that_is_read_is_integers_and_float():
    def body(g, x):
        real = g.dequantize(x)
        return real, g.emit(relax.op.nn.relu(real))

    after = qdq_module(lambda g, x: (x, g.emit(relax.op.nn.relu(g.dequantize(x)))), INT8)
    floats = {'output "output1"': "is computed by relu"}
    attrs = quantization({"x0": IN}, [IN, []])
    assert_becomes(qdq_module(body, INT8), after, {'output "output0"': "int8"}, floats, attrs)


def test_tuples_in_tuples():
    def body(result):
        def make(g, x):
            a, b = (g.emit(relax.op.nn.relu(x)) for _ in range(2))
            first, *rest = result(g, a, b)
            return first, relax.Tuple(rest)

        return qdq_module(make, INT8)

    before = body(lambda g, a, b: (g.dequantize(a), b, g.dequantize(b, 0.2, 4)))
    after = body(lambda g, a, b: (a, b, b))
    types = {'output "output0"': "int8", 'output "output2"': "int8"}
    tvm.ir.assert_structural_equal(
        converted(before)["main"].ret_ty, converted(after)["main"].ret_ty
    )
    assert said(converted(before))["integers"] == types
    stated = converted(before)["main"].attrs["output_quantization"]
    assert [list(parameters) for parameters in stated] == [IN, [], OUT]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            lambda g, x: (g.quantize(x), g.emit(relax.op.nn.relu(x)), g.emit(relax.op.exp(x))),
            "is read by relu, exp",
        ),
        (lambda g, x: (g.quantize(x), x), "is an output, too"),
        (lambda g, x: (g.quantize(x), g.quantize(x, 0.3)), "is quantized in 2 ways"),
        (
            lambda g, x: g.quantize(x, [0.1, 0.2], [0, 0], axis=0),
            "is quantized along an axis",
        ),
        (lambda g, x: g.emit(relax.op.zeros((2,), "int8")), "is not read"),
    ],
)
def test_inputs_that_stay_float(body, reason):
    def results(g, x, other):
        given = body(g, x)
        return (*given, other) if isinstance(given, tuple) else (given, other)

    before = qdq_module(results, REAL, INT8)
    after = converted(before)
    tvm.ir.assert_structural_equal(after["main"], before["main"])
    assert said(after)["float"]['input "x0"'] == reason
    assert said(after)["integers"] == {}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (lambda g, x: g.emit(relax.op.nn.softmax(g.dequantize(x))), "is computed by softmax"),
        (lambda g, x: g.dequantize(x, [0.1, 0.2], [0, 0], axis=0), "is quantized along an axis"),
        (lambda g, x: relax.const(np.zeros(3, np.float32)), "is not computed"),
        (lambda g, x: g.dequantize(g.emit(relax.op.astype(x, "int32")), dtype="int32"), "int32"),
    ],
)
def test_outputs_that_stay_float(body, reason):
    before = qdq_module(lambda g, x: (body(g, x), g.emit(relax.op.negative(x))), INT8)
    after = converted(before)
    tvm.ir.assert_structural_equal(after["main"], before["main"])
    assert reason in said(after)["float"]['output "output0"']
    assert said(after)["integers"] == {}


def test_results_of_one_operator_together():
    def body(g, x):
        return g.emit(relax.op.split(g.dequantize(x), 2))

    after = converted(qdq_module(body, INT8))
    reason = "is computed by split"
    assert said(after)["float"] == {'output "output0"': reason, 'output "output1"': reason}


def test_states_stay():
    kept = [StateInfo("x1", 1, tvm.runtime.tensor(np.zeros((2, 4), np.float32)))]

    def module(body, *inputs):
        mod = qdq_module(body, *inputs)
        main = mod["main"].with_attr("states", kept)
        mod.update_func(mod.get_global_var("main"), main)
        return mod

    def before(g, x, state):
        y = g.emit(relax.op.maximum(g.quantize(x, 0.1, -3), g.quantize(state, 0.1, -3)))
        real = g.dequantize(y)
        return real, real

    def after(g, x, state):
        y = g.emit(relax.op.maximum(x, g.quantize(state, 0.1, -3)))
        return y, g.dequantize(y)

    types = {'input "x0"': "int8", 'output "output"': "int8"}
    attrs = quantization({"x0": IN}, [IN])
    assert_becomes(module(before, REAL, REAL), module(after, INT8, REAL), types, attrs=attrs)


def test_inputs_of_one_name_stay_apart():
    builder = relax.BlockBuilder()
    params = [relax.Var("x", R.Tensor(*REAL)) for _ in range(2)]
    with builder.function("main", params):
        with builder.dataflow():
            graph = Qdq(builder)
            integers = (graph.quantize(params[0], 0.1, -3), graph.quantize(params[1], 0.2, 4))
            result = builder.emit_output(relax.Tuple(integers))
        builder.emit_func_output(result)
    after = converted(builder.get())
    stated = after["main"].attrs["input_quantization"]
    assert {str(name): list(values) for name, values in stated.items()} == {"x": IN, "x_1": OUT}


def test_blocks_of_their_own():
    """Integers of one dataflow block are an output of another one."""

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "int8")):
            with R.dataflow():
                a = R.nn.relu(x)
                b = R.dequantize(a, R.const(0.5, "float32"), R.const(3, "int8"))
                R.output(b)
            with R.dataflow():
                c = R.exp(b)
                R.output(c)
            return (b, c)

    after = converted(Before)
    assert [str(ty.dtype) for ty in after["main"].ret_ty.fields] == ["int8", "float32"]
    assert said(after)["integers"] == {'output "output0"': "int8"}


def test_recorded_operators():
    """As TFLite's importer has them."""
    graph = Graph()
    x = graph.input((1, 4), "float32", name="x")
    q = graph.tensor((1, 4), "int8", per_tensor(0.1, -3))
    y = graph.tensor((1, 4), "float32", name="y")
    graph.operator("QUANTIZE", [x], [q])
    graph.operator("DEQUANTIZE", [q], [y])
    graph.output(y)
    after = converted(import_tflite(write_model(graph)))
    assert said(after)["integers"] == {'input "x"': "int8", 'output "y"': "int8"}
    (main,) = after.functions.values()
    assert main.body.body.same_as(main.params[0])
    assert dict(main.attrs["input_quantization"]) == {"x": IN}
    assert [list(parameters) for parameters in main.attrs["output_quantization"]] == [IN]


@I.ir_module
class Entries:
    @R.function
    def first(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.quantize(x, R.const(0.5, "float32"), R.const(3, "int8"), out_dtype="int8")
            R.output(y)
        return y

    @R.function
    def second(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y


def test_each_entry():
    after = converted(Entries)
    assert [str(after[name].params[0].ty.dtype) for name in ("first", "second")] == [
        "int8",
        "float32",
    ]
    tvm.ir.assert_structural_equal(after["second"], Entries["second"])
    assert said(after) == {
        "integers": {'input "x" of entry "first"': "int8"},
        "float": {
            'input "x" of entry "second"': "is read by relu",
            'output "output" of entry "second"': "is computed by relu",
        },
    }


def test_float_leaves_the_module():
    assert converted(Entries, "float").same_as(Entries)


def test_integers_already():
    before = qdq_module(through, INT8)
    after = converted(before, "int8")
    assert after["main"].same_as(before["main"])
    assert said(after) == {"integers": {}, "float": {}}


# ---- errors


def failure(mod, io_type):
    with pytest.raises(ValueError, match="io_type") as error:
        apply_passes(ConvertIOToIntegers(io_type), mod)
    assert type(error.value) is ValueError
    return str(error.value)


def test_an_unknown_type():
    with pytest.raises(ValueError) as error:
        ConvertIOToIntegers("int4")
    assert str(error.value) == (
        'unknown io_type "int4". Did you mean "int8"? Types: float, quantized, int8'
    )


@pytest.mark.parametrize(
    ("mod", "name", "dtype"),
    [
        (qdq_module(lambda g, x: g.quantize(x, dtype="uint8"), REAL), 'input "x0"', "uint8"),
        (
            qdq_module(lambda g, x: g.dequantize(x, 0.1, 0, "int16"), ((4,), "int16")),
            'input "x0"',
            "int16",
        ),
        (
            qdq_module(lambda g, x: g.quantize(g.dequantize(x), dtype="uint8"), INT8),
            'output "output"',
            "uint8",
        ),
    ],
)
def test_another_type_than_int8(mod, name, dtype):
    assert failure(mod, "int8") == (
        f'io_type "int8": {name} is quantized to {dtype}; '
        '"quantized" takes each input and output in its own type'
    )


@pytest.mark.parametrize("io_type", ["quantized", "int8"])
def test_a_float_model(io_type):
    mod = qdq_module(lambda g, x: g.emit(relax.op.nn.softmax(g.emit(relax.op.exp(x)))), REAL)
    assert failure(mod, io_type) == (
        f'io_type "{io_type}": the model quantizes none of its inputs and outputs: input "x0" is '
        'read by exp; output "output" is computed by softmax'
    )


def test_no_main():
    with pytest.raises(usmp.UnsupportedModelError, match='no Relax function "main"'):
        apply_passes(ConvertIOToIntegers(), tvm.IRModule())
