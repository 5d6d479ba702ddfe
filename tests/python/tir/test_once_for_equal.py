"""Passes see a PrimFunc once, whichever modules have one that is written the same."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.ir import GlobalVar, IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.tir.once_for_equal import once_for_equal, shared_functions


def module(value=1, name="x"):
    x = tirx.decl_buffer((4,), "int8", name)
    bodies = [tirx.BufferStore(x, tirx.const(v, "int8"), [0]) for v in (value, value + 10)]
    f, g = (tirx.PrimFunc([x], body) for body in bodies)
    return IRModule({"f": f, "g": g})


@I.ir_module
class Calling:
    @T.prim_func(private=True)
    def f(x: T.Buffer((4,), "int8")):
        x[0] = T.int8(1)

    @T.prim_func
    def h(x: T.Buffer((4,), "int8")):
        Calling.f(x.data)


@pytest.fixture
def seen():
    return []


@pytest.fixture
def apply(seen):
    def marked(mod):
        seen.append([str(variable.name_hint) for variable in mod.functions])
        functions = {v: f.with_attr("seen", len(seen)) for v, f in mod.functions.items()}
        return IRModule(functions, attrs={"of": len(seen)})

    return marked


def nothing(variable: GlobalVar) -> None:
    """The result depends on the PrimFunc only."""


def test_equal_functions_are_made_once(apply, seen):
    with shared_functions():
        first = once_for_equal(apply, module(), nothing)
        with shared_functions():
            second = once_for_equal(apply, module(), nothing)
    assert seen == [["f", "g"], []]
    assert [str(v.name_hint) for v in second.functions] == ["f", "g"]
    assert second["g"].same_as(first["g"])
    assert int(second.attrs["of"]) == 2


@pytest.mark.parametrize("other", [{"value": 2}, {"name": "y"}])
def test_what_is_written_otherwise_is_made_anew(apply, seen, other):
    with shared_functions():
        once_for_equal(apply, module(), nothing)
        made = once_for_equal(apply, module(**other), nothing)
    assert seen == [["f", "g"], ["f", "g"]]
    assert int(made["f"].attrs["seen"]) == 2


def test_what_depends_on_something_else_is_made_anew(apply, seen):
    with shared_functions():
        once_for_equal(apply, module(), str)
        once_for_equal(apply, module(), lambda variable: variable.name_hint == "g")
    assert seen == [["f", "g"], ["f", "g"]]


def test_a_function_that_calls_others_is_made_anew(apply, seen):
    with shared_functions():
        once_for_equal(apply, Calling, nothing)
        once_for_equal(apply, Calling, nothing)
    assert seen == [["f", "h"], ["h"]]


def test_nothing_is_shared_outside(apply, seen):
    once_for_equal(apply, module(), nothing)
    once_for_equal(apply, module(), nothing)
    assert seen == [["f", "g"], ["f", "g"]]
