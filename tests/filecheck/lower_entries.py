# Two entries have one operator in common, which stands there once, and one state, which has one name.
# RUN: usmp-opt %s --passes=LowerEntries | filecheck %s

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from usmp import StateInfo

ZERO = tvm.runtime.tensor(np.float32(0))
CHANGED, READ = [StateInfo("total", 0, ZERO)], [StateInfo("total", -1, ZERO)]


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add(a_ptr: T.handle("float32"), b_ptr: T.handle("float32"), c_ptr: T.handle("float32")):
        a = T.decl_buffer((2,), "float32", data=a_ptr)
        b = T.decl_buffer((2,), "float32", data=b_ptr)
        c = T.decl_buffer((2,), "float32", data=c_ptr)
        for i in range(2):
            c[i] = a[i] + b[i]

    @R.function
    def count(x: R.Tensor((2,), "float32"), total: R.Tensor((2,), "float32")):
        R.func_attr({"states": CHANGED})
        cls = Module
        with R.dataflow():
            new_total = R.call_tir(cls.add, (x, total), out_ty=R.Tensor((2,), "float32"))
            R.output(new_total)
        return (new_total,)

    @R.function
    def query(x: R.Tensor((2,), "float32"), total: R.Tensor((2,), "float32")):
        R.func_attr({"states": READ})
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.add, (x, total), out_ty=R.Tensor((2,), "float32"))
            R.output(y)
        return y


# CHECK: I.module_attrs({"entries": ["count", "query"]})
# CHECK: def __tvm_count__(x_ptr: T.handle("float32", "global")):
# CHECK: total = T.alloc_buffer((2,), annotations={"state_tensor": "total"})
# CHECK-NEXT: add = T.alloc_buffer((2,))
# CHECK-NEXT: Module.add(x.data, total.data, add.data)
# CHECK-NEXT: Module.usmp_copy_0(add.data, total.data)
# CHECK: def __tvm_query__(x_ptr: T.handle("float32", "global"), output_ptr: T.handle("float32", "global")):
# CHECK: total = T.alloc_buffer((2,), annotations={"state_tensor": "total"})
# CHECK-NEXT: Module.add(x.data, total.data, output.data)
# CHECK: def add(
# CHECK-NOT: def add
