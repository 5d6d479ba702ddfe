"""What is computed of shapes that depend on sizes."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.sym import Analyzer

from support.lazy import lazy
from support.relax_vm import compiled
from usmp.frontend.size_arithmetic import SizeArithmetic
from usmp.objects.symbolic_size import SymbolicSize
from usmp.relax.symbolic_sizes import bounded_analyzer

helper = lazy("onnx.helper")
shape_values = lazy("usmp.frontend.onnx.shapes.shape_values")

N, M = tirx.Var("n", "int64"), tirx.Var("m", "int64")
INT64, INT32 = 7, 6


def known(opset=17):
    """What is known of sizes with 4 <= n <= 100 and 1 <= m <= 8."""
    bounds = [(N, SymbolicSize("n", 4, 100)), (M, SymbolicSize("m", 1, 8))]
    arithmetic = SizeArithmetic(bounded_analyzer(bounds))
    return shape_values.ShapeValues(arithmetic, [helper.make_opsetid("", opset)])


def tensor(extents):
    return relax.Var("x", relax.TensorType(extents, "float32"))


def value_of(operator, *operands, domain="", outputs=1, opset=17, **attributes):
    """The value of an operator; lists are shapes, arrays are constants, None is left out."""
    values = known(opset)
    names, inputs = [], []
    for index, operand in enumerate(operands):
        name = "" if operand is None else f"x{index}"
        if isinstance(operand, list):
            shape = helper.make_node("Shape", ["x"], [name])
            operand = values.computed(shape, [tensor(operand)], {})
        elif isinstance(operand, np.ndarray):
            operand = relax.const(operand, str(operand.dtype))
        names.append(name)
        inputs.append(operand)
    results = [f"y{number}" for number in range(outputs)]
    node = helper.make_node(operator, names, results, domain=domain, **attributes)
    result = values.computed(node, inputs, attributes)
    return None if result is None else values.value("y0", result)


def shown(values):
    """Numbers, and expressions as text; and the shape."""
    if values is None:
        return None
    flat = [v.item() if isinstance(v, np.generic) else v for v in values.reshape(-1)]
    texts = [v if isinstance(v, int) else str(Analyzer().simplify(v)) for v in flat]
    return [t.replace("T.int64", "") if isinstance(t, str) else t for t in texts], [*values.shape]


def ints(*numbers, shape=None):
    return np.array(numbers, np.int64).reshape(shape if shape is not None else (len(numbers),))


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "elements", "shape"),
    [
        ("Identity", [[N, 6]], {}, ["n", 6], [2]),
        ("Identity", [[2, 6]], {}, [2, 6], [2]),
        ("Add", [[N, 6], ints(2)], {}, ["n + (2)", 8], [2]),
        ("Add", [[N], ints(1, 2, shape=(2, 1))], {}, ["n + (1)", "n + (2)"], [2, 1]),
        ("Sub", [[N, 6], [N, 2]], {}, [0, 4], [2]),
        ("Mul", [[N, 6], ints(3)], {}, ["n * (3)", 18], [2]),
        # A run wraps what int64 does not hold.
        ("Mul", [[N, 2**62], ints(1, 4)], {}, None, None),
        ("Mul", [[6, 2**62], [N, 4]], {}, None, None),
        ("Div", [[N, 6], ints(2)], {}, ["n // (2)", 3], [2]),
        ("Div", [[N * 4], ints(2)], {}, ["n * (2)"], [1]),
        ("Mod", [[N * 4 + 1], ints(2)], {}, [1], [1]),
        ("Max", [[N], ints(4)], {}, ["n"], [1]),
        ("Max", [[N], ints(4), [M]], {}, ["T.max(n, m)"], [1]),
        ("Min", [[N], ints(4)], {}, [4], [1]),
        ("Equal", [[N, M], ints(3)], {}, None, None),
        ("Equal", [[N, N], ints(3, 101)], {}, [False, False], [2]),
        ("Equal", [[N, 6], [N, 6]], {}, [True, True], [2]),
        ("Greater", [[N, N, N], ints(3, 100, -1)], {}, [True, False, True], [3]),
        ("Greater", [[N], ints(4)], {}, None, None),
        ("GreaterOrEqual", [[N, N], ints(4, 101)], {}, [True, False], [2]),
        ("Less", [[N, N], ints(101, 4)], {}, [True, False], [2]),
        ("LessOrEqual", [[N, N], ints(100, 3)], {}, [True, False], [2]),
        ("LessOrEqual", [[N], ints(99)], {}, None, None),
        ("Where", [np.array([True, False]), [N, 6], [M]], {}, ["n", "m"], [2]),
        ("Gather", [[N, 6, M], ints(2, 0)], {"axis": 0}, ["m", "n"], [2]),
        ("Gather", [[N, 6, M], ints(-1, shape=())], {}, ["m"], []),
        ("Gather", [[N, 6], ints(2)], {}, None, None),
        ("Slice", [[N, 6, M], ints(1), ints(99)], {}, [6, "m"], [2]),
        ("Slice", [[N, 6, M], ints(-1), ints(-9), ints(0), ints(-2)], {}, ["m", "n"], [2]),
        ("Slice", [[N, 6, M], ints(0), ints(3), None, ints(2)], {}, ["n", "m"], [2]),
        ("Concat", [[N], ints(3), [M]], {"axis": 0}, ["n", 3, "m"], [3]),
        ("Squeeze", [[N], ints(0)], {}, ["n"], []),
        ("Squeeze", [[N]], {}, ["n"], []),
        ("Squeeze", [[N]], {"axes": [0], "opset": 11}, ["n"], []),
        ("Squeeze", [[N, 6], ints(0)], {}, None, None),
        ("Unsqueeze", [[N, 6], ints(0)], {}, ["n", 6], [1, 2]),
        ("Unsqueeze", [[N, 6]], {"axes": [1, 2], "opset": 11}, ["n", 6], [2, 1, 1]),
        ("Unsqueeze", [[N]], {}, None, None),
        ("Reshape", [[N, 6], ints(2, -1)], {}, ["n", 6], [2, 1]),
        ("Reshape", [[N, 6], ints(0, 1)], {}, ["n", 6], [2, 1]),
        ("ReduceProd", [[N, 6, 2]], {}, ["n * (12)"], [1]),
        ("ReduceProd", [[N, 6], ints(0)], {"keepdims": 0, "opset": 18}, ["n * (6)"], []),
        ("ReduceProd", [[N, 6]], {"axes": [1]}, None, None),
        ("ReduceProd", [[N, 6]], {"noop_with_empty_axes": 1, "opset": 18}, None, None),
        ("Cast", [[N, 6]], {"to": INT64}, ["n", 6], [2]),
        ("Cast", [[N, 6]], {"to": INT32}, None, None),
        # Only of what is never negative is a quotient rounded downwards.
        ("Div", [[N - 5], ints(2)], {}, None, None),
        ("Div", [[N], ints(0)], {}, None, None),
        ("Mod", [[N], ints(-2)], {}, None, None),
        ("Relu", [[N]], {}, None, None),
        ("Add", [ints(1), ints(2)], {}, None, None),
        ("Gather", [[N, 6], [M]], {}, None, None),
        ("Neg", [[2, 6]], {}, [-2, -6], [2]),
    ],
)
def test_operators_on_shapes(operator, operands, attributes, elements, shape):
    expected = None if elements is None else (elements, shape)
    assert shown(value_of(operator, *operands, **attributes)) == expected


def test_other_operators_of_that_name_are_none():
    assert value_of("Add", [N], ints(2), domain="com.microsoft") is None
    assert value_of("Add", [N], ints(2), outputs=2) is None
    assert value_of("Add", [N], tensor([1])) is None


def test_nothing_is_still_of_integers():
    assert value_of("Slice", [N, 6], ints(2), ints(2)).dtype == np.int64


def test_a_product_keeps_as_many_axes_as_there_were():
    values = known(opset=11)
    shape = values.computed(helper.make_node("Shape", ["x"], ["a"]), [tensor([N, 6])], {})
    axes = {"axes": [0]}
    row = values.computed(helper.make_node("Unsqueeze", ["a"], ["b"], **axes), [shape], axes)
    values.computed(helper.make_node("ReduceProd", ["b"], ["c"]), [row], {})
    assert shown(values.value("c", None)) == (["n * (6)"], [1, 1])


def test_sizes_are_no_positions_among_themselves():
    values = known()
    shape = values.computed(helper.make_node("Shape", ["x"], ["a"]), [tensor([N, 1])], {})
    for operator in ("Gather", "Reshape"):
        node = helper.make_node(operator, ["a", "a"], ["b"])
        assert values.computed(node, [shape, shape], {}) is None


@pytest.mark.parametrize(
    ("operator", "attributes", "elements", "shape"),
    [
        ("Shape", {}, [2, "n", 3], [3]),
        ("Shape", {"start": 1}, ["n", 3], [2]),
        ("Shape", {"end": -1}, [2, "n"], [2]),
        ("Shape", {"start": -1, "end": 9}, [3], [1]),
        ("Size", {}, ["n * (6)"], []),
    ],
)
def test_shapes_of_tensors(operator, attributes, elements, shape):
    values = known()
    node = helper.make_node(operator, ["x"], ["y"], **attributes)
    result = values.computed(node, [tensor([2, N, 3])], attributes)
    assert shown(values.value("y", result)) == (elements, shape)
    if "n" in str(elements):
        assert [int(extent) for extent in result.ty.shape] == shape
        assert str(result.ty.dtype) == "int64"
    else:
        assert result.value.numpy().tolist() == elements
    unknown = relax.Var("z", relax.TensorType(None, "float32", ndim=2))
    assert values.computed(node, [unknown], attributes) is None


def test_values_of_constants():
    values = known()
    assert values.value("c", relax.const(ints(1, 2))).tolist() == [1, 2]
    assert values.value("x", tensor([2])) is None
    most = shape_values.MOST_ELEMENTS
    assert values.value("c", relax.const(np.zeros(most, np.int64))) is not None
    assert values.value("c", relax.const(np.zeros(most + 1, np.int64))) is None
    assert value_of("Add", [N], np.zeros(most, np.int64)) is not None
    assert value_of("Add", np.zeros((most, 1), np.int64), [N, N]) is None


def test_a_run_computes_what_depends_on_its_sizes():
    values, builder = known(opset=11), relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([N, 2, M], "float32"))
    names = ["a", "b", "c"]
    with builder.function("main", [x]):
        with builder.dataflow():
            shape = values.computed(helper.make_node("Shape", ["x"], ["a"]), [x], {})
            axes = {"axes": [1]}
            column = helper.make_node("Unsqueeze", ["a"], ["b"], **axes)
            nested = values.computed(column, [shape], axes)
            constant = relax.const(ints(5))
            found = values.as_tensors(builder, names, [shape, nested, constant])
            assert found[2] is constant
            assert values.as_tensor(builder, "a", shape) is found[0]
            result = builder.emit_output(relax.Tuple(found[:2]))
        builder.emit_func_output(result)
    for n, m in ((4, 1), (7, 3)):
        flat, rows = compiled(builder.get())(np.zeros((n, 2, m), np.float32))
        assert flat.tolist() == [n, 2, m]
        assert rows.tolist() == [[n], [2], [m]]
