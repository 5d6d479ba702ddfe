"""`__tvm_main__` passes handles to accelerators and minds their answers."""

import tvm
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.aot.accelerator_devices import pass_devices, take_devices
from usmp.objects.attributes import ACCELERATOR_FUNCTION_ATTR
from usmp.ops.accelerator_function import AcceleratorFunction


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


def on_accelerators(mod: IRModule) -> IRModule:
    """`on_a` and `on_b` as functions of accelerators."""
    mod = mod.clone()
    for name in ("a", "b"):
        function = AcceleratorFunction(f"{name}_main_0", name, "", [], [])
        variable = mod.get_global_var(f"on_{name}")
        mod.update_func(variable, mod[variable].with_attr(ACCELERATOR_FUNCTION_ATTR, function))
    return mod


def test_handles_and_answers():
    after = pass_devices(take_devices(on_accelerators(Before)))
    tvm.ir.assert_structural_equal(after, on_accelerators(After))


def test_a_module_without_accelerators_stays():
    assert take_devices(Before).same_as(Before)
    assert pass_devices(Before).same_as(Before)
