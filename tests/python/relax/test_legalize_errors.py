"""What TVM's passes fail at is told by operator, result and reason."""

import pytest
from tvm import relax
from tvm.ir import IRModule
from tvm.script import tirx as T

import usmp
from usmp.support.tvm_errors import apply_to_functions, reason_of


def test_the_operator_among_others_that_cannot_be_lowered(model):
    def body(builder, x):
        doubled = builder.emit(relax.op.add(x, x))
        return builder.emit(relax.op.floor_mod(doubled, relax.const(0, "int32")))

    with pytest.raises(usmp.UnsupportedModelError) as error:
        usmp.build(model(body, ("x", (4,), "int32")))
    assert str(error.value) == (
        "TVM cannot lower operator relax.floor_mod "
        '(result lv1: R.Tensor((4,), dtype="int32")): Divide by zero'
    )


def test_the_prim_func_among_others_that_passes_fail_at():
    @T.prim_func(private=True)
    def good(a: T.handle("int32")):
        T.evaluate(0)

    @T.prim_func(private=True)
    def bad(a: T.handle("int32")):
        T.evaluate(1)

    def passes(mod):
        if any(int(func.body.value) for func in mod.functions.values()):
            raise RuntimeError("Check failed: x == 0 (1 vs. 0) : no ones\n  here\n\nStack trace")
        return mod

    with pytest.raises(usmp.UnsupportedModelError) as error:
        apply_to_functions(passes, IRModule({"good": good, "bad": bad}))
    assert str(error.value) == "TVM cannot lower operator bad: no ones here"
    assert apply_to_functions(passes, IRModule({"good": good}))["good"].same_as(good)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Check failed: (IsFloat(x)) is false: only floats", "only floats"),
        ("Check failed: a == b (1 vs. 2) : not equal", "not equal"),
        ("Check failed: (f->IsInstance<X>()) is false:", "its check (f->IsInstance<X>()) fails"),
        ("no loops: they fail", "no loops: they fail"),
    ],
)
def test_checks_of_tvm_are_reasons_only_if_they_say_nothing_else(text, reason):
    assert reason_of(RuntimeError(text)) == reason
