"""ConvertBranches: an If becomes a choice, whose bodies take the tensors that they read."""

# ruff: noqa: SIM108  Branches of Relax are statements.

from __future__ import annotations

import pytest
from tvm import relax, tirx
from tvm.ir import Call, IRModule
from tvm.script import ir as I
from tvm.script import relax as R

from usmp.ops.control_flow import CONTROL_FLOW_ATTR, ControlFlow
from usmp.relax.transform.convert_branches import ConvertBranches
from usmp.support.errors import UnsupportedModelError
from usmp.tir.nodes import nodes_of


def flows(mod: IRModule, name: str = "main") -> list[tuple[ControlFlow, list[str], list[str]]]:
    """The choices of a function: what they compute, and the types that they take and give."""
    found = []
    for binding in (b for block in mod[name].body.blocks for b in block.bindings):
        call = binding.value
        if getattr(getattr(call, "op", None), "name", "") in (
            "relax.call_tir",
            "relax.call_tir_inplace",
        ):
            flow = CONTROL_FLOW_ATTR.of(mod[call.args[0]])
            given = [described(field.ty) for field in call.args[1].fields]
            found.append((flow, given, [described(ty) for ty in call.ty_args[0:1]]))
    return found


def described(ty) -> str:
    if isinstance(ty, relax.TensorType):
        return f"{ty.dtype}{[int(extent) for extent in ty.shape]}"
    return ", ".join(map(described, ty.fields))


def operators(mod: IRModule, name: str = "main") -> list[str]:
    """Names of the operators of Relax in a function."""
    calls = [call for call in nodes_of(mod[name].body, Call) if hasattr(call.op, "name")]
    return sorted(str(call.op.name).removeprefix("relax.") for call in calls)


def test_a_choice_takes_the_tensors_that_branches_read():
    @I.ir_module
    class Module:
        @R.function
        def main(
            c: R.Tensor((1,), "bool"), x: R.Tensor((4,), "float32"), z: R.Tensor((4,), "float32")
        ):
            k = R.const(2.0, "float32")
            u = R.sqrt(z)
            if c:
                y = R.multiply(R.exp(x), k)
            else:
                y = R.negative(u)
            return R.abs(y)

    mod = ConvertBranches()(Module)
    [(flow, given, results)] = flows(mod)
    assert flow.is_choice
    assert (given, results) == (["bool[1]", "float32[4]", "float32[4]"], ["float32[4]"])
    true, false = flow.bodies
    assert operators(true) == ["exp", "multiply"]
    assert operators(false) == ["negative"]
    assert [len(body["main"].params) for body in flow.bodies] == [2, 2]
    assert operators(mod) == ["abs", "call_tir", "sqrt"]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_a_number_is_a_condition_if_it_is_not_zero(dtype):
    @I.ir_module
    class Module:
        @R.function
        def main(c: R.Tensor((1, 1), dtype), x: R.Tensor((4,), "float32")):
            if c:
                y = R.exp(x)
            else:
                y = x
            return y

    mod = ConvertBranches()(Module)
    [(_, given, _)] = flows(mod)
    assert given == ["bool[1, 1]", "float32[4]"]
    assert "not_equal" in operators(mod)


