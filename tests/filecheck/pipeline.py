# From a Relax model to planned C functions, in one go.
# RUN: usmp-opt %s --passes=Pipeline{module_name=net} | filecheck %s

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y


# CHECK: I.module_attrs({"code": "balanced", "io_tensor_pool_allocations": {}, "memory_plan": metadata["usmp.MemoryPlan"][0], "pool_args": []{{.*}}})
#
# CHECK: @T.prim_func(private=True)
# CHECK-NEXT: def __tvm_main__(x_ptr: T.handle("float32", "global"), output_ptr: T.handle("float32", "global")):
# CHECK-NEXT:     T.func_attr({"input_tensors": [metadata["usmp.TensorInfo"][0]], "output_tensors": [metadata["usmp.TensorInfo"][1]], "pool_args": [], "target": T.target({{.*}}"kind": "c"{{.*}})})
# CHECK-NEXT:     x = T.decl_buffer((4,), data=x_ptr)
# CHECK-NEXT:     output = T.decl_buffer((4,), data=output_ptr)
# CHECK-NEXT:     Module.relu(x.data, output.data)
#
# CHECK: @T.prim_func(private=True, s_tir=True)
# CHECK-NEXT: def relu(x: T.handle("float32", "global"), clamp: T.handle("float32", "global")):
# CHECK-NEXT:     T.func_attr({"op_pattern": 0, "operator_shapes": {"clamp": [4], "x": [4]}, "operator_steps": [{"kind": "relu", "macs": 0}], "pool_args": [], "target": T.target({{.*}}"kind": "c"{{.*}})})
# CHECK-NEXT:     x_1 = T.decl_buffer((4,), data=x)
# CHECK-NEXT:     clamp_1 = T.decl_buffer((4,), data=clamp)
# CHECK-NEXT:     for i0 in range(4):
# CHECK-NEXT:         clamp_1[i0] = T.max(T.float32(0.0), x_1[i0])
