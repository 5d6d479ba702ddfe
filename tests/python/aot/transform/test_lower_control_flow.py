"""LowerControlFlow, beside what `tests/filecheck/lower_control_flow.py` shows."""

from functools import partial

import tvm
from tvm import relax, topi
from tvm.ir.transform import PassContext

from usmp.aot.transform import LowerControlFlow, LowerMain, LowerOperators
from usmp.ops.control_flow import ControlFlow, call_control_flow


def copying(*params: relax.Var):
    """A module whose `main` gives the last parameter."""
    builder = relax.BlockBuilder()
    with builder.function("main", list(params)):
        with builder.dataflow():
            result = builder.emit_output(params[-1])
        builder.emit_func_output(result)
    return builder.get()


def row() -> relax.Var:
    return relax.Var("x", relax.TensorType([4], "float32"))


def test_forms_of_a_module_have_lowered_bodies_in_common():
    """Else loops that are nested would take exponential time."""
    bodies = copying(row()), copying(row())
    condition, x = relax.Var("condition", relax.TensorType([1], "bool")), row()
    builder = relax.BlockBuilder()
    with builder.function("main", [condition, x]):
        with builder.dataflow():
            arguments = [condition, x]
            results = call_control_flow(builder, "f", ControlFlow(bodies), arguments, [x.ty])
            result = builder.emit_output(results[0])
        builder.emit_func_output(result)
    mod, lowered = builder.get(), []

    def lower_body(body):
        lowered.append(None)
        return LowerMain()(body)

    lower = LowerControlFlow(lower_body)
    for disabled, count in (([], 2), (["OverlapInputsAndOutputs"], 4)):
        with PassContext(disabled_pass=disabled):
            first = lower(mod)
            tvm.ir.assert_structural_equal(
                first, lower(mod.with_attr("fusion", {})).without_attr("fusion")
            )
        assert len(lowered) == count


def test_a_loop_asks_its_condition_before_each_turn():
    flag = relax.Var("flag", relax.TensorType([1], "bool"))
    builder = relax.BlockBuilder()
    with builder.function("main", [flag]):
        with builder.dataflow():
            flow = ControlFlow((copying(flag), copying(flag)), trips=-1, carried=1)
            result = builder.emit_output(call_control_flow(builder, "loop", flow, [flag], [])[0])
        builder.emit_func_output(result)
    loop = LowerControlFlow()(builder.get())["loop"]
    text = [line.strip() for line in loop.script().splitlines()]
    begin = text.index("again: T.bool = T.bool(True)")
    assert text[begin + 1] == "while again:"
    assert text.index("if again:") > begin + 1


def test_bodies_share_equal_operators_and_others_get_names_of_their_own():
    def scale(builder, x, factor):
        compute = partial(topi.multiply, rhs=factor)
        return builder.emit_te(compute, x, primfunc_name_hint="scale")

    def scaled(factor, *params):
        """A module whose `main` multiplies the last parameter, by the operator `scale`."""
        builder = relax.BlockBuilder()
        with builder.function("main", list(params)):
            with builder.dataflow():
                y = builder.emit_te(
                    lambda x: topi.multiply(x, factor), params[-1], primfunc_name_hint="scale"
                )
                result = builder.emit_output(y)
            builder.emit_func_output(result)
        return builder.get()

    condition, x = relax.Var("condition", relax.TensorType([1], "bool")), row()
    flow = ControlFlow((scaled(2, row()), scaled(3, row())))
    builder = relax.BlockBuilder()
    with builder.function("main", [condition, x]):
        with builder.dataflow():
            y = scale(builder, x, 2)
            results = call_control_flow(builder, "f", flow, [condition, y], [x.ty])
            result = builder.emit_output(results[0])
        builder.emit_func_output(result)
    lower = LowerControlFlow(lambda body: LowerMain()(LowerOperators()(body)))
    mod = lower(LowerOperators()(builder.get()))
    names = sorted(str(variable.name_hint) for variable in mod.functions)
    assert names == ["f", "main", "scale", "scale_1"]
    called = [line for line in mod["f"].script().splitlines() if "scale" in line]
    assert ["scale_1" in line for line in called] == [False, True]
