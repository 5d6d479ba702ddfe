"""The records of integer operators: each has one, which says what the file says."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.ir.transform import PassContext

import usmp
from support.imported_models import imported
from support.qdq_models import qdq_module
from support.quantized_kinds import of_each_kind
from support.quantized_models import CATALOG
from support.sample_records import sample_record
from usmp.objects.attributes.operator_attributes import CODE_HASH_ATTR, SHARED_CODE_ATTR
from usmp.ops import quantized
from usmp.ops.quantized import Quantization
from usmp.ops.records import KINDS, QuantizedOp, operator_of, operators_of, with_operators
from usmp.ops.records.attributes import OPERATOR_ATTR
from usmp.ops.records.elementwise import Abs
from usmp.ops.records.recurrent import Lstm
from usmp.ops.records.reductions import Mean
from usmp.ops.rounding import Rounding
from usmp.relax.merge_equal_operators import merge_equal_operators
from usmp.relax.transform.qdq import use_integer_operators

X = Quantization("int8", (0.5,), (3,))
Y = Quantization("int8", (0.25,), (-4,))
WEIGHT = Quantization("int8", (0.5, 0.125), (0, 0), 3)

NO_OPERATORS = {"explicit_padding"}
"""Public functions that take a builder and compute nothing."""
NOT_IN_THE_CATALOG = {"sqrt", "table", "update_slice"}
"""Kinds that only other formats have, of numbers that are not quantized, or of positive ones."""


def prim_funcs(mod):
    return {v.name_hint: f for v, f in mod.functions.items() if isinstance(f, tirx.PrimFunc)}


@pytest.mark.slow
def test_operators_of_the_catalog_have_records_that_survive_json():
    """Each kind is there, and none that is not listed."""
    found, without = set(), set()
    for model in of_each_kind(CATALOG):
        for name, func in prim_funcs(imported(model)).items():
            record = operator_of(func)
            if record is None:
                without.add(name)
                continue
            found.add(record.kind)
            assert QuantizedOp.from_json(json.loads(json.dumps(record.as_json()))) == record
            assert operators_of(func) == ((record,),)
            scaled = [q for q in (*record.inputs, *record.outputs) if q.scales]
            assert scaled or record.kind in {"gather", "gather_nd"}, record
    assert found == KINDS.keys() - NOT_IN_THE_CATALOG
    assert without == set()


def test_each_input_and_output_survives_json():
    record = Lstm((X, WEIGHT), (Y, X), cell_clip=0.0, time_major=False)
    assert QuantizedOp.from_json(json.loads(json.dumps(record.as_json()))) == record


def test_each_public_operator_makes_one():
    """All functions of `usmp.ops.quantized` that take a builder."""
    operators = {
        name
        for name in quantized.__all__
        if inspect.isfunction(function := getattr(quantized, name))
        and "builder" in inspect.signature(function).parameters
    }
    assert operators - NO_OPERATORS == {
        *("abs_", "add", "add_all", "argmax", "argmin", "average_pool", "batch_matmul"),
        *("batch_to_space", "clamp", "compare", "conv2d", "cumulative_sum", "depthwise_conv2d"),
        *("dequantize", "divide", "elu", "exp", "fully_connected", "gather", "gather_nd", "gelu"),
        *("hard_swish", "l2_normalize", "leaky_relu", "log", "log_softmax", "logistic", "lstm"),
        *("max_pool", "maximum", "mean", "minimum", "mirror_pad", "multiply_elements", "prelu"),
        *("quantize", "reduce_max", "reduce_min", "reduce_sum", "relu", "requantize"),
        *("rescale_to_join", "rescaled_average_pool", "resize_bilinear"),
        *("resize_bilinear_in_single", "resize_nearest", "rsqrt", "softmax"),
        *("softmax_int16", "space_to_batch", "sqrt", "squared_difference", "subtract", "svdf"),
        *("tanh", "transpose_conv2d", "update_slice"),
    }


def test_a_convolution_as_the_file_has_it(digits_model):
    record = operator_of(usmp.import_model(digits_model)["conv2d"])
    data, weight = record.inputs
    assert record.kind == "conv2d"
    assert (data.dtype, data.zero_points) == ("int8", (-128,))
    assert (weight.dtype, weight.axis, len(weight.scales)) == ("int8", 0, 16)
    assert set(weight.zero_points) == {0}
    (output,) = record.outputs
    assert output.zero_point == record.output_zero_point
    assert record.strides == (1, 1)


def test_records_of_each_kind_are_attributes_and_json():
    for kind in KINDS.values():
        record = sample_record(kind)
        if "rounding" in kind.__dataclass_fields__:
            record = replace(record, rounding=Rounding.AS_FLOAT)
        func = tirx.PrimFunc([], tirx.Evaluate(0)).with_attr(OPERATOR_ATTR.name, record.as_json())
        assert operator_of(func) == record
        assert QuantizedOp.from_json(json.loads(json.dumps(record.as_json()))) == record


def test_each_kind_has_one_class_which_says_what_it_computes():
    classes, found = [QuantizedOp], []
    for cls in classes:
        classes += cls.__subclasses__()
        found += [cls] if "kind" in vars(cls) else []
    assert {(cls.kind, cls) for cls in found} == set(KINDS.items())
    assert [cls for cls in found if "." not in vars(cls)["__doc__"]] == []


def changed(record, **parameters):
    held = record.as_json()
    return {**held, "parameters": {**held["parameters"], **parameters}}


def test_other_kinds_and_parameters_are_refused():
    mean = Mean((X,), (Y,), axes=(1,))
    with pytest.raises(ValueError, match='no operator is of kind "conv3d"; there are abs, add, '):
        QuantizedOp.from_json({**mean.as_json(), "kind": "conv3d"})
    with pytest.raises(ValueError, match='"mean" have the parameters axes, rounding; given: axes,'):
        QuantizedOp.from_json(changed(mean, strides=[1, 1]))
    with pytest.raises(ValueError, match=r'"mean" have the parameters axes, rounding; given: $'):
        QuantizedOp.from_json({**mean.as_json(), "parameters": {}})


def test_numbers_of_numpy_become_those_of_json():
    held = Mean((X,), (Y,), axes=(np.int64(1),), rounding=Rounding.AS_FLOAT).as_json()
    assert held["parameters"] == {"axes": [1], "rounding": "as_float"}
    assert json.loads(json.dumps(held)) == held
    assert held["inputs"] == [{"dtype": "int8", "scales": [0.5], "zero_points": [3], "axis": 0}]


def test_a_rounding_is_left_out_if_it_is_that_of_tflite():
    assert Mean((X,), (Y,), axes=(1,)).as_json()["parameters"] == {"axes": [1]}


def chain(*steps):
    """A model that applies functions of builder and tensor, one after the other."""
    builder = relax.BlockBuilder()
    value = x = relax.Var("x", relax.TensorType((1, 8), "int8"))
    with builder.function("main", [x]):
        with builder.dataflow():
            for step in steps:
                value = builder.emit(step(builder, value))
            value = builder.emit_output(value)
        builder.emit_func_output(value)
    return builder.get()


def test_kinds_that_the_catalog_lacks():
    mod = chain(
        lambda b, x: quantized.sqrt(b, x, X, Y),
        with_zeros,
    )
    by_table = use_integer_operators(qdq_module(sine, ((3, 7), "int8")))
    records = [operator_of(func) for m in (mod, by_table) for func in prim_funcs(m).values()]
    assert {record.kind for record in records} == NOT_IN_THE_CATALOG


def with_zeros(builder, x):
    zeros = relax.const(np.zeros((1, 3), np.int8))
    return quantized.update_slice(builder, x, zeros, np.array([0, 5], np.int32), Y)


def sine(graph, x):
    return graph.quantize(graph.emit(relax.op.sin(graph.dequantize(x))), 0.01, 0)


def clamped(quantization):
    limits = replace(quantization.limits(), minimum=0)
    return lambda b, x: quantized.clamp(b, x, limits, quantization)


def test_operators_that_share_their_code_keep_their_records():
    """Before: a PrimFunc for each. Merged: one, by the name of the first; equal records once."""
    mod = chain(clamped(X), clamped(Y), clamped(X))
    functions = prim_funcs(mod)
    assert {name: operator_of(func).inputs for name, func in functions.items()} == {
        "clamp": (X,),
        "clamp_again": (Y,),
    }
    merged = merge_equal_operators(mod)
    (func,) = prim_funcs(merged).values()
    assert [[record.inputs for record in step] for step in operators_of(func)] == [[(X,), (Y,)]]
    assert operator_of(func) is None
    for name in (OPERATOR_ATTR.name, CODE_HASH_ATTR.name, SHARED_CODE_ATTR.name):
        assert name not in func.attrs
    called = [b.value.args[0].name_hint for b in merged["main"].body.blocks[0].bindings[:3]]
    assert called == ["clamp"] * 3
    relax.analysis.well_formed(merged)


def test_other_names_are_numbered_as_if_equal_operators_were_merged():
    other = quantized.OutputLimits("int8", 0, 5)
    mod = chain(clamped(X), clamped(Y), lambda b, x: quantized.clamp(b, x, other, X))
    assert prim_funcs(mod).keys() == {"clamp", "clamp_again", "clamp1"}
    assert prim_funcs(merge_equal_operators(mod)).keys() == {"clamp", "clamp1"}


def test_tables_of_two_functions_share_their_code():
    mod = chain(lambda b, x: quantized.elu(b, x, X, Y), lambda b, x: quantized.exp(b, x, Y, Y))
    assert {name: operator_of(f).kind for name, f in prim_funcs(mod).items()} == {
        "elu": "elu",
        "elu_again": "exp",
    }
    (func,) = prim_funcs(merge_equal_operators(mod)).values()
    assert [[record.kind for record in step] for step in operators_of(func)] == [["elu", "exp"]]


def test_the_name_of_the_first_is_free_when_it_is_gone():
    mod = chain(clamped(X), clamped(Y))
    del mod[mod.get_global_var("clamp")]
    assert prim_funcs(merge_equal_operators(mod)).keys() == {"clamp"}


@pytest.mark.slow
def test_fused_operators_keep_their_records_up_to_the_planned_module(digits_model):
    with PassContext(opt_level=3, disabled_pass=["StreamOperators"]):
        planned = usmp.build(usmp.import_model(digits_model), "c").ir_mod
    kinds = {
        name: [[record.kind for record in step] for step in operators_of(func)]
        for name, func in prim_funcs(planned).items()
    }
    assert kinds == {
        "__tvm_main__": [],
        "conv2d": [["conv2d"]],
        "conv2d1": [["conv2d"]],
        "conv2d3": [["conv2d"]],
        "depthwise_conv2d": [["depthwise_conv2d"]],
        "fully_connected": [["fully_connected"]],
        "fused_conv2d2_add": [["conv2d"], ["add"]],
        "max_pool": [["max_pool"]],
        "mean": [["mean"]],
        "softmax": [["softmax"]],
    }


def test_steps_of_a_fused_operator_are_in_order():
    """A sum and the requantization of its result become one PrimFunc."""

    def double(builder, x):
        return quantized.add(builder, x, x, (X, X, X), X.limits())

    mod = chain(double, lambda b, x: quantized.requantize(b, x, X, Y))
    planned = usmp.build(mod, "c").ir_mod
    (func,) = [f for name, f in prim_funcs(planned).items() if name != "__tvm_main__"]
    (sum_of_two,), (requantized,) = operators_of(func)
    assert (sum_of_two.kind, requantized.kind) == ("add", "requantize")
    assert (sum_of_two.outputs, requantized.outputs) == ((X,), (Y,))


def test_steps_replace_a_record():
    record = Abs((X,), (Y,))
    func = tirx.PrimFunc([], tirx.Evaluate(0)).with_attr(OPERATOR_ATTR.name, record.as_json())
    assert operators_of(with_operators(func, [[record, record]])) == ((record, record),)
    assert operators_of(with_operators(func, [])) == ()
