"""What a PrimFunc does to memory, as events: each kind of statement and expression."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.memory.facts import facts_of_functions
from usmp.analysis.memory.walk import events as e
from usmp.analysis.memory.walk.event_walk import memory_events


def events_of(mod):
    """The events of `main` as text, one a line; what stands in a region is indented."""
    functions = prim_funcs(mod) if isinstance(mod, IRModule) else {"main": mod}
    facts = facts_of_functions(functions).of("main")
    lines, depth = [], 0
    for event in memory_events("main", facts.func.body, facts.calls.resolve, facts.kernels):
        depth -= isinstance(event, e.Leave)
        text = line(event)
        if text:
            lines.append("  " * depth + text)
        depth += isinstance(event, e.Enter)
    return lines


def line(event):
    match event:
        case e.Evaluation():
            return evaluation(event)
        case e.Enter(region, head):
            how = [n for n in ("repeats", "concurrent", "asynchronous") if getattr(region, n)]
            return " ".join(["enter", *how, evaluation(head)]).strip()
        case e.Declare(stmt):
            return f"declare {stmt.var.name if isinstance(stmt, tirx.Bind) else stmt.buffer.name}"
        case e.Define(var):
            return f"define {var.name}"
        case e.CallIntrinsic(call):
            return f"intrinsic {len(call.args)}"
    return None


def evaluation(found):
    parts = [part(each) for each in found.parts]
    if found.store is not None:
        parts.append(f"store {found.store.buffer.name}{under(found.conditions)}")
    return ", ".join(parts)


def part(each):
    match each:
        case e.Load(buffer, _, conditions):
            return f"load {buffer.name}{under(conditions)}"
        case e.Pass(pointer, access):
            return f"pass {pointer.name} {access.name}"
        case e.Keep(pointers):
            return f"keep {' '.join(sorted(pointer.name for pointer in pointers))}"
        case e.Define(var):
            return f"define {var.name}"
        case e.Operate(call):
            return f"operate {call.op.name}"
        case e.CallFunction(call, _, computed):
            return f"call {call.callee}({evaluation(computed)})"
    raise AssertionError(each)


def under(conditions):
    return "".join(f" if {'' if truth else 'not '}{test}" for test, truth in conditions)


def test_branches_give_conditions_and_a_store_comes_last():
    @T.prim_func
    def main(x: T.Buffer((8,), "int32"), y: T.Buffer((8,), "int32")):
        n: T.let[T.int32] = x[0]
        if n > 0:
            y[x[1]] = T.if_then_else(n > 1, x[2], T.Select(n > 2, x[3], n))
        else:
            y[0] = 1

    assert events_of(main) == [
        "load x",
        "define n",
        "pass n UNKNOWN",
        "pass n UNKNOWN, load x if n > 0 if n > 1, pass n UNKNOWN, "
        "load x if n > 0 if not n > 1 if n > 2, pass n UNKNOWN, load x if n > 0, "
        "keep n, store y if n > 0",
        "store y if not n > 0",
    ]


def test_regions_say_how_often_their_body_runs_and_evaluate_their_head():
    @T.prim_func
    def main(x: T.Buffer((8,), "int32"), y: T.Buffer((8,), "int32")):
        for i in range(x[0]):
            for j in T.parallel(2):
                y[i + j] = 1
        while x[1] > 0:
            y[0] = 2
            break
        with T.attr(0, "async_scope", 1):
            y[1] = 3
        with T.attr(0, "pragma_import_c", "x"):
            y[2] = 4

    assert events_of(main) == [
        "enter repeats load x",
        "  enter repeats concurrent",
        "    store y",
        "enter repeats load x",
        "  store y",
        "  operate tirx.break_loop",
        "enter asynchronous",
        "  store y",
        "enter",
        "  store y",
    ]


def test_pointers_are_passed_or_kept():
    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def callee(p: T.handle, q: T.handle):
            T.evaluate(0)

        @T.prim_func
        def main(x: T.Buffer((8,), "int8"), y: T.Buffer((8,), "int8")):
            view = T.decl_buffer((4,), "int8", data=y.data)
            p: T.let[T.handle("int8")] = T.address_of(x[y[0]])
            T.evaluate(
                T.call_extern(
                    "int32",
                    "f",
                    T.tvm_access_ptr(T.type_annotation("int8"), x.data, 0, 8, 1),
                    T.address_of(view[0]),
                )
            )
            Module.callee(p, T.address_of(y[x[1]]))
            T.evaluate(T.call_intrin("handle", "tirx.dma_copy", 0, x.data, y.data, 8, 0))

    assert events_of(Module) == [
        "declare view",
        "load y",
        "declare p",
        "operate tirx.call_extern, pass x READ, pass view UNKNOWN",
        "call callee(load x)",
        "operate tirx.dma_copy, keep x y, pass x UNKNOWN, pass y UNKNOWN",
    ]


def test_what_is_returned_is_kept():
    @T.prim_func
    def main(x: T.Buffer((8,), "int8")) -> T.handle:
        return x.data

    assert events_of(main) == ["pass x UNKNOWN, keep x"]


def test_a_statement_of_an_unknown_kind_is_an_error():
    @T.prim_func(s_tir=True)
    def main(x: T.Buffer((8,), "int8")):
        with T.sblock("b"):
            x[0] = T.int8(1)

    with pytest.raises(ValueError, match=r"^main: SBlockRealize found; lower the PrimFunc to flat"):
        events_of(main)
