import pytest
from tvm import relax
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import relax as R

from usmp.relax.entries import join_functions, relax_entries, split_entries


@I.ir_module
class Two:
    @R.function
    def step(x: R.Tensor((2,), "float32")):
        return R.add(x, x)

    @R.function
    def encode(x: R.Tensor((3,), "float32")):
        return R.nn.relu(x)

    @R.function(private=True)
    def helper(x: R.Tensor((3,), "float32")):
        return R.nn.relu(x)


def test_entries_are_the_public_functions_by_name():
    assert relax_entries(Two) == ["encode", "step"]


def test_the_attribute_says_which_and_in_which_order():
    assert relax_entries(Two.with_attr("entries", ["step", "encode"])) == ["step", "encode"]
    assert relax_entries(Two.with_attr("entries", ["step"])) == ["step"]


def test_a_module_without_functions_misses_main():
    assert relax_entries(IRModule({})) == ["main"]


def message(mod, **attrs):
    with pytest.raises(ValueError) as error:
        relax_entries(mod.with_attrs(attrs))
    return str(error.value)


def test_entries_that_are_refused():
    assert message(Two, entries=[]) == 'the attribute "entries" of the module lists no entry'
    assert message(Two, entries=["stop"]) == (
        'entry "stop" is no Relax function of the module; these are encode, helper, step'
    )
    assert message(Two, entries=["step", "step"]) == (
        'two entries are called "step"; rename one of them'
    )
    assert message(Two, concurrent_entries=[["step", "stop"]]) == (
        'concurrent entries step, stop: there is no entry "stop". Did you mean "step"? '
        "Entries: encode, step"
    )
    assert message(Two, entries=["step"], concurrent_entries=[["step", "encode"]]) == (
        'concurrent entries step, encode: there is no entry "encode". Entries: step'
    )
    assert message(Two, concurrent_entries=[["step"]]) == (
        "concurrent entries step: name two or more, each once"
    )
    assert message(Two, concurrent_entries=[["step", "step"]]) == (
        "concurrent entries step, step: name two or more, each once"
    )


@pytest.mark.parametrize("name", ["_step", "4step", "st-ep", "é", "x" * 65])
def test_names_that_c_cannot_have(name):
    mod = IRModule({name: Two["step"].with_attr("global_symbol", name)})
    assert message(mod).startswith(f'an entry cannot be called "{name}": it is part of the names')


def test_names_that_differ_in_capital_letters():
    mod = IRModule({"Step": Two["step"], "step": Two["step"]})
    assert message(mod) == (
        'entries "Step" and "step" differ in capital letters only, so they have the same macros; '
        "rename one of them"
    )


def test_each_entry_is_main_of_a_module_with_all_that_is_no_entry():
    mod = Two.with_attrs({"entries": ["encode", "step"], "kept": "yes"})
    alone = split_entries(mod, ["encode", "step"])
    assert list(alone) == ["encode", "step"]
    for name, part in alone.items():
        assert sorted(v.name_hint for v in part.functions) == ["helper", "main"]
        assert dict(part.attrs.items()) == {"kept": "yes"}
        assert part["main"].body.same_as(mod[name].body)
        assert part["main"].attrs["global_symbol"] == "main"


def test_entries_are_put_back_under_their_names():
    alone = split_entries(Two, ["encode", "step"])
    alone["step"] = relax.transform.Normalize()(alone["encode"])
    joined = join_functions(Two, alone)
    assert joined["step"].attrs["global_symbol"] == "step"
    assert int(joined["step"].params[0].ty.shape[0]) == 3
    assert sorted(v.name_hint for v in joined.functions) == ["encode", "helper", "step"]
