"""What TFLite files compute of shapes is computed as they are imported."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax
from tvm.ir import Call, GenericConst

from support.quantized_models.model import Spec, int32, scalar
from support.tflite_builder import Graph, Options, options, per_tensor, write_model
from support.tflite_refusals import message_of, refusal
from usmp.frontend.tflite.importer import import_tflite
from usmp.frontend.tflite.shapes.known_values import _quotient
from usmp.tir.nodes import nodes_of

Q = per_tensor(0.1, -3)
INT32_MAX = 2**31 - 1
RANGE = options("RangeOptions")


class Chain(Graph):
    """Operators on the shape of `x`, (2, 4, 6) of int8."""

    def __init__(self) -> None:
        super().__init__()
        self.x = self.input((2, 4, 6), "int8", Q)
        self.shape = self.of("SHAPE", [self.x], (3,), options("ShapeOptions", out_type=2))

    def of(
        self,
        code: str,
        inputs: list[int | list[int]],
        shape: tuple[int, ...],
        table: Options | None = None,
        dtype: str = "int32",
    ) -> int:
        """An operator; lists are constants."""
        given = [self.constant(np.array(v, np.int32)) if isinstance(v, list) else v for v in inputs]
        result = self.tensor(shape, dtype)
        self.operator(code, given, [result], table)
        return result

    def extent(self, axis: int) -> int:
        table = options("StridedSliceOptions", shrink_axis_mask=1)
        return self.of("STRIDED_SLICE", [self.shape, [axis], [axis + 1], [1]], (), table)

    def result(self, code: str, inputs: list[int], shape: tuple[int, ...], table: Options) -> bytes:
        y = self.tensor(shape, "int8", Q)
        self.operator(code, inputs, [y], table)
        self.output(y)
        return write_model(self)


def calls_of(content: bytes) -> list[str]:
    """The operators that are left to run."""
    bindings = nodes_of(import_tflite(content)["main"].body, relax.VarBinding)
    return [binding.value.op.name for binding in bindings if isinstance(binding.value, Call)]


def tiled_by_computed_counts() -> bytes:
    """(1, 2 * 6 - 4 * 2 - 3, 6 // 4) times."""
    chain = Chain()
    batch, rows, columns = map(chain.extent, range(3))
    product = chain.of("MUL", [batch, columns], (), options("MulOptions"))
    twice = chain.of("ADD", [rows, rows], (), options("AddOptions"))
    rest = chain.of("SUB", [product, twice], (), options("SubOptions"))
    count = chain.of("SUB", [rest, scalar_of(chain, 3)], (), options("SubOptions"))
    half = chain.of("CAST", [columns], (), options("CastOptions"), "float32")
    ratio = chain.constant(np.array(0.3, np.float32))
    real = chain.of("MUL", [half, ratio], (), options("MulOptions"), "float32")
    cut = chain.of("CAST", [real], (), options("CastOptions"))
    one = chain.of("GATHER", [[7, 1], scalar_of(chain, 1)], (), options("GatherOptions"))
    packed = chain.of("PACK", [one, count, cut], (3,), options("PackOptions", values_count=3))
    return chain.result("TILE", [chain.x, packed], (2, 4, 6), options("TileOptions"))


def scalar_of(chain: Chain, value: int) -> int:
    return chain.constant(np.array(value, np.int32))


def test_nothing_but_the_last_operator_is_left():
    content = tiled_by_computed_counts()
    assert calls_of(content) == ["relax.tile"]


def test_the_shape_of_a_reshape():
    """(batch, 4 * 6), as a Keras model flattens."""
    chain = Chain()
    rest = chain.of("SLICE", [chain.shape, [1], [2]], (2,), options("SliceOptions"))
    table = options("ReducerOptions", keep_dims=True)
    product = chain.of("REDUCE_PROD", [rest, [0]], (1,), table)
    batch = chain.of("RESHAPE", [chain.extent(0), [1]], (1,), options("ReshapeOptions"))
    table = options("ConcatenationOptions", axis=0)
    shape = chain.of("CONCATENATION", [batch, product], (2,), table)
    content = chain.result("RESHAPE", [chain.x, shape], (2, 24), options("ReshapeOptions"))
    assert calls_of(content) == ["relax.reshape"]


def test_an_axis_is_added_to_an_extent():
    """`tf.shape(x)[2][tf.newaxis]`."""
    chain = Chain()
    table = options("StridedSliceOptions", new_axis_mask=1)
    extent = chain.of("STRIDED_SLICE", [chain.extent(2), [0], [0], [1]], (1,), table)
    table = options("ConcatenationOptions", axis=0)
    shape = chain.of("CONCATENATION", [[8], extent], (2,), table)
    content = chain.result("RESHAPE", [chain.x, shape], (8, 6), options("ReshapeOptions"))
    assert calls_of(content) == ["relax.reshape"]


def test_a_range_in_float32_adds_up():
    graph = Graph()
    x = graph.input((11,), "float32")
    ends = [graph.constant(np.array(v, np.float32)) for v in (0, 1.05, 0.1)]
    numbers, y = graph.tensor((11,), "float32"), graph.tensor((11,), "float32")
    graph.operator("RANGE", ends, [numbers], RANGE)
    graph.operator("ADD", [x, numbers], [y], options("AddOptions"))
    graph.output(numbers, y)
    main = import_tflite(write_model(graph))["main"]
    (constant,) = {c.value.numpy().tobytes() for c in nodes_of(main.body, GenericConst)}
    total = np.float32(0)
    expected = [total := np.float32(total + np.float32(0.1)) for _ in range(10)]
    assert constant == np.array([0, *expected], np.float32).tobytes()


# What operators compute of constants, and what the refusal says.
REFUSED = {
    "another shape": (
        "PACK",
        [scalar(1), scalar(2)],
        (3,),
        options("PackOptions", values_count=2),
        'output "t3" is int32[3]; the inputs and options give int32[2]',
    ),
    "too many": (
        "RANGE",
        [scalar(0), scalar(INT32_MAX), scalar(1)],
        (3,),
        RANGE,
        f'output "t4" has shape [3]; it should be [{INT32_MAX}]',
    ),
    "no step": ("RANGE", [scalar(0), scalar(3), scalar(0)], (3,), RANGE,
                "numbers from 0 to 3 in steps of 0"),
    "away from the limit": ("RANGE", [scalar(0), scalar(3), scalar(-1)], (3,), RANGE,
                            "numbers from 0 to 3 in steps of -1"),
    "outside": (
        "GATHER",
        [int32(1, 2), scalar(2)],
        (),
        options("GatherOptions"),
        "index 2 is outside of axis 0, which has 2 elements; indices from 0 to 1 are inside",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_together(case):
    code, inputs, shape, table, message = REFUSED[case]
    graph = Graph()
    graph.input((1,), "float32")
    given = [graph.constant(value.data) for value in inputs]
    y = graph.tensor(shape, "int32")
    graph.operator(code, given, [y], table)
    graph.output(y)
    assert message_of(write_model(graph)) == f'operator 0 ({code}, output "t{y}"): {message}'


def test_an_end_that_is_computed():
    assert refusal("RANGE", [scalar(0), Spec((), 0, 0, "int32"), scalar(1)],
                   Spec((3,), 0, 0, "int32"), RANGE) == (
        'input 1, "t1", is computed; only a constant is supported'
    )  # fmt: skip


def test_sums_that_leave_their_type_are_left_to_the_operator():
    """It wraps when the model runs; what it gives is not known here."""
    graph = Graph()
    graph.input((1,), "float32")
    a, y = graph.constant(np.array([INT32_MAX], np.int32)), graph.tensor((1,), "int32")
    graph.operator("ADD", [a, a], [y], options("AddOptions"))
    graph.output(y)
    assert calls_of(write_model(graph)) == ["relax.add"]


def test_a_constant_that_is_an_input_many_times_is_no_shape():
    """A file of 240 kB took many gigabytes."""
    graph = Graph()
    x, part = graph.input((4,), "int32"), graph.constant(np.arange(600, dtype=np.int32))
    joined = graph.tensor((1,), "int32", signature=(-1,))
    graph.operator("CONCATENATION", [part] * 2, [joined], options("ConcatenationOptions", axis=0))
    graph.output(joined, x)
    assert calls_of(write_model(graph)) == ["relax.concat"]


def test_three_constants_that_make_a_large_tensor_are_no_shapes():
    """A file of 5 kB took a gigabyte."""
    graph = Graph()
    x, condition = graph.input((4,), "int32"), graph.constant(np.ones((340, 1, 1), bool))
    first, second = (graph.constant(np.ones(s, np.int32)) for s in ((1, 340, 1), (1, 1, 340)))
    chosen = graph.tensor((1, 1, 1), "int32", signature=(-1, -1, -1))
    graph.operator("SELECT_V2", [condition, first, second], [chosen], options("SelectV2Options"))
    graph.output(chosen, x)
    assert calls_of(write_model(graph)) == ["relax.where"]


def test_an_operator_with_an_input_too_many_is_not_computed():
    graph = Graph()
    graph.input((1,), "float32")
    inputs = [graph.constant(np.array([number], np.int32)) for number in (1, 2, 3)]
    y = graph.tensor((1,), "int32")
    graph.operator("ADD", inputs, [y], options("AddOptions"))
    graph.output(y)
    assert message_of(write_model(graph)).startswith(f'operator 0 (ADD, output "t{y}"): ')


def test_quotients_of_integers_are_towards_zero_and_those_of_floats_exact():
    left, right = ([7, -7, 7, -7, 6, 0], [2, 2, -2, -2, -3, -3])
    integers = _quotient(np.array(left, object), np.array(right, object))
    assert integers.tolist() == [3, -3, -3, 3, -2, 0]
    floats = _quotient(np.array(left, np.float32), np.array(right, np.float32))
    assert floats.tolist() == [3.5, -3.5, -3.5, 3.5, -2, 0]
    assert floats.dtype == np.float32
