"""What a call by name calls: the same for the planner as for the code generators."""

import pytest
from tvm import tirx
from tvm.ir import PointerType, PrimType

from usmp.analysis.memory.calls import CallResolver

POINTER = tirx.Var("p", PointerType(PrimType("float32")))
NUMBER = tirx.Var("x", "float32")


def prim_func(*params):
    return tirx.PrimFunc(params, tirx.Evaluate(tirx.const(0, "int32")))


CALLS = CallResolver(
    {
        "exp": prim_func(POINTER, NUMBER),
        "tan": prim_func(NUMBER),
        "sin": prim_func(NUMBER, NUMBER),
        "fmaf": prim_func(NUMBER, NUMBER, NUMBER),
        "nan": prim_func(NUMBER),
    }
)


@pytest.mark.parametrize(
    ("name", "arguments", "callee"),
    [
        ("exp", (POINTER, NUMBER), "exp"),
        ("exp", (POINTER, NUMBER, POINTER), "exp"),
        ("exp", (POINTER,), None),
        ("exp", (NUMBER, NUMBER), None),
        ("exp", (POINTER, POINTER), None),
        ("exp", (NUMBER,), None),
        ("tan", (NUMBER,), None),
        ("tan", (NUMBER, POINTER), "tan"),
        ("log", (NUMBER,), None),
        ("sin", (NUMBER, NUMBER), "sin"),
        ("sin", (NUMBER,), None),
        ("fmaf", (NUMBER, NUMBER, NUMBER), None),
        ("nan", (NUMBER,), "nan"),
    ],
)
def test_arguments_tell_a_prim_func_from_a_namesake(name, arguments, callee):
    found = CALLS.resolve(tirx.call_extern("int32", name, *arguments))
    assert (found and found.callee) == callee


def test_a_resource_handle_is_not_passed():
    found = CALLS.resolve(tirx.call_extern("int32", "exp", POINTER, NUMBER, POINTER))
    assert CALLS.passed(found) == [POINTER, NUMBER]
