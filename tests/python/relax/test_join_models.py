import numpy as np
import pytest

from support.state_programs import program
from usmp.relax.join_models import join_models


def model(value=0):
    """`main(x, s)` returns x + s; s becomes x."""
    return program(lambda g: [g.add(g.x, g.s), g.x], {"s": 1}, {"s": np.int8(value)})


def named(mod):
    return sorted(str(variable.name_hint) for variable in mod.functions)


def test_models_are_entries_with_states_of_their_own():
    mod = join_models({"b": model(1), "a": model(2)})
    assert list(mod.attrs["entries"]) == ["b", "a"]
    for name in ("a", "b"):
        (state,) = mod[name].attrs["states"]
        assert state.name == f"{name}.s"
        assert [str(param.name) for param in mod[name].params] == ["x", f"{name}.s"]
        assert mod[name].attrs["global_symbol"] == name


def test_methods_of_one_program_share_their_states():
    mod = join_models({"a": model(), "b": model()}, shared_state=True)
    assert [mod[name].attrs["states"][0].name for name in ("a", "b")] == ["s", "s"]


def test_functions_of_one_name_are_kept_apart():
    functions = named(join_models({"a": model(), "b": model()}))
    assert len(functions) == len(set(functions)) == 2 * len(named(model()))


def test_several_entries_of_a_model_have_its_name_in_front():
    inner = join_models({"x": model(), "y": model()}).with_attr("concurrent_entries", [["x", "y"]])
    mod = join_models({"a": inner, "b": model()})
    assert list(mod.attrs["entries"]) == ["a_x", "a_y", "b"]
    assert [list(pair) for pair in mod.attrs["concurrent_entries"]] == [["a_x", "a_y"]]
    assert mod["a_x"].attrs["states"][0].name == "a.x.s"


def message(models):
    with pytest.raises(ValueError) as error:
        join_models(models)
    return str(error.value)


def test_models_that_are_refused():
    inner = join_models({"x": model(), "y": model()})
    assert message({"a": inner, "a_x": model()}) == (
        'two entries are called "a_x"; rename one of them'
    )
    assert message({"A": model(), "a": model()}).startswith('entries "A" and "a" differ in capital')
    assert message({"a": model().with_attr("k", 1), "b": model().with_attr("k", 2)}) == (
        'models "a" and "b" have different values of the attribute "k"; one program has one'
    )
