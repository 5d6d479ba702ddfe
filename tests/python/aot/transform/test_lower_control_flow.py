"""LowerControlFlow, beside what `tests/filecheck/lower_control_flow.py` shows."""

import tvm
from tvm import relax
from tvm.ir.transform import PassContext

from usmp.aot.transform import LowerControlFlow, LowerMain
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

    def passes():
        lowered.append(None)
        return [LowerMain()]

    lower = LowerControlFlow(passes)
    for config, count in (({}, 2), ({"tir.usmp.overlap": False}, 4)):
        with PassContext(config=config):
            first = lower(mod)
            tvm.ir.assert_structural_equal(
                first, lower(mod.with_attr("fusion", {})).without_attr("fusion")
            )
        assert len(lowered) == count
