"""InlineFunctions: what entries call is a part of them, and what cannot be."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.ir import Call, GlobalVar, IRModule
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from usmp.objects.state_info import StateInfo
from usmp.relax.transform.inline_functions import InlineFunctions
from usmp.support.errors import UnsupportedModelError


def operators(mod: IRModule, name: str = "main") -> list[str]:
    """Names of what a function calls, in order."""
    found = []
    for block in mod[name].body.blocks:
        for binding in block.bindings:
            if isinstance(binding.value, Call):
                op = binding.value.op
                found.append(str(getattr(op, "name", None) or op.name_hint).removeprefix("relax."))
    return found


def names(mod: IRModule) -> set[str]:
    return {str(variable.name_hint) for variable in mod.functions}


@I.ir_module
class Nested:
    """`main` and `other` call `outer`, which calls `inner` twice; nothing calls `unused`."""

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Nested
        y = cls.outer(x)
        return R.add(y, x)

    @R.function
    def other(x: R.Tensor((4,), "float32")):
        cls = Nested
        return cls.inner(x)

    @R.function(private=True)
    def outer(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Nested
        y = cls.inner(x)
        z = cls.inner(y)
        return R.sqrt(z)

    @R.function(private=True)
    def inner(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.exp(x)

    @R.function(private=True)
    def unused(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.abs(x)


def test_calls_are_inlined_at_any_depth():
    mod = InlineFunctions()(Nested)
    assert names(mod) == {"main", "other"}
    assert operators(mod) == ["exp", "exp", "sqrt", "add"]
    assert operators(mod, "other") == ["exp"]


def test_functions_that_nothing_calls_are_removed():
    functions = {v: f for v, f in Nested.functions.items() if v.name_hint in ("inner", "unused")}
    alone = IRModule(
        {**functions, GlobalVar("main"): Nested["unused"].with_attr("global_symbol", "main")}
    )
    mod = InlineFunctions()(alone)
    assert names(mod) == {"main"}
    assert operators(mod) == ["abs"]


def test_a_module_without_calls_stays_as_it_is():
    mod = InlineFunctions()(Nested)
    assert InlineFunctions()(mod).same_as(mod)


def test_parts_for_accelerators_stay():
    part = Nested["inner"].with_attrs({"Codegen": "npu", "global_symbol": "inner"})
    mod = IRModule(Nested.functions)
    mod.update_func(mod.get_global_var("inner"), part)
    inlined = InlineFunctions()(mod)
    assert names(inlined) == {"main", "other", "inner"}
    assert operators(inlined) == ["inner", "inner", "sqrt", "add"]
    assert operators(inlined, "other") == ["inner"]


def recursive(*edges: str) -> IRModule:
    """Functions that call each other, as `main-f`; what calls nothing is an operator."""
    called: dict[str, list[str]] = {}
    for edge in edges:
        caller, callee = edge.split("-")
        called.setdefault(caller, []).append(callee)
        called.setdefault(callee, [])
    variables = {name: GlobalVar(name) for name in called}
    ty = relax.TensorType((4,), "float32")
    functions = {}
    for name, callees in called.items():
        x = relax.Var("x", ty)
        bindings, last = [], x
        for callee in callees:
            value = Call(variables[callee], [last])
            last = relax.Var("y", ty)
            bindings.append(relax.VarBinding(last, value))
        body = relax.SeqExpr([relax.BindingBlock(bindings)] if bindings else [], last)
        function = relax.Function([x], body, ty)
        if name == "main":
            function = function.with_attr("global_symbol", "main")
        functions[variables[name]] = function
    return IRModule(functions)


@pytest.mark.parametrize(
    ("edges", "cycle"),
    [
        (["main-main"], "main -> main"),
        (["main-f", "f-f"], "f -> f"),
        (["main-f", "f-g", "g-h", "h-g"], "g -> h -> g"),
        (["main-f", "main-g", "f-g", "g-f"], "f -> g -> f"),
        (["main-f", "f-main"], "main -> f -> main"),
    ],
)
def test_functions_that_call_themselves_are_refused(edges, cycle):
    with pytest.raises(UnsupportedModelError, match=rf"calls itself \({cycle}\): how much"):
        InlineFunctions()(recursive(*edges))


def test_functions_that_are_called_keep_no_states():
    state = StateInfo("x", -1, tvm.runtime.tensor(np.float32(0)))
    mod = IRModule(Nested.functions)
    mod.update_func(mod.get_global_var("inner"), Nested["inner"].with_attr("states", [state]))
    with pytest.raises(UnsupportedModelError, match='calls "inner", which keeps states'):
        InlineFunctions()(mod)


def test_sizes_of_a_function_are_those_of_its_call():
    @I.ir_module
    class Symbolic:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            cls = Symbolic
            y = cls.flat(x)
            return R.exp(y)

        @R.function(private=True)
        def flat(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n * 3",), "float32"):
            n = T.int64()
            return R.reshape(x, (n * 3,))

    mod = InlineFunctions()(Symbolic)
    reshape = mod["main"].body.blocks[0].bindings[0].value
    assert [int(extent) for extent in reshape.args[1].values] == [6]
    assert operators(mod) == ["reshape", "exp"]
    assert names(mod) == {"main"}


def test_functions_inside_of_others_get_what_they_capture():
    @I.ir_module
    class Closures:
        @R.function
        def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            @R.function
            def added(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                return R.add(a, w)

            y = added(x)
            z = added(y)
            return R.negative(z)

    mod = InlineFunctions()(Closures)
    assert names(mod) == {"main"}
    assert operators(mod) == ["add", "add", "negative"]
    w = mod["main"].params[1]
    added = [b.value for block in mod["main"].body.blocks for b in block.bindings][:2]
    assert all(call.args[1].same_as(w) for call in added)


def test_attributes_of_the_module_stay():
    mod = InlineFunctions()(Nested.with_attr("kept", 1))
    assert int(mod.attrs["kept"]) == 1
