"""Calls keep the spans of what they were made from."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.ir import Call, IRModule
from tvm.script import ir as I
from tvm.script import relax as R

from usmp.passes import KeepSpans
from usmp.relax.grouped_spans import with_grouped_spans
from usmp.tir.model_operator import model_operator, operators_in
from usmp.tir.spans import (
    function_with_spans,
    functions_with_spans,
    with_all_spans,
    with_function_span,
)


@I.ir_module
class Chain:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.sin(a)
            c = R.multiply(b, y)
            R.output(c)
        return c


def named(mod: IRModule, **indices: int) -> IRModule:
    """The module, in which the calls bound to these variables have these operators' spans."""
    main = mod["main"]
    spans = {
        binding.var: model_operator(indices[binding.var.name], "OP", [], []).as_span()
        for block in main.body.blocks
        for binding in block.bindings
        if binding.var.name in indices
    }
    changed = IRModule(mod.functions, attrs=mod.attrs)
    changed.update_func(mod.get_global_var("main"), function_with_spans(main, spans))
    return changed


def numbers(mod: IRModule) -> dict[str, list[int]]:
    """Variable -> the numbers of the operators that the call bound to it is for."""
    return {
        binding.var.name: [o.index for o in operators_in(binding.value.span)]
        for block in mod["main"].body.blocks
        for binding in block.bindings
        if isinstance(binding.value, Call)
    }


def test_spans_are_no_part_of_what_a_function_computes():
    tvm.ir.assert_structural_equal(named(Chain, a=0, b=1), Chain)


def test_calls_that_a_pass_makes_anew_have_the_spans_of_their_variables():
    mod = named(Chain, a=0, b=1, c=2)
    legalized = KeepSpans(relax.transform.LegalizeOps())(mod)
    assert numbers(relax.transform.LegalizeOps()(mod)) == {"a": [], "b": [], "c": []}
    assert numbers(legalized) == {"a": [0], "b": [1], "c": [2]}


def test_what_is_computed_on_the_way_has_the_span_of_what_it_is_for():
    @I.ir_module
    class After:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            with R.dataflow():
                first = R.negative(x)
                a = R.subtract(y, first)
                b = R.sin(a)
                c = R.multiply(b, y)
                R.output(c)
            return c

    before = named(Chain, a=0, b=1, c=2)
    by_name = {b.var.name: b.var for block in before["main"].body.blocks for b in block.bindings}
    blocks = [
        type(block)(
            [relax.VarBinding(by_name.get(b.var.name, b.var), b.value) for b in block.bindings]
        )
        for block in After["main"].body.blocks
    ]
    main = After["main"]
    body = relax.SeqExpr(blocks, by_name["c"])
    function = relax.Function(main.params, body, main.ret_ty, True, main.attrs)
    after = IRModule({before.get_global_var("main"): function})
    assert numbers(functions_with_spans(before, after)) == {
        "first": [0],
        "a": [0],
        "b": [1],
        "c": [2],
    }


def test_the_span_of_what_becomes_part_of_another_call_joins_it():
    before = named(Chain, a=0, b=1, c=2)
    main = before["main"]
    bindings = list(main.body.blocks[0].bindings)
    without = relax.DataflowBlock([bindings[0], bindings[2]])
    body = relax.SeqExpr([without], main.body.body)
    after = IRModule(
        {before.get_global_var("main"): relax.Function(main.params, body, main.ret_ty, True)}
    )
    assert numbers(functions_with_spans(before, after)) == {"a": [0], "c": [1, 2]}


@I.ir_module
class Branches:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.sin(x)
            b = R.negative(x)
            c = R.exp(a)
            d = R.tanh(c)
            e = R.multiply(b, d)
            R.output(e)
        return e


def test_calls_without_a_span_are_part_of_the_operator_that_reads_them():
    """Not of the next one, which may be of another branch."""
    mod = with_all_spans(named(Branches, b=1, d=3))
    assert numbers(mod) == {"a": [3], "b": [1], "c": [3], "d": [3], "e": [3]}


def test_calls_before_one_with_a_span_are_part_of_its_operator():
    assert numbers(with_all_spans(named(Chain, b=1))) == {"a": [1], "b": [1], "c": [1]}
    assert numbers(with_all_spans(Chain)) == {"a": [], "b": [], "c": []}


@I.ir_module
class Twice:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.relu(a)
            c = R.matmul(b, w)
            d = R.nn.relu(c)
            R.output(d)
        return d


def test_functions_of_fused_operators_are_one_but_their_calls_have_spans_of_their_own():
    mod = named(Twice, a=0, b=1, c=2, d=3)
    passes = [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern()]
    for each in passes:
        mod = KeepSpans(each)(mod)
    grouped = relax.transform.FuseOps()(mod)
    assert len([f for f in grouped.functions.values() if isinstance(f, relax.Function)]) == 2
    assert list(numbers(with_grouped_spans(mod, grouped)).values()) == [[0, 1], [2, 3]]


@I.ir_module
class OfAccelerator:
    @R.function
    def accelerated(x: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        R.func_attr({"Codegen": "accel"})
        with R.dataflow():
            y = R.sin(x)
            R.output(y)
        return y

    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        cls = OfAccelerator
        with R.dataflow():
            a = cls.accelerated(x)
            b = R.matmul(a, w)
            c = R.nn.relu(b)
            R.output(c)
        return c


def test_fused_operators_that_read_what_a_function_computes_have_their_spans():
    mod = named(OfAccelerator, a=0, b=1, c=2)
    for each in (relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern()):
        mod = KeepSpans(each)(mod)
    grouped = with_grouped_spans(mod, relax.transform.FuseOps()(mod))
    assert list(numbers(grouped).values()) == [[0], [1, 2]]


def test_functions_keep_their_spans():
    """In Relax and in TIR."""
    lost = relax.transform.LegalizeOps()(Chain)
    span = model_operator(3, "OP", [], []).as_span()
    before = IRModule({v: with_function_span(f, span) for v, f in lost.functions.items()})
    after = functions_with_spans(before, lost)
    kept = {
        v.name_hint: [o.index for o in operators_in(f.span)] for v, f in after.functions.items()
    }
    assert kept == {name: [3] for name in ("main", "add", "tir_sin", "multiply")}
    tvm.ir.assert_structural_equal(after, lost)
