"""`__tvm_main__` passes handles to accelerators and minds their answers."""

import pytest
import tvm
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.aot.accelerator_devices import pass_devices, take_devices
from usmp.objects.attributes.operator_attributes import ACCELERATOR_FUNCTION_ATTR
from usmp.objects.extern_kernel import ExternKernel, KernelArgument, with_kernels
from usmp.ops.accelerator_function import AcceleratorFunction
from usmp.planning.operator_order.read_graph import operator_graph


@I.ir_module
class Before:
    @T.prim_func(private=True)
    def on_c(x: T.handle("int8"), y: T.handle("int8")):
        T.evaluate(0)

    @T.prim_func(private=True)
    def on_b(x: T.handle("int8"), y: T.handle("int8")) -> T.int32:
        return T.call_extern("int32", "b_main_0", x, y)

    @T.prim_func(private=True)
    def on_a(x: T.handle("int8"), y: T.handle("int8")) -> T.int32:
        return T.call_extern("int32", "a_main_0", x, y)

    @T.prim_func(private=True)
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        Before.on_b(x, y)
        Before.on_c(y, x)
        Before.on_a(x, y)


def on_accelerators(mod: IRModule) -> IRModule:
    """`on_a` and `on_b` as functions of accelerators."""
    mod = mod.clone()
    for name in ("a", "b"):
        function = AcceleratorFunction(f"{name}_main_0", name, "", [], [])
        variable = mod.get_global_var(f"on_{name}")
        mod.update_func(variable, mod[variable].with_attr(ACCELERATOR_FUNCTION_ATTR.name, function))
    return mod


def test_handles_and_answers():
    @I.ir_module
    class After:
        @T.prim_func(private=True)
        def on_c(x: T.handle("int8"), y: T.handle("int8")):
            T.evaluate(0)

        @T.prim_func(private=True)
        def on_b(x: T.handle("int8"), y: T.handle("int8"), device: T.handle) -> T.int32:
            return T.call_extern("int32", "b_main_0", x, y, device)

        @T.prim_func(private=True)
        def on_a(x: T.handle("int8"), y: T.handle("int8"), device: T.handle) -> T.int32:
            return T.call_extern("int32", "a_main_0", x, y, device)

        @T.prim_func(private=True)
        def __tvm_main__(
            x: T.handle("int8"), y: T.handle("int8"), a_device: T.handle, b_device: T.handle
        ) -> T.int32:
            status: T.let[T.int32] = After.on_b(x, y, b_device)
            if status != 0:
                return status
            After.on_c(y, x)
            status_1: T.let[T.int32] = After.on_a(x, y, a_device)
            if status_1 != 0:
                return status_1
            return 0

    after = pass_devices(take_devices(on_accelerators(Before)))
    tvm.ir.assert_structural_equal(after, on_accelerators(After))


def test_functions_that_cannot_fail_have_no_answer():
    @I.ir_module
    class Answerless:
        @T.prim_func(private=True)
        def on_a(x: T.handle("int8"), y: T.handle("int8")):
            T.call_extern("void", "a_main_0", x, y)

        @T.prim_func(private=True)
        def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
            Answerless.on_a(x, y)

    @I.ir_module
    class Unchecked:
        @T.prim_func(private=True)
        def on_a(x: T.handle("int8"), y: T.handle("int8"), device: T.handle):
            T.call_extern("void", "a_main_0", x, y, device)

        @T.prim_func(private=True)
        def __tvm_main__(x: T.handle("int8"), y: T.handle("int8"), a_device: T.handle) -> T.int32:
            Unchecked.on_a(x, y, a_device)
            return 0

    function = AcceleratorFunction("a_main_0", "a", "", [], [], can_fail=False)

    def infallible(mod: IRModule) -> IRModule:
        variable, changed = mod.get_global_var("on_a"), mod.clone()
        marked = mod[variable].with_attr(ACCELERATOR_FUNCTION_ATTR.name, function)
        changed.update_func(variable, marked)
        return changed

    after = pass_devices(take_devices(infallible(Answerless)))
    tvm.ir.assert_structural_equal(after, infallible(Unchecked))


@pytest.mark.parametrize("keeps_state", [True, False])
def test_functions_without_state_stay_in_no_order(keeps_state):
    """Though all get the same handle."""

    @I.ir_module
    class Branches:
        @T.prim_func(private=True)
        def on_a(x: T.handle("int8"), y: T.handle("int8")):
            T.call_extern("void", "a_main_0", x, y)

        @T.prim_func(private=True)
        def __tvm_main__(x: T.handle("int8"), y: T.handle("int8"), z: T.handle("int8")):
            Branches.on_a(x, y)
            Branches.on_a(x, z)

    arguments = [KernelArgument("x", 8, writes=False), KernelArgument("y", 8, reads=False)]
    kernel = ExternKernel("a_main_0", arguments, can_fail=False, keeps_state=keeps_state)
    function = AcceleratorFunction("a_main_0", "a", "", [], [], can_fail=False)
    variable, mod = Branches.get_global_var("on_a"), Branches.clone()
    marked = mod[variable].with_attr(ACCELERATOR_FUNCTION_ATTR.name, function)
    mod.update_func(variable, with_kernels(marked, kernel))
    graph = operator_graph(pass_devices(take_devices(mod)), preserve_inputs=False, overlap=False)
    assert (graph is None) == keeps_state
    assert graph is None or [call.after for call in graph.calls] == [(), (), (0, 1)]


def test_a_module_without_accelerators_stays():
    assert take_devices(Before).same_as(Before)
    assert pass_devices(Before).same_as(Before)
