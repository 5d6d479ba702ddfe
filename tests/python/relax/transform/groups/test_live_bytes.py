"""About how many bytes of a Relax main are live at once, by the options of planning."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.ir import IRModule

from usmp.objects.state_info import StateInfo
from usmp.planning.options import PlanningOptions
from usmp.relax.transform.groups.live_bytes import estimated_peak

PLAIN = {"overlap": False, "order_operators": False}
relu, exp, add, tanh = relax.op.nn.relu, relax.op.exp, relax.op.add, relax.op.tanh


def module(make, *shapes: tuple[int, ...], attrs=None) -> IRModule:
    """A main whose parameters have these shapes, of float32."""
    builder = relax.BlockBuilder()
    names = [f"x{number}" for number in range(len(shapes))]
    params = [
        relax.Var(name, relax.TensorType(shape, "float32"))
        for name, shape in zip(names, shapes, strict=True)
    ]
    with builder.function("main", params, attrs):
        with builder.dataflow():
            result = make(builder.emit, *params)
            results = [builder.emit_output(each) for each in result]
        builder.emit_func_output(results[0] if len(results) == 1 else relax.Tuple(results))
    return builder.get()


def peak(mod: IRModule, **options) -> int:
    return estimated_peak(mod, PlanningOptions(**{**PLAIN, **options}))


def chain(emit, x):
    return [tanh(emit(exp(emit(relu(x)))))]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 128),
        # Each result may lie over what its operator reads for the last time.
        ({"overlap": True}, 64),
        ({"use_workspace_io": True}, 128),
        ({"use_workspace_io": True, "preserve_inputs": True}, 192),
        ({"use_workspace_io": True, "overlap": True}, 64),
        ({"use_workspace_io": True, "overlap": True, "preserve_inputs": True}, 128),
    ],
)
def test_a_chain(options, expected):
    assert peak(module(chain, (16,)), **options) == expected


def residual(emit, x):
    a = emit(relu(x))
    return [add(a, emit(exp(a)))]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 128),
        ({"overlap": True}, 128),
        ({"use_workspace_io": True}, 192),
        ({"use_workspace_io": True, "overlap": True}, 128),
    ],
)
def test_what_is_read_later_is_live(options, expected):
    assert peak(module(residual, (16,)), **options) == expected


def two_outputs(emit, x):
    a = emit(relu(x))
    b = emit(exp(a))
    return [a, emit(tanh(b))]


def test_outputs_are_live_to_the_exit():
    assert peak(module(two_outputs, (16,))) == 64
    assert peak(module(two_outputs, (16,)), use_workspace_io=True) == 192
    assert peak(module(two_outputs, (16,)), use_workspace_io=True, overlap=True) == 128


def viewed(emit, x):
    flat = emit(relax.op.reshape(emit(relu(x)), (16,)))
    part = emit(relax.op.strided_slice(flat, [0], [0], [8]))
    return [tanh(emit(exp(part)))]


def test_views_are_what_they_are_of():
    """The exponent of the part, beside all of the first result."""
    assert peak(module(viewed, (4, 4))) == 64 + 32


def taken(emit, x):
    parts = emit(relax.op.split(emit(relu(x)), 2, 0))
    first = emit(relax.TupleGetItem(parts, 0))
    return [exp(emit(tanh(first)))]


def test_parts_of_a_tuple_are_views():
    assert peak(module(taken, (16,))) == 128


def concatenated(emit, x):
    a, b = emit(relu(x)), emit(exp(x))
    whole = emit(relax.op.concat([a, emit(tanh(b))], 0))
    return [tanh(emit(exp(whole)))]


@pytest.mark.parametrize(("overlap", "expected"), [(False, 256), (True, 192)])
def test_parts_of_a_concatenation_lie_in_it(overlap, expected):
    """128 bytes beside their exponents, or beside the operand of the second part."""
    assert peak(module(concatenated, (16,)), overlap=overlap) == expected


def input_concatenated(emit, x):
    whole = emit(relax.op.concat([x, emit(relu(x))], 0))
    return [relu(emit(tanh(emit(exp(whole))))), exp(x)]


def test_inputs_do_not_lie_in_a_concatenation():
    """It is dead when the input is read again."""
    assert peak(module(input_concatenated, (16,))) == 256


def wide_branches(emit, x):
    wide = [emit(relax.op.tile(x, [100])) for _ in range(3)]
    narrow = [emit(relax.op.sum(each)) for each in wide]
    return [add(emit(add(narrow[0], narrow[1])), narrow[2])]


def test_operators_may_change_places():
    mod = module(wide_branches, (1,))
    assert peak(mod) == 3 * 400 + 4
    assert peak(mod, order_operators=True) == 400 + 4 + 4


def test_states_are_live_all_the_time_and_do_not_count():
    def stateful(emit, x, s):
        return [add(x, s)]

    state = StateInfo("x1", 0, tvm.runtime.tensor(np.zeros((), np.float32)))
    mod = module(stateful, (16,), (16,), attrs={"states": [state]})
    assert peak(module(stateful, (16,), (16,)), use_workspace_io=True) == 192
    assert peak(mod, use_workspace_io=True) == 128
