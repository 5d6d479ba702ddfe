"""Hooks around operators: which statements get them, and which numbers."""

from __future__ import annotations

import pytest
import tvm
from tvm import tirx
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import tirx as T

import usmp
from support.entry_models import entry_model
from support.planner_views import Chain, plan
from support.state_models import streaming_model
from usmp.objects.attributes.module_attributes import OPERATOR_HOOKS_ATTR
from usmp.transform import CallOperatorHooks, PoisonDeadBytes


def lines(main):
    """The statements of a main function, as text, without declarations."""
    text = main.script().partition("\n\n# Metadata")[0]
    body = [line.strip() for line in text.splitlines()]
    attributes = next(index for index, line in enumerate(body) if "func_attr" in line)
    return body[attributes + 1 :]


def hooks(number, prefix="tvmgen_default"):
    return [
        f'T.call_extern("void", "{prefix}_operator_{when}", {number})' for when in ("begin", "end")
    ]


def numbers(main):
    """The arguments of the hooks, in order: (begin?, number)."""
    return [
        (stmt.value.args[0].value.endswith("begin"), int(stmt.value.args[1]))
        for stmt in tirx.stmt_list(main.body)
        if isinstance(stmt, tirx.Evaluate)
        and getattr(getattr(stmt.value, "op", None), "name", "") == "tirx.call_extern"
    ]


def pairs(*indices):
    return [(is_begin, index) for index in indices for is_begin in (True, False)]


def test_each_call_lies_between_its_hooks():
    planned = plan(Chain)
    after = CallOperatorHooks("tvmgen_net")(planned)
    assert tirx.analysis.verify_well_formed(after)
    expected, number = [], 0
    for line in lines(planned["__tvm_main__"]):
        if line.startswith("op("):
            begin, end = hooks(number, "tvmgen_net")
            expected += [begin, line, end]
            number += 1
        else:
            expected.append(line)
    assert number == 4
    assert lines(after["__tvm_main__"]) == expected
    tvm.ir.assert_structural_equal(after["op"], planned["op"])
    names = ["tvmgen_net_operator_begin", "tvmgen_net_operator_end"]
    assert list(after.attrs[OPERATOR_HOOKS_ATTR.name]) == names
    assert after.attrs["memory_plan"].same_as(planned.attrs["memory_plan"])


def test_statements_that_poison_lie_outside():
    after = CallOperatorHooks()(PoisonDeadBytes()(plan(Chain)))
    text = lines(after["__tvm_main__"])
    begins = [i for i, line in enumerate(text) if "operator_begin" in line]
    assert len(begins) == 4
    for begin in begins:
        assert text[begin + 1].startswith("op(")
        assert "operator_end" in text[begin + 2]


@pytest.mark.slow
def test_entries_are_numbered_one_after_the_other():
    with PassContext(config={"tir.usmp.debug": ["profile"]}):
        mod = usmp.build(entry_model()).ir_mod
    counts = [len(numbers(mod[f"__tvm_{entry}__"])) // 2 for entry in ("learn", "tell", "plain")]
    assert all(counts)
    first = 0
    for entry, count in zip(("learn", "tell", "plain"), counts, strict=True):
        found = numbers(mod[f"__tvm_{entry}__"])
        assert found == pairs(*range(first, first + count))
        first += count


@pytest.mark.slow
def test_a_first_run_that_sets_states_is_one_operator():
    with PassContext(config={"tir.usmp.debug": ["profile"]}):
        main = usmp.build(streaming_model()).ir_mod["__tvm_main__"]
    statements = tirx.stmt_list(main.body)
    branches = [i for i, s in enumerate(statements) if isinstance(s, tirx.IfThenElse)]
    assert branches
    for branch in branches:
        assert "operator_begin" in str(statements[branch - 1])
        assert "operator_end" in str(statements[branch + 1])
    count = len(numbers(main)) // 2
    assert numbers(main) == pairs(*range(count))


def test_a_function_that_fails_has_ended_before_its_status_is_read():
    func = tvm.tirx.PrimFunc([], tirx.Evaluate(0))
    variable = tvm.ir.GlobalVar("may_fail")
    status = tirx.Var("status", "int32")
    call = tvm.ir.Call(variable, [], ret_ty=tvm.ir.PrimType("int32"))
    body = tirx.SeqStmt(
        [
            tirx.Bind(status, call),
            tirx.IfThenElse(status != 0, tirx.Return(status), None),
            tirx.Return(tirx.IntImm("int32", 0)),
        ]
    )
    main = tirx.PrimFunc([], body, tvm.ir.PrimType("int32"))
    mod = tvm.IRModule({variable: func, tvm.ir.GlobalVar("__tvm_main__"): main})
    after = tirx.stmt_list(CallOperatorHooks()(mod)["__tvm_main__"].body)
    kinds = [type(stmt) for stmt in after]
    assert kinds == [tirx.Evaluate, tirx.Bind, tirx.Evaluate, tirx.IfThenElse, tirx.Return]


def test_without_operators_nothing_is_called():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8")):
            a = T.decl_buffer((4,), "int8", data=x)
            for i in range(4):
                a[i] = T.int8(1)

    after = CallOperatorHooks()(Mod)
    tvm.ir.assert_structural_equal(after["__tvm_main__"], Mod["__tvm_main__"])


def test_a_function_with_the_name_of_a_hook_is_refused():
    @I.ir_module
    class Mod:
        @T.prim_func
        def tvmgen_default_operator_end(x: T.int32):
            T.evaluate(0)

        @T.prim_func
        def __tvm_main__():
            Mod.tvmgen_default_operator_end(1)

    with pytest.raises(ValueError, match="tvmgen_default_operator_end is a function of the appl"):
        CallOperatorHooks()(Mod)


@pytest.mark.slow
def test_the_option_is_off_by_default():
    assert OPERATOR_HOOKS_ATTR.name not in usmp.build(entry_model()).ir_mod.attrs
