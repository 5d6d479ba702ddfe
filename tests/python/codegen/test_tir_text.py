"""The planned TIR as text."""

import tvm
from tvm import tirx
from tvm.ir import GlobalVar, IRModule, PointerType, PrimType

from usmp.codegen.tir_text import tir_text


def module(name):
    """A function of this name, and one that calls it."""
    called, pointer = GlobalVar(name), PointerType(PrimType("int32"))
    x, y = tirx.Var("x", pointer), tirx.Var("y", pointer)
    call = tvm.ir.Call(called, [y], ret_ty=tvm.ir.TupleType([]))
    functions = {
        called: tirx.PrimFunc([x], tirx.Evaluate(0)),
        GlobalVar("caller"): tirx.PrimFunc([y], tirx.Evaluate(call)),
    }
    return IRModule(functions)


def test_ordinary_names_stand_as_they_are():
    text = tir_text(module("relu_1"))
    assert text == f"{module('relu_1').script(show_meta=False).rstrip()}\n"
    assert "Module.relu_1(y)" in text


def test_names_of_functions_are_identifiers():
    lines = tir_text(module("f():\nimport os #")).split("\n")
    assert '    def _f____import_os__(x: T.handle("int32", "global")):' in lines
    assert "        Module._f____import_os__(y)" in lines
    assert not any(line.startswith("import") for line in lines)


def test_names_that_become_the_same_stay_different():
    pointer = PointerType(PrimType("int32"))
    functions = {
        GlobalVar(name): tirx.PrimFunc([tirx.Var("x", pointer)], tirx.Evaluate(0))
        for name in ("a b", "a:b", "_a_b", "\u202e")
    }
    text = tir_text(IRModule(functions))
    assert [line for line in text.split("\n") if "def " in line] == [
        f'    def {name}(x: T.handle("int32", "global")):'
        for name in ("____", "_a_b", "_a_b_1", "_a_b_2")
    ]
