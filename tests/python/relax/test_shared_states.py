import numpy as np
import pytest
import tvm
from tvm import relax

from support.state_programs import program
from usmp import StateInfo
from usmp.objects.attributes.module_attributes import STATES_FLAG_ATTR
from usmp.relax.shared_states import share_states

ONE, ZERO = np.int8(1), np.int8(0)


def alone(states, results, initial=None):
    """A module with one entry: states with their results (-1 for none), and what `main` returns."""
    return program(lambda g: [getattr(g, name) for name in results], states, initial or {})


def infos(mod):
    return {str(s.name): int(s.output) for s in mod["main"].attrs["states"]}


def parameters(mod):
    return [str(param.name) for param in mod["main"].params]


def results(mod):
    body = mod["main"].body.body
    return len(body.fields) if isinstance(body, relax.Tuple) else 1


def test_a_state_that_one_of_them_changes_stays_in_all():
    shared = share_states(
        {"a": alone({"s": 1}, ["s", "x"]), "b": alone({"s": -1}, ["s"]), "c": alone({}, ["x"])}
    )
    assert [infos(mod) for mod in shared.values()] == [{"s": 1}, {"s": -1}, {}]
    assert parameters(shared["b"]) == ["x", "s"]


def test_a_state_that_none_changes_is_a_constant():
    initial = {"s": np.array([1, 2, 3, 4], np.int8)}
    shared = share_states(
        {
            "a": alone({"s": 0, "r": 2}, ["s", "s", "x"], initial),
            "b": alone({"s": -1}, ["s"], initial),
        }
    )
    assert infos(shared["a"]) == {"r": 1}
    assert results(shared["a"]) == 2
    assert infos(shared["b"]) == {}
    assert [parameters(mod) for mod in shared.values()] == [["x", "r"], ["x"]]
    (constant,) = {
        tuple(node.value.numpy())
        for node in [shared["b"]["main"].body.body.fields[0]]
        if hasattr(node, "value")
    }
    assert constant == (1, 2, 3, 4)


def test_entries_that_share_states_set_them_together():
    # b shares r with a, so it may run before a; c shares nothing.
    shared = share_states(
        {
            "a": alone({"s": 1, "r": 0}, ["x", "x"], {"s": ONE, "r": ZERO}),
            "b": alone({"r": 0}, ["x"]),
            "c": alone({"q": 0}, ["x"], {"q": ONE}),
        }
    )
    attrs = {name: mod["main"].attrs for name, mod in shared.items()}
    assert list(attrs["a"]["initial_states"]) == []
    (other,) = attrs["b"]["initial_states"]
    assert (other.name, other.output, other.initial_value.numpy().tolist()) == ("s", -1, [1] * 4)
    assert list(attrs["c"]["initial_states"]) == []
    assert [STATES_FLAG_ATTR.of(mod["main"]) for mod in shared.values()] == [
        {"states_are_set": ["s"]},
        {"states_are_set": ["s"]},
        {"states_are_set_1": ["q"]},
    ]


def test_what_starts_as_zeros_needs_no_flag():
    shared = share_states({"a": alone({"s": 0}, ["x"]), "b": alone({"s": -1}, ["x"])})
    assert all("states_flag" not in mod["main"].attrs for mod in shared.values())


def message(**entries):
    with pytest.raises(ValueError) as error:
        share_states(entries)
    return str(error.value)


def test_a_state_of_two_values():
    assert message(a=alone({"s": 0}, ["x"], {"s": ONE}), b=alone({"s": 0}, ["x"], {"s": ZERO})) == (
        'state "s" has one initial value in entry "a", and another in entry "b"; it can have one'
    )


def test_a_state_of_two_types():
    other = relax.Var("s", relax.TensorType((2, 2), "int8"))
    builder = relax.BlockBuilder()
    with builder.function("main", [other]):
        builder.emit_func_output(other)
    mod = builder.get()
    zero = tvm.runtime.tensor(ZERO)
    mod.update_func(
        mod.get_global_var("main"), mod["main"].with_attr("states", [StateInfo("s", 0, zero)])
    )
    assert message(a=alone({"s": 0}, ["x"]), b=mod) == (
        'state "s" is int8[4] in entry "a", but int8[2, 2] in entry "b"; give states that are not '
        "the same different names"
    )


def test_a_state_of_two_alignments():
    mod = alone({"s": 0}, ["x"])
    zero = tvm.runtime.tensor(ZERO)
    changed = mod["main"].with_attr("states", [StateInfo("s", 0, zero, 32)])
    mod.update_func(mod.get_global_var("main"), changed)
    assert message(a=alone({"s": 0}, ["x"]), b=mod) == (
        'state "s" is aligned to 0 in entry "a", but to 32 in entry "b"; it has one address'
    )


def test_messages_call_a_function_by_the_name_of_its_entry():
    mod = alone({"s": 0}, ["x"])
    zero = tvm.runtime.tensor(ZERO)
    for state, said in (
        (
            StateInfo("t", 0, zero),
            'state "t" must be the name of one parameter of mean; these are x, s',
        ),
        (
            StateInfo("s", 7, zero),
            'state "s" must have a result of mean of its own, 0 to 0, or -1 if mean only reads it, '
            "but has 7",
        ),
    ):
        main = mod["main"].with_attr("states", [state])
        changed = tvm.IRModule({tvm.ir.GlobalVar("main"): main})
        assert message(add=mod, mean=changed) == said


def test_the_attribute_of_an_entry_that_is_no_list_of_states():
    mod = alone({"s": 0}, ["x"])
    changed = tvm.IRModule({tvm.ir.GlobalVar("main"): mod["main"].with_attr("states", "s")})
    assert message(add=mod, mean=changed) == (
        'the attribute "states" of mean must be a list of StateInfo'
    )
