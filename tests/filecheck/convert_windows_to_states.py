# Of a window of 6 rows each run is given 2. A convolution of 3 rows reads 2 of those before, which are
# kept, and computes 2 of its 4 rows; the greatest element of all needs the other 2, too. Before the
# first run all rows are zeros, of which the convolution makes its bias of 5.
# RUN: usmp-opt %s --passes=ConvertWindowsToStates --pass-config=tir.usmp.stream_inputs=x:hop=2 | filecheck %s

import numpy as np
from tvm import relax

from usmp.ops.quantized import (
    Layout,
    OutputLimits,
    Quantization,
    QuantizedMultiplier,
    Rescale,
    Window,
    conv2d,
    reduce_max,
)

SCALE = Quantization("int8", (1.0,), (0,))
WINDOW = Window((6, 1), (3, 1), (1, 1), (1, 1), (0, 0), (4, 1))
RESCALE = Rescale((QuantizedMultiplier(1 << 30, 1),), SCALE, OutputLimits("int8", -128, 127))

builder = relax.BlockBuilder()
x = relax.Var("x", relax.TensorType((1, 6, 1, 1), "int8"))
with builder.function("main", [x]):
    with builder.dataflow():
        weight = np.array([3, -2, 4], np.int8).reshape(1, 3, 1, 1)
        ends = (np.array([5], np.int32), WINDOW, SCALE, RESCALE, Layout("NHWC"), SCALE)
        y = builder.emit(conv2d(builder, x, weight, *ends))
        z = builder.emit_output(reduce_max(builder, y, [1, 2, 3], SCALE))
    builder.emit_func_output(z)
Module = builder.get()


# CHECK: I.module_attrs({"windows": {"inputs": {"x": {"rows": 2, "window_rows": 6}}, "macs": 6, "state_size_bytes": 4, "states": {"lv_window": {"rows": 2, "tensor": "lv"}, "x_window": {"rows": 2, "tensor": "x"}}, "whole": ["reduce_max"], "window_macs": 12}})
# CHECK: def conv2d(x: T.Buffer((T.int64(1), T.int64(4), T.int64(1), T.int64(1)), "int8"), B: T.Buffer((T.int64(1), T.int64(3), T.int64(1), T.int64(1)), "int8"), C: T.Buffer((T.int64(1),), "int32"), D: T.Buffer((T.int64(1),), "int32"), E: T.Buffer((T.int64(1),), "int32"), output: T.Buffer((T.int64(1), T.int64(2), T.int64(1), T.int64(1)), "int8")):
# CHECK: def main(x: R.Tensor((1, 2, 1, 1), dtype="int8"), x_window: R.Tensor((1, 2, 1, 1), dtype="int8"), lv_window: R.Tensor((1, 2, 1, 1), dtype="int8"))
# CHECK-NEXT:     R.func_attr({"states": [metadata["usmp.StateInfo"][0], metadata["usmp.StateInfo"][1]]})
# CHECK-NEXT:     cls = Module
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         x_rows: R.Tensor((1, 4, 1, 1), dtype="int8") = R.concat((x_window, x), axis=1)
# CHECK-NEXT:         lv = R.call_tir(cls.conv2d, (x_rows, metadata["ir.GenericConst"][0], metadata["ir.GenericConst"][1], metadata["ir.GenericConst"][2], metadata["ir.GenericConst"][3]), out_ty=R.Tensor((1, 2, 1, 1), dtype="int8"))
# CHECK-NEXT:         lv_rows: R.Tensor((1, 4, 1, 1), dtype="int8") = R.concat((lv_window, lv), axis=1)
# CHECK-NEXT:         gv1 = R.call_tir(cls.reduce_max, (lv_rows,), out_ty=R.Tensor((1,), dtype="int8"))
# CHECK-NEXT:         gv2: R.Tensor((1, 2, 1, 1), dtype="int8") = R.strided_slice(x_rows, (1,), (2,), (4,), assume_inbound=False)
# CHECK-NEXT:         gv3: R.Tensor((1, 2, 1, 1), dtype="int8") = R.strided_slice(lv_rows, (1,), (2,), (4,), assume_inbound=False)
# CHECK-NEXT:         R.output(gv1, gv2, gv3)
# CHECK-NEXT:     return (gv1, gv2, gv3)
