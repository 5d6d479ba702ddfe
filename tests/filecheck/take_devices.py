# What calls C for an accelerator takes the handle of its device.
# RUN: usmp-opt %s --passes=LowerAcceleratorFunctions{accelerators=accel},TakeDevices | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def fused_add(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor(
        (4,), "float32"
    ):
        R.func_attr({"Codegen": "accel"})

        @R.function
        def add(a: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")) -> R.Tensor(
            (4,), "float32"
        ):
            R.func_attr({"Composite": "accel.add"})
            with R.dataflow():
                c = R.add(a, b)
                R.output(c)
            return c

        result = add(x, y)
        return result

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor(
        (4,), "float32"
    ):
        with R.dataflow():
            z = Module.fused_add(x, y)
            R.output(z)
        return z


# CHECK: @T.prim_func(private=True)
# CHECK-NEXT: def call_accel_main_0(input0: T.handle("float32", "global"), input1: T.handle("float32", "global"), output: T.handle("float32", "global"), device: T.handle) -> T.int32:
# CHECK-NEXT:     T.func_attr({"accelerator_function": metadata["usmp.AcceleratorFunction"][0], "op_pattern": 8, "operator_steps": [{"kind": "add", "macs": 0}], "target": T.target({"keys": ["accel"], "kind": "ext_dev", "tag": ""})})
# CHECK-NEXT:     return T.call_extern("int32", "tvmgen_default_accel_main_0", T.tvm_access_ptr(T.type_annotation("float32"), input0, 0, 4, 1), T.tvm_access_ptr(T.type_annotation("float32"), input1, 0, 4, 1), T.tvm_access_ptr(T.type_annotation("float32"), output, 0, 4, 2), device)
#
# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
# CHECK-NEXT:     cls = Module
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         z = R.call_tir(cls.call_accel_main_0, (x, y), out_ty=R.Tensor((4,), dtype="float32"))
# CHECK-NEXT:         R.output(z)
# CHECK-NEXT:     return z
