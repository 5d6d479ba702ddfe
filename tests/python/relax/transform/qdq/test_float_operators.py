"""What counts as an operator that is computed in float."""

from __future__ import annotations

import numpy as np
from tvm import relax, topi

from support.qdq_models import float_counts, qdq_module


def test_operators_before_between_and_after_the_integers_count():
    def whole(graph, image):
        x = graph.quantize(graph.emit(relax.op.tanh(image)))
        y = graph.quantize(graph.emit(relax.op.cumsum(graph.dequantize(x), 1)))
        z = graph.quantize(graph.emit(relax.op.nn.relu(graph.dequantize(y))))
        return graph.emit(relax.op.nn.softmax(graph.dequantize(z)))

    mod = qdq_module(whole, ((2, 5), "float32"))
    assert float_counts(mod) == {"tanh": 1, "cumsum": 1, "softmax": 1}


def test_changes_of_type_and_of_shape_do_not():
    def whole(graph, image):
        graph.emit(relax.op.shape_of(image))
        x = graph.quantize(graph.emit(relax.op.reshape(image, (10,))))
        return graph.emit(relax.op.reshape(graph.dequantize(x), (5, 2)))

    assert float_counts(qdq_module(whole, ((2, 5), "float32"))) == {}


def test_what_depends_on_constants_only_does_not():
    def whole(graph, x, y):
        weight = graph.emit(relax.op.permute_dims(graph.dequantize(np.arange(10).reshape(2, 5))))
        return graph.emit(relax.op.matmul(graph.dequantize(x), weight)), graph.dequantize(y)

    mod = qdq_module(whole, ((2, 5), "int8"), ((2, 5), "int8"))
    assert float_counts(mod) == {"matmul": 1}


def test_integer_operators_do_not():
    def whole(graph, x, y):
        return graph.emit(relax.op.add(x, y)), graph.quantize(graph.dequantize(x))

    assert float_counts(qdq_module(whole, ((3,), "int32"), ((3,), "int32"))) == {}


def test_tuples_are_read_and_written():
    def whole(graph, x):
        parts = graph.emit(relax.op.split(graph.dequantize(x), 2))
        both = graph.emit(relax.Tuple([graph.emit(parts[1]), graph.emit(parts[0])]))
        return graph.emit(relax.op.concat(both))

    assert float_counts(qdq_module(whole, ((4,), "int8"))) == {"concat": 1, "split": 1}


def test_functions_count_by_their_names():
    def whole(graph, x):
        real = graph.dequantize(x)
        return graph.builder.emit_te(topi.sqrt, real, primfunc_name_hint="root")

    assert float_counts(qdq_module(whole, ((4,), "int8"))) == {"root": 1}
