"""Operators on symbolic shapes: what holds for all sizes passes, and everything else is refused."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx

import usmp
from usmp.relax.symbolic_operators import RULES, check_symbolic_operators

N, M = tirx.Var("n", "int64"), tirx.Var("m", "int64")
UPPER = {"tir_var_upper_bound": {"n": 128}}


def function(operator, *shapes, attributes=None) -> relax.Function:
    """x0, x1, ... -> operator(x0, x1, ...)."""
    params = [relax.Var(f"x{i}", relax.TensorType(s, "float32")) for i, s in enumerate(shapes)]
    builder = relax.BlockBuilder()
    with builder.function("main", params, attrs=UPPER if attributes is None else attributes):
        with builder.dataflow():
            output = builder.emit_output(builder.emit(operator(*params)))
        builder.emit_func_output(output)
    return builder.get()["main"]


def message_of(operator, *shapes) -> str:
    with pytest.raises(usmp.UnsupportedModelError) as error:
        check_symbolic_operators(function(operator, *shapes))
    return str(error.value)


def sliced(begin, end):
    """Axis 1 from `begin` to `end`."""
    limits = [
        [relax.prim_value(tirx.const(v, "int64") if isinstance(v, int) else v)]
        for v in (begin, end)
    ]
    return lambda x, *_: relax.op.strided_slice(x, [1], *limits, assume_inbound=True)


def conv1d(x):
    return relax.op.nn.conv1d(x, relax.const(np.ones((2, 3, 3), np.float32)), padding=1)


PASSING = {
    "add": (relax.op.add, (1, N, 4), (N, 1)),
    "matmul": (relax.op.matmul, (1, N, 4), (1, 4, N)),
    "concat": (lambda a, b: relax.op.concat([a, b], 2), (1, N, 4), (1, N, 3)),
    "reshape": (lambda x: relax.op.reshape(x, (1, N, 2, 2)), (N, 4)),
    "broadcast_to": (lambda x: relax.op.broadcast_to(x, (2, N, 4)), (N, 1)),
    "strided_slice": (sliced(0, N), (1, 128, 4), (N,)),
    "slice_all_but_the_first": (sliced(1, N), (1, N, 4)),
    "squeeze": (lambda x: relax.op.squeeze(x, [0]), (1, N)),
    "split": (lambda x: relax.op.split(x, 2, 2), (1, N, 4)),
    "conv1d": (conv1d, (1, 3, N)),
    "layer_norm": (
        lambda x: relax.op.nn.layer_norm(x, *2 * [relax.const(np.ones(4, np.float32))], [-1]),
        (1, N, 4),
    ),
    "static_and_unlisted": (lambda x, _: relax.op.cumsum(x, 0), (4,), (N,)),
}

REFUSED = {
    "add": (
        (relax.op.add, (1, N, 4), (1, 64, 4)),
        "operator add of [1, n, 4] and [1, 64, 4] is not supported: the shape of its result does "
        "not follow from the sizes; make sizes that are always equal one, or fix them",
    ),
    "matmul": (
        (relax.op.matmul, (1, 4, N), (1, 64, 4)),
        "operator matmul of [1, 4, n] and [1, 64, 4] is not supported: n and 64 must be equal, and "
        "are not for all sizes; make the sizes that are always equal one, or fix them",
    ),
    "matmul_of_two_sizes": (
        (relax.op.matmul, (4, N), (M, 4)),
        "operator matmul of [4, n] and [m, 4] is not supported: n and m must be equal, and are not "
        "for all sizes; make the sizes that are always equal one, or fix them",
    ),
    "reshape": (
        (lambda x: relax.op.reshape(x, (64, 4)), (N, 4)),
        "operator reshape of [n, 4] is not supported: n * 4 and 256 must be equal, and are not for "
        "all sizes; make the sizes that are always equal one, or fix them",
    ),
    "broadcast_to": (
        (lambda x: relax.op.broadcast_to(x, (64, 4)), (N, 4)),
        "operator broadcast_to of [n, 4] is not supported: n and 64 must be equal, and are not for "
        "all sizes; make the sizes that are always equal one, or fix them",
    ),
    "strided_slice": (
        (sliced(0, N), (1, 127, 4), (N,)),
        "operator strided_slice of [1, 127, 4] is not supported: n is more than 127 for some sizes",
    ),
    "squeeze": (
        (relax.op.squeeze, (1, N)),
        "operator squeeze of [1, n] is not supported: the shape of its result does not follow from "
        "the sizes; make sizes that are always equal one, or fix them",
    ),
    "squeeze_of_many": (
        (lambda x: relax.op.squeeze(x, [0]), (N, 4)),
        "operator squeeze of [n, 4] is not supported: n and 1 must be equal, and are not for all "
        "sizes; make the sizes that are always equal one, or fix them",
    ),
    "split": (
        (lambda x: relax.op.split(x, 2, 1), (1, N)),
        "operator split of [1, n] is not supported: the extent of axis 1 must be fixed, and is n; "
        "give the model a fixed size",
    ),
    "unlisted": (
        (lambda x: relax.op.cumsum(x, 0), (N,)),
        "operator cumsum of [n] is not supported: it has been compared with fixed shapes only; "
        "export the model with fixed input shapes",
    ),
}


@pytest.mark.parametrize("name", PASSING)
def test_what_holds_for_all_sizes_passes(name):
    check_symbolic_operators(function(*PASSING[name]))


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_is_refused(name):
    case, message = REFUSED[name]
    assert message_of(*case) == message


def test_bounds_decide():
    case = (sliced(0, N), (1, 128, 4), (N,))
    wider = {"tir_var_upper_bound": {"n": 129}}
    check_symbolic_operators(function(*case))
    with pytest.raises(usmp.UnsupportedModelError, match="n is more than 128 for some sizes"):
        check_symbolic_operators(function(*case, attributes=wider))


def test_a_shape_that_data_gives():
    x = relax.Var("x", relax.TensorType((N,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        cast = builder.match_cast(x, relax.TensorType((M,), "float32"))
        builder.emit_func_output(builder.emit(relax.op.nn.relu(cast)))
    with pytest.raises(usmp.UnsupportedModelError, match="gets its shape by match_cast"):
        check_symbolic_operators(builder.get()["main"])


def test_a_size_that_no_input_has():
    with pytest.raises(usmp.UnsupportedModelError, match="does not follow from the sizes"):
        check_symbolic_operators(function(lambda _: relax.op.zeros((M,), "float32"), (N,)))


def test_rules_are_of_operators_that_tvm_has():
    for name in RULES:
        tvm_op = relax.op if "." not in name else relax.op.nn
        assert name == "call_tir" or hasattr(tvm_op, name.removeprefix("nn.")), name
