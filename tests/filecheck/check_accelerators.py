# Object files cannot call functions of accelerators.
# RUN: not usmp-opt %s --passes="LowerAcceleratorFunctions{accelerators=accel},CheckAccelerators{target=llvm}" 2>&1 | filecheck %s

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


# CHECK: usmp-opt: error: target "llvm" cannot call functions of accelerators, such as tvmgen_default_accel_main_0;
# CHECK-NEXT:   use target c