def branching(condition, one: str, other: str) -> IRModule:
    """A choice of two operators of `x`."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 2), "float32"))
    bodies = []
    for name in (one, other):
        result = relax.Var("r", relax.TensorType(dtype="float32", ndim=2))
        values = {
            "exp": lambda: relax.op.exp(x),
            "abs": lambda: relax.op.abs(x),
            "flat": lambda: relax.op.reshape(x, (8,)),
            "cast": lambda: relax.op.astype(x, "int8"),
        }
        value = builder.normalize(values[name]())
        result = relax.Var("r", value.ty)
        block = relax.BindingBlock([relax.VarBinding(result, value)])
        bodies.append(relax.SeqExpr([block], result))
    choice = builder.normalize(relax.If(condition, *bodies))
    result = relax.Var("y", choice.ty)
    params = [condition, x] if isinstance(condition, relax.Var) else [x]
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(result, choice)])], result)
    function = relax.Function(params, body, choice.ty).with_attr("global_symbol", "main")
    return IRModule({"main": function})


def condition(*shape, dtype: str = "bool") -> relax.Var:
    return relax.Var("c", relax.TensorType(shape, dtype))


@pytest.mark.parametrize(("value", "expected"), [(True, "exp"), (False, "flat")])
def test_a_branch_whose_condition_is_constant_is_written_out(value, expected):
    mod = ConvertBranches()(branching(relax.const(value, "bool"), "exp", "flat"))
    assert operators(mod) == ["exp" if expected == "exp" else "reshape"]


@pytest.mark.parametrize(
    ("given", "other", "message"),
    [
        (condition(2), "abs", "the condition of an If is .* one bool or integer"),
        (condition(tirx.Var("n", "int64")), "abs", "the condition of an If is .* one bool"),
        (relax.Var("c", relax.ShapeType(ndim=0)), "abs", "the condition of an If is"),
        (condition(dtype="float32"), "abs", "must be a tensor of one bool or integer"),
        (condition(), "flat", r"give float32\[4, 2\] and float32\[8\]; which of them runs"),
        (condition(), "cast", r"give float32\[4, 2\] and int8\[4, 2\]"),
    ],
)
def test_other_choices_are_refused(given, other, message):
    with pytest.raises(UnsupportedModelError, match=message):
        ConvertBranches()(branching(given, "exp", other))


def test_branches_read_tensors_of_static_shape():
    @I.ir_module
    class Module:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")):
            if c:
                y = R.exp(x)
            else:
                y = R.abs(x)
            return y

    with pytest.raises(UnsupportedModelError, match=r"a branch of an If reads x, .* static shape"):
        ConvertBranches()(Module)


def test_tuples_are_taken_and_given_tensor_by_tensor():
    @I.ir_module
    class Module:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            both = (x, (R.exp(x), R.abs(x)))
            if c:
                a = both[1]
                y = (both[0], a[1])
            else:
                y = (x, R.sqrt(x))
            return y

    mod = ConvertBranches()(Module)
    [(flow, given, _)] = flows(mod)
    assert given[0] == "bool[]" and set(given[1:]) == {"float32[4]"}
    assert all(len(body["main"].params) == len(given) - 1 for body in flow.bodies)
    assert described(mod["main"].ret_ty) == "float32[4], float32[4]"


def test_choices_inside_of_choices_are_converted_as_well():
    @I.ir_module
    class Module:
        @R.function(private=True)
        def twice(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return R.add(x, x)

        @R.function
        def main(c: R.Tensor((), "bool"), d: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            cls = Module
            if c:
                if d:
                    z = cls.twice(x)
                else:
                    z = R.abs(x)
                y = z
            else:
                y = x
            return y

    mod = ConvertBranches()(Module)
    [(flow, given, _)] = flows(mod)
    assert sorted(given) == ["bool[]", "bool[]", "float32[4]"]
    [(inner, _, _)] = flows(flow.bodies[0])
    assert operators(inner.bodies[1]) == ["abs"]
    # What a branch calls goes with it.
    assert {v.name_hint for v in inner.bodies[0].functions} >= {"main", "twice"}
    assert {v.name_hint for v in flow.bodies[1].functions} == {"main"}


def test_modules_without_choices_and_other_functions_stay():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return R.exp(x)

        @R.function(private=True)
        def part(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            if c:
                y = R.exp(x)
            else:
                y = R.abs(x)
            return y

    assert ConvertBranches()(Module).same_as(Module)
    attrs = branching(condition(), "exp", "abs").with_attr("kept", 1)
    assert int(ConvertBranches()(attrs).attrs["kept"]) == 1


def test_what_is_computed_without_inputs_is_a_parameter():
    @I.ir_module
    class Module:
        @R.function
        def main(c: R.Tensor((), "bool")):
            zeros = R.zeros((4,), "float32")
            if c:
                y = R.exp(zeros)
            else:
                y = zeros
            return y

    [(_, given, _)] = flows(ConvertBranches()(Module))
    assert given == ["bool[]", "float32[4]"]


def test_constants_and_shapes_are_no_parameters():
    @I.ir_module
    class Module:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            s = R.shape([2, 2])
            k = R.const([1.0, 2.0, 3.0, 4.0], "float32")
            if c:
                y = R.reshape(R.add(x, k), s)
            else:
                y = R.reshape(k, s)
            return y

    [(flow, given, results)] = flows(ConvertBranches()(Module))
    assert (given, results) == (["bool[]", "float32[4]"], ["float32[2, 2]"])
    assert len(flow.bodies) == 2
