"""Who calls whom, and in which order to look at them."""

import pytest
import tvm
from tvm import tirx
from tvm.ir import Call, GlobalVar
from tvm.script import ir as I
from tvm.script import tirx as T

from support.buffer_views import conflicts
from support.recursion import recursion_limit
from usmp.analysis.memory.facts import module_facts
from usmp.tir.nodes import sequence


@I.ir_module
class Diamond:
    @T.prim_func
    def bottom(A: T.Buffer((4,), "int8")):
        A[0] = T.int8(1)

    @T.prim_func
    def left(A: T.Buffer((4,), "int8")):
        Diamond.bottom(A)
        Diamond.bottom(A)

    @T.prim_func
    def right(A: T.Buffer((4,), "int8")):
        T.evaluate(T.call_extern("int32", "bottom", A.data))

    @T.prim_func
    def top(A: T.Buffer((4,), "int8")):
        Diamond.left(A)
        Diamond.right(A)
        T.evaluate(T.call_extern("int32", "unknown", A.data))


def test_callees_and_callers():
    graph = module_facts(Diamond).graph
    assert {name: graph.callees(name) for name in graph.functions} == {
        "bottom": [],
        "left": ["bottom"],
        "right": ["bottom"],
        "top": ["left", "right"],
    }
    assert graph.callers == {
        "bottom": ["left", "right"],
        "left": ["top"],
        "right": ["top"],
        "top": [],
    }


def test_callees_come_first_and_once():
    assert module_facts(Diamond).graph.callees_first("top") == ["bottom", "left", "right", "top"]
    assert module_facts(Diamond).graph.callees_first("right") == ["bottom", "right"]


@pytest.mark.parametrize(("root", "chain"), [("a", "a -> b -> c -> a"), ("own", "own -> own")])
def test_recursion(root, chain):
    @I.ir_module
    class Mod:
        @T.prim_func
        def a():
            Mod.b()

        @T.prim_func
        def b():
            Mod.c()

        @T.prim_func
        def c():
            Mod.a()

        @T.prim_func
        def own():
            Mod.own()

    with pytest.raises(ValueError) as error:
        module_facts(Mod).graph.callees_first(root)
    assert str(error.value) == f"recursion cannot be planned statically: {chain}"


@pytest.mark.slow
def test_a_chain_of_more_calls_than_python_calls_are_deep():
    """Some write scratch before they call the next one, and read it after."""
    depth, step = 300, 50
    variables = [GlobalVar("__tvm_main__"), *(GlobalVar(f"f{i}") for i in range(1, depth))]
    functions = {}
    for i, variable in enumerate(variables):
        calls = [
            tirx.Evaluate(Call(callee, [], ret_ty=tvm.ir.TupleType([])))
            for callee in variables[i + 1 : i + 2]
        ]
        if i % step == 0:
            scratch = tirx.decl_buffer((4,), "int8", f"s{i}")
            write = tirx.BufferStore(scratch, tirx.const(1, "int8"), [0])
            calls = [tirx.AllocBuffer(scratch), write, *calls, tirx.Evaluate(scratch[0])]
        functions[variable] = tirx.PrimFunc([], sequence(calls))
    everything = {f"s{i}" for i in range(0, depth, step)}
    with recursion_limit(250):
        found = conflicts(tvm.IRModule(functions))
    assert found == {name: everything - {name} for name in everything}
