# Of two inputs of one name, the second gets a number.
# RUN: usmp-opt %s --passes=MakeParameterNamesUnique | filecheck %s

from tvm import relax

ty = relax.TensorType((4,), "float32")
first, second = relax.Var("x", ty), relax.Var("x", ty)
builder = relax.BlockBuilder()
with builder.function("main", [first, second]):
    with builder.dataflow():
        result = builder.emit_output(relax.op.add(first, second))
    builder.emit_func_output(result)
Module = builder.get()

# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((4,), dtype="float32"), x_1: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         gv: R.Tensor((4,), dtype="float32") = R.add(x, x_1)
# CHECK-NEXT:         R.output(gv)
# CHECK-NEXT:     return gv
