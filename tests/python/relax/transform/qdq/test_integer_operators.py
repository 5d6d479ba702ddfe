"""`use_integer_operators` on whole modules: what it keeps, what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import usmp
from support.qdq_models import (
    between,
    calls_of,
    float_counts,
    integer_calls,
    qdq_module,
    steps_apart,
    steps_of_outputs,
)
from usmp.objects import StateInfo
from usmp.objects.attributes.module_attributes import OUTPUT_NAMES_ATTR, STATES_ATTR
from usmp.objects.attributes.operator_attributes import CODE_HASH_ATTR
from usmp.relax.transform.qdq import use_integer_operators


def product(graph, x, columns=4):
    weight = graph.dequantize(np.arange(7 * columns).reshape(7, columns) - 14, 0.02, 0)
    return graph.emit(relax.op.matmul(x, weight))


def network():
    """A layer, an activation that its limits make needless, and an output of floats."""

    def whole(graph, x):
        y = graph.emit(relax.op.nn.relu(product(graph, graph.dequantize(x))))
        y = graph.dequantize(graph.quantize(y, 0.3, -128), 0.3, -128)
        z = graph.quantize(graph.emit(relax.op.nn.relu(y)), 0.3, -128)
        return graph.dequantize(z, 0.3, -128)

    return qdq_module(whole, ((3, 7), "int8"))


QUANTIZATION = {"axis": 0, "dtype": "int8", "scales": [0.5], "zero_points": [3]}
RECORD = {
    "kind": "clamp",
    "parameters": {"clamp": [3, 127]},
    "inputs": [QUANTIZATION],
    "outputs": [QUANTIZATION],
}


def test_before_and_after():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "int8")) -> R.Tensor((2, 2), "int8"):
            with R.dataflow():
                a = R.dequantize(x, R.const(0.5, "float32"), R.const(3, "int8"))
                b = R.reshape(R.nn.relu(a), (2, 2))
                c = R.quantize(b, R.const(0.5, "float32"), R.const(3, "int8"))
                R.output(c)
            return c

    @I.ir_module
    class Expected:
        @T.prim_func(private=True, s_tir=True)
        def clamp(x: T.Buffer((T.int64(4),), "int8"), output: T.Buffer((T.int64(4),), "int8")):
            T.func_attr({"tirx.noalias": True, "quantized_operator": RECORD})
            for i in range(T.int64(4)):
                with T.sblock("output"):
                    v = T.axis.spatial(T.int64(4), i)
                    T.reads(x[v])
                    T.writes(output[v])
                    output[v] = T.Cast("int8", T.max(T.Cast("int32", x[v]), 3))

        @R.function
        def main(x: R.Tensor((4,), "int8")) -> R.Tensor((2, 2), "int8"):
            cls = Expected
            with R.dataflow():
                a = R.call_tir(cls.clamp, (x,), out_ty=R.Tensor((4,), "int8"))
                b = R.reshape(a, (2, 2))
                R.output(b)
            return b

    after = relax.transform.CanonicalizeBindings()(use_integer_operators(Before))
    clamp = after.get_global_var("clamp")
    # A number that says which functions are equal but for their records.
    after.update_func(clamp, after[clamp].without_attr(CODE_HASH_ATTR.name))
    tvm.ir.assert_structural_equal(after, Expected)


@pytest.mark.cc
def test_layers_are_joined_by_integers():
    mod = network()
    assert integer_calls(mod) == ["fully_connected", "dequantize"]
    assert steps_apart(mod) == 0


def test_the_given_module_is_not_changed():
    mod = network()
    text = mod.script()
    use_integer_operators(mod)
    assert mod.script() == text


def test_each_time_the_same():
    assert use_integer_operators(network()).script() == use_integer_operators(network()).script()


def test_modules_without_quantizers_are_left_alone(model):
    mod = model(lambda b, x: relax.op.nn.relu(x), ("x", (3,), "float32"))
    assert use_integer_operators(mod).same_as(mod)


@pytest.mark.cc
def test_attributes_survive():
    state = StateInfo("x1", 1, tvm.runtime.tensor(np.int8(0)))
    mod = qdq_module(
        lambda g, x, s: (g.quantize(g.dequantize(x)), g.quantize(g.dequantize(s), 0.1, -3)),
        ((3,), "int8"),
        ((3,), "int8"),
    )
    attrs = {OUTPUT_NAMES_ATTR.name: ["y"], STATES_ATTR.name: [state], "num_input": 2}
    mod.update_func(mod.get_global_var("main"), mod["main"].with_attrs(attrs))
    after = use_integer_operators(mod.with_attr("mine", 7))
    # To twice the scale, where each odd number is a half.
    assert calls_of(after) == ["table"]
    assert [str(name) for name in after["main"].attrs[OUTPUT_NAMES_ATTR.name]] == ["y"]
    assert after["main"].attrs[STATES_ATTR.name][0].same_as(state)
    assert int(after["main"].attrs["num_input"]) == 2
    assert int(after.attrs["mine"]) == 7
    assert list(usmp.build(mod).run({"x0": np.zeros(3, np.int8)})) == ["y"]


def test_other_functions_stay():
    mod = network()
    other = between(lambda g, x: relax.op.nn.relu(x), (3,))["main"]
    builder = relax.BlockBuilder(mod)
    builder.add_func(other.with_attr("global_symbol", "other"), "other")
    after = use_integer_operators(builder.get())
    tvm.ir.assert_structural_equal(after["other"].body, other.body)
    assert calls_of(after) == ["fully_connected", "dequantize"]


@pytest.mark.cc
def test_quantizers_outside_of_a_dataflow_block():
    builder = relax.BlockBuilder()
    x = relax.Var("x0", R.Tensor((5,), "int8"))
    scale, zero = relax.const(np.float32(0.1)), relax.const(np.int8(0))
    with builder.function("main", [x]):
        real = builder.emit(relax.op.dequantize(x, scale, zero))
        with builder.dataflow():
            inside = builder.emit_output(relax.op.nn.relu(real))
        y = builder.emit(relax.op.quantize(inside, scale, zero, out_dtype="int8"))
        z = builder.emit(relax.op.quantize(inside, scale, zero, out_dtype="int8"))
        builder.emit_func_output((y, z))
    mod = builder.get()
    assert integer_calls(mod) == ["clamp"]
    assert steps_of_outputs(mod) == [0, 0]


@pytest.mark.cc
def test_a_float_that_is_an_output_too():
    def whole(graph, x):
        y = product(graph, graph.dequantize(x))
        return graph.quantize(y), y

    mod = qdq_module(whole, ((3, 7), "int8"))
    assert float_counts(mod) == {"matmul": 1}
    assert steps_of_outputs(mod)[0] <= 1


@pytest.mark.cc
def test_integers_and_their_floats_as_outputs():
    def whole(graph, x):
        y = graph.quantize(product(graph, graph.dequantize(x)), 0.3, 4)
        return y, graph.dequantize(y, 0.3, 4)

    mod = qdq_module(whole, ((3, 7), "int8"))
    assert integer_calls(mod) == ["fully_connected", "dequantize"]
    assert steps_of_outputs(mod)[0] <= 1


@pytest.mark.cc
def test_one_result_at_two_scales_and_one_twice():
    def whole(graph, x):
        y = product(graph, graph.dequantize(x))
        return graph.quantize(y, 0.3, 4), graph.quantize(y, 0.1, 2), graph.quantize(y, 0.3, 4)

    mod = qdq_module(whole, ((3, 7), "int8"))
    assert integer_calls(mod) == ["fully_connected", "fully_connected1"]
    assert max(steps_of_outputs(mod)) <= 1


@pytest.mark.cc
def test_scales_of_channels_of_a_result_stay_in_float():
    def whole(graph, x):
        y = product(graph, graph.dequantize(x))
        return graph.quantize(y, [0.1, 0.2, 0.3, 0.4], [0, 1, 2, 3], axis=1)

    mod = qdq_module(whole, ((3, 7), "int8"))
    assert float_counts(mod) == {"matmul": 1}
    assert steps_apart(mod) <= 1


@pytest.mark.parametrize("scale", [0.0, -0.1, float("nan"), float("inf")])
def test_scales_that_make_no_sense_stay_in_float(scale):
    before = qdq_module(lambda g, x: g.quantize(g.dequantize(x, scale)), ((3,), "int8"))
    after = qdq_module(lambda g, x: g.quantize(g.dequantize(x), scale), ((3,), "int8"))
    for mod in (before, after):
        assert integer_calls(mod) == ["dequantize", "quantize"]


def test_scales_of_the_caller_stay_in_float():
    def whole(graph, x, scale):
        real = graph.emit(relax.op.dequantize(x, scale, relax.const(np.int8(0))))
        return graph.quantize(graph.emit(relax.op.nn.relu(real)))

    mod = qdq_module(whole, ((3,), "int8"), ((), "float32"))
    assert float_counts(mod) == {"relu": 1}


EMPTY = {
    "given": lambda g, x: relax.op.nn.relu(x),
    "mean of nothing": lambda g, x: relax.op.mean(g.emit(relax.op.nn.relu(x)), [0]),
    "mean of a slice": lambda g, x: relax.op.mean(nothing_of(g, x), [0]),
    "sum": lambda g, x: relax.op.sum(nothing_of(g, x), [0]),
    "extreme": lambda g, x: relax.op.max(nothing_of(g, x), [0]),
}


def nothing_of(graph, x):
    return graph.emit(relax.op.strided_slice(x, [0], [0], [0]))


@pytest.mark.parametrize("name", EMPTY)
def test_tensors_of_no_elements_stay_in_float(name):
    mod = between(EMPTY[name], (2, 3) if "slice" in name else (0, 3))
    assert integer_calls(mod)[-1] == "quantize"
