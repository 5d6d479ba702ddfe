# What a pattern of an accelerator matches becomes a function for it.
# RUN: usmp-opt %s --passes=PartitionForAccelerators{accelerators=filecheck_accelerator} | filecheck %s

from tvm.relax.backend import pattern_registry
from tvm.relax.dpl import is_op, wildcard
from tvm.script import ir as I
from tvm.script import relax as R

if not pattern_registry.get_patterns_with_prefix("filecheck_accelerator."):
    pattern_registry.register_patterns(
        [("filecheck_accelerator.add", is_op("relax.add")(wildcard(), wildcard()))]
    )


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor(
        (4,), "float32"
    ):
        with R.dataflow():
            sum = R.add(x, y)
            z = R.exp(sum)
            R.output(z)
        return z


# CHECK: @R.function
# CHECK-NEXT: def fused_relax_add_filecheck_accelerator(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
# CHECK-NEXT:     R.func_attr({"Codegen": "filecheck_accelerator"})
#
# CHECK:     @R.function
# CHECK-NEXT:     def local_func(x_1: R.Tensor((4,), dtype="float32"), y_1: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
# CHECK-NEXT:         R.func_attr({"Composite": "filecheck_accelerator.add"})
# CHECK-NEXT:         with R.dataflow():
# CHECK-NEXT:             gv: R.Tensor((4,), dtype="float32") = R.add(x_1, y_1)
# CHECK-NEXT:             R.output(gv)
# CHECK-NEXT:         return gv
# CHECK:     output: R.Tensor((4,), dtype="float32") = local_func(x, y)
# CHECK-NEXT:     return output
#
# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
# CHECK-NEXT:     cls = Module
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         lv: R.Tensor((4,), dtype="float32") = cls.fused_relax_add_filecheck_accelerator(x, y)
# CHECK-NEXT:         z: R.Tensor((4,), dtype="float32") = R.exp(lv)
# CHECK-NEXT:         R.output(z)
# CHECK-NEXT:     return z
