"""States of a Relax main function: which are accepted, and what is said of others."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.ir import IRModule

from usmp.objects.state_info import StateInfo, updated_input
from usmp.relax.states import initial_array, states_of, updated_inputs

ZERO = tvm.runtime.tensor(np.int8(0))


def main(states, h=(2, 3), results=None) -> relax.Function:
    """A function of `x` and `h` that returns one of another type, `h`, and `h` again."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    state = relax.Var("h", relax.TensorType(h, "int8") if isinstance(h, tuple) else h)
    with builder.function("main", [x, state], {"states": states}):
        made = [relax.op.negative(x), *([relax.op.negative(state)] * 2)] if results is None else []
        outputs = [builder.emit(each) for each in made] or [x]
        builder.emit_func_output(relax.Tuple(outputs))
    mod: IRModule = builder.get()
    return mod["main"]


def state(output: int = 1, value=ZERO, alignment: int = 0, name: str = "h") -> StateInfo:
    return StateInfo(name, output, value, alignment)


def array(value) -> tvm.runtime.Tensor:
    return tvm.runtime.tensor(np.asarray(value))


@pytest.mark.parametrize(
    "states",
    [
        [],
        [state(1)],
        [state(2)],
        [state(-1)],
        [state(1, array(np.zeros((2, 3), np.int8)))],
        [state(1, alignment=1)],
        [state(1, alignment=64)],
    ],
)
def test_states_of_parameters_and_results(states):
    found = states_of(main(states))
    assert len(found) == len(states)
    assert all(one.same_as(other) for one, other in zip(found, states, strict=True))
    assert updated_inputs(main(states)) == set()


@pytest.mark.parametrize(
    "after",
    [
        lambda h: relax.op.astype(h, "int16"),
        lambda h: relax.op.reshape(h, (3, 2)),
        lambda h: relax.op.reshape(h, (6,)),
    ],
)
def test_a_state_has_one_type_and_shape(after):
    builder = relax.BlockBuilder()
    h = relax.Var("h", relax.TensorType((2, 3), "int8"))
    with builder.function("main", [h], {"states": [state(0)]}):
        builder.emit_func_output(builder.emit(after(h)))
    with pytest.raises(ValueError, match=r"is int8\[2, 3\] before a run, but result 0"):
        states_of(builder.get()["main"])


def test_a_function_without_the_attribute_has_no_states():
    assert states_of(main([]).without_attr("states")) == []


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ("h", "must be a list of StateInfo"),
        (["h"], "must be a list of StateInfo"),
        ([state(1, name="g")], 'state "g" must be the name of one parameter .* are x, h'),
        ([state(1), state(2)], 'state "h" must be the name of one parameter'),
        ([state(-2)], "result of main of its own, 0 to 2, or -1 if main only reads it, but has -2"),
        ([state(3)], "0 to 2, or -1 if main only reads it, but has 3"),
        ([state(0)], r"is int8\[2, 3\] before a run, but result 0 of main is"),
        ([state(1, alignment=3)], "must be a power of two .* not 3"),
        (
            [state(1, array(np.float32(0)))],
            r"is int8\[2, 3\], but its initial value is float32\[\]",
        ),
        ([state(1, array(np.zeros((3, 2), np.int8)))], r"initial value is int8\[3, 2\]"),
    ],
)
def test_other_states_are_refused(states, message):
    with pytest.raises(ValueError, match=message):
        states_of(main(states))


def test_messages_name_the_entry():
    with pytest.raises(ValueError, match="one parameter of count"):
        states_of(main([state(1, name="g")]), "count")


def test_a_state_has_a_static_shape():
    n = tirx.Var("n", "int64")
    with pytest.raises(ValueError, match="a state must be a tensor of static shape"):
        states_of(main([state(1)], (2, n)))


def test_two_states_have_results_of_their_own():
    x = state(1, array(np.float32(0)), name="x")
    with pytest.raises(ValueError, match="must have a result of main of its own"):
        states_of(main([state(1), x]))


def test_updated_inputs_have_no_initial_value_and_a_result():
    function = main([updated_input("h", 1, "int8")])
    assert updated_inputs(function) == {"h"}
    assert updated_inputs(main([state(1), updated_input("x", 0, "float32")])) == {"x"}
    with pytest.raises(ValueError, match=r'^input "h" must have a result .* 0 to 2, but has -1'):
        states_of(main([updated_input("h", -1, "int8")]))
    n = tirx.Var("n", "int64")
    assert updated_inputs(main([updated_input("h", 1, "int8")], (2, n))) == {"h"}
    shape = relax.ShapeType(ndim=1)
    with pytest.raises(ValueError, match='input "h" of main must be a tensor'):
        states_of(main([updated_input("h", 1, "int8")], shape, results=()))
    unknown = relax.TensorType(dtype="int8", ndim=2)
    with pytest.raises(ValueError, match='input "h" of main must be a tensor'):
        states_of(main([updated_input("h", 1, "int8")], unknown))


def test_initial_values_are_arrays_of_the_shape():
    ty = relax.TensorType((2, 3), "int8")
    assert initial_array(state(1, array(np.int8(5))), ty).tolist() == [[5] * 3] * 2
    value = np.arange(6, dtype=np.int8).reshape(2, 3)
    assert initial_array(state(1, array(value)), ty).tolist() == value.tolist()
