"""Operators that write results over inputs that the run updates, where that is safe."""

from __future__ import annotations

import pytest
from tvm import relax
from tvm.script import ir as I
from tvm.script import tirx as T

from support.main_calls import called
from usmp.aot.main_versions import MainVersions
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.objects.state_info import updated_input


@I.ir_module
class Operators:
    """All tensors have four int8 elements."""

    @T.prim_func(private=True)
    def step(a_ptr: T.handle("int8"), b_ptr: T.handle("int8"), to_ptr: T.handle("int8")):
        """Each element is read before it is written."""
        a = T.decl_buffer((4,), "int8", data=a_ptr)
        b = T.decl_buffer((4,), "int8", data=b_ptr)
        to = T.decl_buffer((4,), "int8", data=to_ptr)
        for i in range(4):
            to[i] = a[i] + b[3 - i]

    @T.prim_func(private=True)
    def both(
        a_ptr: T.handle("int8"),
        b_ptr: T.handle("int8"),
        c_ptr: T.handle("int8"),
        d_ptr: T.handle("int8"),
    ):
        """Two results, each of which could be written over an argument."""
        a = T.decl_buffer((4,), "int8", data=a_ptr)
        b = T.decl_buffer((4,), "int8", data=b_ptr)
        c = T.decl_buffer((4,), "int8", data=c_ptr)
        d = T.decl_buffer((4,), "int8", data=d_ptr)
        for i in range(4):
            c[i] = a[i] + T.int8(1)
            d[i] = b[i] + T.int8(2)


def lowered(operator: str, arguments: str, updated: dict[str, int], results: int) -> list[str]:
    """What `__tvm_main__` calls if `main` calls one operator with inputs, and updates some of them.

    Parameters
    ----------
    arguments
        names of inputs, of a letter each.
    updated
        of those that are updated, the index of the result.
    results
        of the operator.
    """
    builder, ty = relax.BlockBuilder(), relax.TensorType((4,), "int8")
    variables = {
        v.name_hint: builder.add_func(f, v.name_hint) for v, f in Operators.functions.items()
    }
    inputs = {name: relax.Var(name, ty) for name in "ab"}
    with builder.function("main", list(inputs.values())):
        types = ty if results == 1 else [ty] * results
        call = relax.call_tir(variables[operator], [inputs[name] for name in arguments], types)
        made = builder.emit(call)
        given = [made] if results == 1 else [relax.TupleGetItem(made, i) for i in range(results)]
        builder.emit_func_output(relax.Tuple(given))
    states = [updated_input(name, index, "int8") for name, index in updated.items()]
    mod = builder.get()
    mod.update_func(mod.get_global_var("main"), mod["main"].with_attr("states", states))
    lowered_mod, _ = MainVersions(mod).version()
    return called(lowered_mod[MAIN_FUNCTION_NAME])


@pytest.mark.parametrize(
    ("arguments", "updated", "calls"),
    [
        ("ab", {"a": 0}, ["step_in_place"]),
        # The last element is read after the first one is written.
        ("ba", {"a": 0}, ["step", "usmp_copy_0"]),
        ("aa", {"a": 0}, ["step", "usmp_copy_0"]),
    ],
)
def test_an_operator_reads_the_old_value_and_writes_the_new_one(arguments, updated, calls):
    assert lowered("step", arguments, updated, 1) == calls


@pytest.mark.parametrize(
    ("updated", "calls"),
    [
        ({"a": 0}, ["both_in_place"]),
        # One of the two; the other is an argument of an operator that is changed already.
        ({"a": 0, "b": 1}, ["both_in_place", "usmp_copy_0"]),
        # What stands there is read before by the other result, or after.
        ({"a": 1}, ["both_in_place"]),
        ({"b": 0}, ["both", "usmp_copy_0"]),
    ],
)
def test_an_operator_with_two_results(updated, calls):
    assert lowered("both", "ab", updated, 2) == calls
