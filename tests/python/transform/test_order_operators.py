"""OrderOperators: the calls of the main function in an order with the least peak."""

from __future__ import annotations

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from support.main_calls import called
from support.operator_programs import BRANCHES, network
from support.planner_contexts import planner_context
from support.planner_views import bound, first_line, plan, workspace
from usmp.analysis import pool_usage
from usmp.objects.attributes.compared import details_of
from usmp.objects.attributes.module_attributes import MEMORY_PLAN_ATTR
from usmp.transform import OrderOperators


def ordered(mod, **config):
    with planner_context(config):
        return OrderOperators()(mod)


def order(mod) -> dict[str, int]:
    (details,) = details_of(mod, "order")
    return {str(key): int(value) for key, value in details.items()}


def peak(mod, *pools, **config) -> list[int]:
    return [
        use.peak_bytes
        for use in pool_usage(plan(mod, pools, **config).attrs[MEMORY_PLAN_ATTR.name])
    ]


def test_each_branch_is_finished_before_the_next_is_begun():
    better = network(
        "x y",
        {"a": 64, "b": 64, "c": 16, "d": 16},
        ["widen x a", "narrow a c", "widen x b", "narrow b d", "add c d y"],
    )
    after = ordered(BRANCHES)
    tvm.ir.assert_structural_equal(after["__tvm_main__"], better["__tvm_main__"])
    assert order(after) == {
        "importer_live_bytes": 128,
        "live_bytes": 80,
        "least_live_bytes": 80,
    }
    assert peak(BRANCHES) == [128]
    assert peak(after) == [80]


def test_views_are_declared_before_all_calls():
    after = ordered(
        network(
            "x y",
            {"a": 64, "whole": 128, "c": 16, "d": 16},
            ["widen x a", "widen x low", "narrow a c", "narrow low d", "add c d y"],
            {"low": "whole 0"},
        )
    )
    assert called(after["__tvm_main__"]) == ["widen", "narrow", "widen", "narrow", "add"]
    assert tvm.tirx.analysis.verify_well_formed(after)


def test_the_option_keeps_the_order():
    assert ordered(BRANCHES, disabled_pass=("OrderOperators",)).same_as(BRANCHES)


def test_without_sharing_no_order_is_better():
    assert ordered(BRANCHES, algorithm="no_sharing").same_as(BRANCHES)


def test_one_order_leaves_the_module_as_it_is():
    chain = network("x y", {"a": 64, "c": 16}, ["widen x a", "narrow a c", "add c c y"])
    assert ordered(chain).same_as(chain)


def test_an_equal_peak_keeps_the_order():
    """Both orders of the branches are as good."""
    calls = ["widen x a", "narrow a c", "widen x b", "narrow b d", "add c d y"]
    good = network("x y", {"a": 64, "b": 64, "c": 16, "d": 16}, calls)
    after = ordered(good)
    tvm.ir.assert_structural_equal(after["__tvm_main__"], good["__tvm_main__"])
    assert order(after)["live_bytes"] == order(after)["importer_live_bytes"]


def test_inputs_and_outputs_that_are_placed_count():
    after = ordered(BRANCHES, use_workspace_io=True)
    assert [param.name for param in after["__tvm_main__"].params] == ["x", "y"]
    assert called(after["__tvm_main__"]) == ["widen", "narrow", "widen", "narrow", "add"]
    # The second wide tensor overwrites the input.
    assert order(after) == {
        "importer_live_bytes": 128,
        "live_bytes": 80,
        "least_live_bytes": 80,
    }
    assert peak(after, use_workspace_io=True) == [80]


def test_the_real_plan_decides():
    """Each branch needs less in the new order, but a pin makes the plan larger."""
    main = BRANCHES["__tvm_main__"]

    def pinned(stmt):
        if stmt.buffer.name != "d":
            return stmt
        return tvm.tirx.AllocBuffer(stmt.buffer, {"fixed_offset": 1024})

    body = tvm.tirx.SeqStmt(
        [pinned(s) if isinstance(s, tvm.tirx.AllocBuffer) else s for s in main.body.seq]
    )
    mod = tvm.IRModule(BRANCHES.functions)
    mod.update_func(mod.get_global_var("__tvm_main__"), main.with_body(body))
    after = ordered(mod)
    tvm.ir.assert_structural_equal(after["__tvm_main__"], mod["__tvm_main__"])
    assert order(after) == {
        "importer_live_bytes": 128,
        "live_bytes": 128,
        "least_live_bytes": 80,
    }


def test_an_order_that_fits_is_better_than_one_that_does_not():
    small = bound(BRANCHES, [workspace("sram", 100)])
    assert called(ordered(small)["__tvm_main__"])[1] == "narrow"
    with pytest.raises(ValueError, match="exceeded when trying to allocate"):
        plan(BRANCHES, [workspace("sram", 100)])


def test_the_same_module_gives_the_same_order():
    assert ordered(BRANCHES).script() == ordered(BRANCHES).script()


def test_a_planned_module_is_refused():
    with pytest.raises(ValueError) as error:
        ordered(plan(BRANCHES))
    assert first_line(error) == (
        "the module is planned already; plan the one that it was made from"
    )


def test_a_module_without_main_is_refused():
    @I.ir_module
    class Empty:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            A[0] = T.int8(0)

    with pytest.raises(ValueError) as error:
        ordered(Empty)
    assert first_line(error) == "main function is not in the module; it must be __tvm_main__"
