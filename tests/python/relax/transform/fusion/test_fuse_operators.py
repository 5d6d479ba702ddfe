"""Relax operators become few PrimFuncs."""

import numpy as np
import pytest
from tvm import relax

from support.quantized_models.sequences import swish
from usmp.frontend.tflite.importer import import_tflite
from usmp.relax.transform.fusion.fuse_operators import FuseOperators


def calls(mod):
    """What `main` calls, in order."""
    return [
        binding.value.args[0].name_hint
        if binding.value.op.name == "relax.call_tir"
        else binding.value.op.name
        for block in mod["main"].body.blocks
        for binding in block.bindings
        if isinstance(binding.value, relax.Call)
    ]


def test_element_wise_operators_join_the_operator_before_them(model, random_array):
    def body(b, x):
        weights = relax.const(random_array(4, 3, 3, 3))
        y = b.emit(relax.op.nn.conv2d(x, weights, padding=(1, 1, 1, 1)))
        y = b.emit(relax.op.add(y, relax.const(random_array(1, 4, 1, 1))))
        return relax.op.nn.relu(y)

    mod = FuseOperators()(model(body, ("x", (1, 3, 8, 8), "float32")))
    assert calls(mod) == ["fused_conv2d_add_relu"]


def test_a_reshape_between_operators_stays_a_view(model, random_array):
    def body(b, x):
        y = b.emit(relax.op.reshape(b.emit(relax.op.nn.relu(x)), (8,)))
        return relax.op.matmul(y, relax.const(random_array(8, 2)))

    mod = FuseOperators()(model(body, ("x", (2, 4), "float32")))
    assert calls(mod) == ["relu", "relax.reshape", "matmul"]


@pytest.mark.parametrize(
    "change",
    [
        relax.op.flatten,
        relax.op.nn.batch_flatten,
        relax.op.squeeze,
        lambda x: relax.op.expand_dims(x, 0),
    ],
    ids=["flatten", "batch_flatten", "squeeze", "expand_dims"],
)
def test_what_only_changes_the_shape_is_a_view(model, change):
    mod = FuseOperators()(model(lambda _, x: change(x), ("x", (1, 2, 4), "float32")))
    assert calls(mod) == ["relax.reshape"]


def test_what_constants_give_is_computed_now(model, random_array):
    a, b = random_array(4), random_array(4)

    def body(builder, x):
        total = builder.emit(relax.op.add(relax.const(a), relax.const(b)))
        return relax.op.multiply(x, total)

    mod = FuseOperators()(model(body, ("x", (4,), "float32")))
    assert calls(mod) == ["multiply"]
    (binding,) = mod["main"].body.blocks[0].bindings
    assert np.array_equal(binding.value.args[1].fields[1].value.numpy(), a + b)


def test_what_nothing_uses_is_removed(model):
    def body(b, x):
        b.emit(relax.op.exp(x))
        return relax.op.nn.relu(x)

    mod = FuseOperators()(model(body, ("x", (4,), "float32")))
    assert calls(mod) == ["relu"]
    assert {v.name_hint for v in mod.functions} == {"main", "relu"}


def test_batch_norm_is_taken_apart(model, random_array):
    def body(b, x):
        parameters = [relax.const(np.abs(random_array(3))) for _ in range(4)]
        normal = b.emit(relax.op.nn.batch_norm(x, *parameters, axis=1))
        return b.emit(relax.TupleGetItem(normal, 0))

    mod = FuseOperators()(model(body, ("x", (1, 3, 4, 4), "float32")))
    assert len(calls(mod)) == 1


def test_tables_join_the_operator_before_them():
    mod = FuseOperators()(import_tflite(swish()))
    assert calls(mod)[0] == "fused_conv2d_logistic_multiply"
