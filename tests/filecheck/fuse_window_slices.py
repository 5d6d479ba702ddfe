# What takes a part of a window that begins with a state reads it there: the slice is no operator.
# RUN: usmp-opt %s --passes=FuseWindowSlices | filecheck %s

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from usmp import StateInfo

STATES = [StateInfo("state", 1, tvm.runtime.tensor(np.int8(0)))]


@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def column(window: T.Buffer((3, 2), "int8"), part: T.Buffer((3, 1), "int8")):
        for i, j in T.grid(3, 1):
            with T.sblock("part"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                part[v_i, v_j] = window[v_i, v_j]

    @T.prim_func(private=True, s_tir=True)
    def negative(part: T.Buffer((3, 1), "int8"), y: T.Buffer((3, 1), "int8")):
        for i, j in T.grid(3, 1):
            with T.sblock("y"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                y[v_i, v_j] = T.int8(0) - part[v_i, v_j]

    @R.function
    def main(x: R.Tensor((1, 2), "int8"), state: R.Tensor((2, 2), "int8")):
        R.func_attr({"states": STATES})
        cls = Module
        with R.dataflow():
            window = R.concat((state, x), axis=0)
            part = R.call_tir(cls.column, (window,), out_ty=R.Tensor((3, 1), "int8"))
            y = R.call_tir(cls.negative, (part,), out_ty=R.Tensor((3, 1), "int8"))
            new_state = R.strided_slice(window, (0,), (1,), (3,))
            flat = R.reshape(y, R.shape([3]))
            R.output(y, new_state, flat)
        return (y, new_state, flat)


# CHECK: @T.prim_func(private=True, s_tir=True)
# CHECK-NEXT: def fused_column_negative(arg0: T.Buffer((T.int64(3), T.int64(2)), "int8"), y_intermediate: T.Buffer((T.int64(3), T.int64(1)), "int8", elem_offset=0)):
# CHECK-NEXT:     T.func_attr({"operator_steps": [{"kind": "column", "macs": 0}, {"kind": "negative", "macs": 0}], "tirx.noalias": True})
# CHECK-NEXT:     # with T.sblock("root"):
# CHECK-NEXT:     part_intermediate = T.sblock_alloc_buffer((T.int64(3), T.int64(1)), "int8", elem_offset=0)
# CHECK-NEXT:     for i, j in T.grid(3, 1):
# CHECK-NEXT:         with T.sblock("part"):
# CHECK-NEXT:             v_i, v_j = T.axis.remap("SS", [i, j])
# CHECK-NEXT:             T.reads(arg0[v_i, v_j])
# CHECK-NEXT:             T.writes(part_intermediate[v_i, v_j])
# CHECK-NEXT:             part_intermediate[v_i, v_j] = arg0[v_i, v_j]
# CHECK-NEXT:     for i, j in T.grid(3, 1):
# CHECK-NEXT:         with T.sblock("y"):
# CHECK-NEXT:             v_i, v_j = T.axis.remap("SS", [i, j])
# CHECK-NEXT:             T.reads(part_intermediate[v_i, v_j])
# CHECK-NEXT:             T.writes(y_intermediate[v_i, v_j])
# CHECK-NEXT:             y_intermediate[v_i, v_j] = T.int8(0) - part_intermediate[v_i, v_j]
#
# CHECK: @R.function
# CHECK-NEXT: def main(x: R.Tensor((1, 2), dtype="int8"), state: R.Tensor((2, 2), dtype="int8")) -> R.Tuple(R.Tensor((3, 1), dtype="int8"), R.Tensor((2, 2), dtype="int8"), R.Tensor((3,), dtype="int8")):
# CHECK-NEXT:     R.func_attr({"states": [metadata["usmp.StateInfo"][0]]})
# CHECK-NEXT:     cls = Module
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         window: R.Tensor((3, 2), dtype="int8") = R.concat((state, x), axis=0)
# CHECK-NEXT:         y = R.call_tir(cls.fused_column_negative, (window,), out_ty=R.Tensor((3, 1), dtype="int8"))
# CHECK-NEXT:         new_state: R.Tensor((2, 2), dtype="int8") = R.strided_slice(window, (0,), (1,), (3,), assume_inbound=False)
# CHECK-NEXT:         flat: R.Tensor((3,), dtype="int8") = R.reshape(y, R.shape([3]))
# CHECK-NEXT:         R.output(y, new_state, flat)
# CHECK-NEXT:     return (y, new_state, flat)
