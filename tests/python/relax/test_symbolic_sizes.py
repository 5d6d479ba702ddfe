"""Bounds of shape variables: read, set, narrowed and refused."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax, tirx

import usmp
from usmp.relax.symbolic_sizes import symbolic_sizes_of, with_max_sizes


def model(*shapes, attributes=None, result=relax.op.nn.relu) -> tvm.IRModule:
    """x0, x1, ... -> result(x0)."""
    params = [relax.Var(f"x{i}", relax.TensorType(s, "float32")) for i, s in enumerate(shapes)]
    builder = relax.BlockBuilder()
    with builder.function("main", params, attrs=attributes or {}):
        with builder.dataflow():
            output = builder.emit_output(result(params[0]))
        builder.emit_func_output(output)
    return builder.get()


def size(name: str) -> tirx.Var:
    return tirx.Var(name, "int64")


def bounds_of(mod: tvm.IRModule) -> list[tuple[str, int, int | None]]:
    return [(s.name, s.lower_bound, s.upper_bound) for s in symbolic_sizes_of(mod["main"])]


def message_of(mod: tvm.IRModule, max_sizes, kind=ValueError) -> str:
    with pytest.raises(kind) as error:
        with_max_sizes(mod, max_sizes)
    return str(error.value)


def test_sizes_are_in_the_order_of_the_inputs():
    b, a = size("b"), size("a")
    mod = model((1, b), (a, b), (a + 1, 4))
    assert bounds_of(mod) == [("b", 1, None), ("a", 1, None)]


def test_a_static_function_has_none():
    assert bounds_of(model((1, 4))) == []


def test_attributes_have_the_bounds():
    seq = size("seq")
    mod = model(
        (1, seq),
        attributes={"tir_var_upper_bound": {"seq": 128}, "tir_var_lower_bound": {"seq": 2}},
    )
    assert bounds_of(mod) == [("seq", 2, 128)]


def test_a_lower_bound_is_at_least_1():
    attributes = {"tir_var_lower_bound": {"seq": 0}}
    assert bounds_of(model((1, size("seq")), attributes=attributes)) == [("seq", 1, None)]


def test_max_sizes_set_and_narrow_the_attribute():
    mod = model((size("batch"), size("seq")))
    bounded = with_max_sizes(mod, {"seq": 128})
    assert dict(bounded["main"].attrs["tir_var_upper_bound"]) == {"seq": 128}
    assert bounds_of(bounded) == [("batch", 1, None), ("seq", 1, 128)]
    assert bounds_of(with_max_sizes(bounded, {"seq": 64, "batch": 2})) == [
        ("batch", 1, 2),
        ("seq", 1, 64),
    ]
    assert bounds_of(mod) == [("batch", 1, None), ("seq", 1, None)]


def test_none_leaves_a_size_without_a_bound():
    mod = with_max_sizes(model((1, size("seq"))), {"seq": None})
    assert bounds_of(mod) == [("seq", 1, None)]


def test_each_entry_with_the_size_has_the_bound():
    builder = relax.BlockBuilder()
    for name, extent in (("one", "seq"), ("two", "seq"), ("three", "other")):
        x = relax.Var("x", relax.TensorType((1, size(extent)), "float32"))
        with builder.function(name, [x]):
            builder.emit_func_output(builder.emit(relax.op.nn.relu(x)))
    mod = with_max_sizes(builder.get(), {"seq": 8})
    bounds = {
        name: [(s.name, s.upper_bound) for s in symbolic_sizes_of(mod[name])]
        for name in ("one", "two", "three")
    }
    assert bounds == {"one": [("seq", 8)], "two": [("seq", 8)], "three": [("other", None)]}


@pytest.mark.parametrize("value", [0, -3, 2**31])
def test_values_that_no_size_can_have(value):
    assert message_of(model((1, size("seq"))), {"seq": value}) == (
        f'the largest value of size "seq" must be from 1 to 2147483647, not {value}'
    )


@pytest.mark.parametrize("value", [1.5, "128", True, [1]], ids=repr)
def test_values_that_are_no_integers(value):
    assert message_of(model((1, size("seq"))), {"seq": value}) == (
        'the largest value of size "seq" must be an integer, or None for a size without one, not '
        f"{value!r}"
    )


def test_unknown_names():
    mod = model((size("batch"), size("sequence")))
    assert message_of(mod, {"sequense": 8}) == (
        'the model has no size "sequense". Did you mean "sequence"? Its sizes: batch, sequence'
    )
    assert message_of(model((1, 4)), {"seq": 8}) == (
        'the model has no size "seq". All its shapes are fixed'
    )


def test_less_than_the_lower_bound():
    mod = model((1, size("seq")), attributes={"tir_var_lower_bound": {"seq": 2}})
    assert message_of(mod, {"seq": 1}) == (
        'size "seq" is at least 2 in the model, so that it cannot be at most 1'
    )


@pytest.mark.parametrize(("value", "given"), [(129, "129"), (None, "any number")])
def test_more_than_the_upper_bound(value, given):
    mod = model((1, size("seq")), attributes={"tir_var_upper_bound": {"seq": 128}})
    assert message_of(mod, {"seq": value}) == (
        'size "seq" is at most 128 in the model, which holds for no larger one; it cannot be '
        f"{given}: give 128 or less, or export the model anew"
    )


def test_bounds_that_contradict_each_other():
    attributes = {"tir_var_upper_bound": {"seq": 3}, "tir_var_lower_bound": {"seq": 4}}
    with pytest.raises(ValueError, match="it must be from 4 to 2147483647"):
        symbolic_sizes_of(model((1, size("seq")), attributes=attributes)["main"])


def test_two_variables_of_one_name():
    with pytest.raises(ValueError, match='two shape variables of the name "n"'):
        symbolic_sizes_of(model((size("n"), size("n")))["main"])


def test_tensors_that_c_cannot_index():
    def squared(x):
        return relax.op.matmul(relax.op.permute_dims(x), x)

    mod = model((1, size("seq")), result=squared)
    with_max_sizes(mod, {"seq": 23170})
    message = message_of(mod, {"seq": 23171}, usmp.UnsupportedModelError)
    assert (
        " of shape [23171, 23171] takes 2147580964 bytes with the largest sizes, seq=23171; "
        in (message)
    )
    with_max_sizes(mod, {"seq": None})
