# Channels 0 and 2 are constant, as their weights are zero: the biases of what reads them have their
# shares, 3 * 5 - 2 * 7 = 1 and 6 * 5 + 4 * 7 = 58 more.
# RUN: usmp-opt %s --passes=PruneConstantChannels | filecheck %s

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
)

SCALE = Quantization("int8", (1.0,), (0,))
WINDOW = Window((2, 2), (1, 1), (1, 1), (1, 1), (0, 0), (2, 2))
RESCALE = Rescale((QuantizedMultiplier(1 << 30, 1),), SCALE, OutputLimits("int8", -128, 127))


def convolution(builder, data, weight, bias):
    weight = np.array(weight, np.int8)[:, None, None]
    ends = (np.array(bias, np.int32), WINDOW, SCALE, RESCALE, Layout("NHWC"), SCALE)
    return conv2d(builder, data, weight, *ends)


builder = relax.BlockBuilder()
x = relax.Var("x", relax.TensorType((1, 2, 2, 1), "int8"))
with builder.function("main", [x]):
    with builder.dataflow():
        y = builder.emit(convolution(builder, x, [[0], [1], [0]], [5, 0, 7]))
        z = builder.emit_output(convolution(builder, y, [[3, 1, -2], [6, 2, 4]], [100, 200]))
    builder.emit_func_output(z)
Module = builder.get()


# CHECK: I.module_attrs({"pruned_channels": {"channels": 2, "macs": 12, "macs_before": 36, "weights_size_bytes": 3, "weights_size_bytes_before": 9}})
# CHECK: def conv2d(x: T.Buffer((T.int64(1), T.int64(2), T.int64(2), T.int64(1)), "int8"), B: T.Buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(1)), "int8"), C: T.Buffer((T.int64(1),), "int32"), D: T.Buffer((T.int64(1),), "int32"), E: T.Buffer((T.int64(1),), "int32"), output: T.Buffer((T.int64(1), T.int64(2), T.int64(2), T.int64(1)), "int8")):
# CHECK: def conv2d1(lv: T.Buffer((T.int64(1), T.int64(2), T.int64(2), T.int64(1)), "int8"), B: T.Buffer((T.int64(2), T.int64(1), T.int64(1), T.int64(1)), "int8"), C: T.Buffer((T.int64(2),), "int32"), D: T.Buffer((T.int64(2),), "int32"), E: T.Buffer((T.int64(2),), "int32"), output: T.Buffer((T.int64(1), T.int64(2), T.int64(2), T.int64(2)), "int8")):
# CHECK: def main(x: R.Tensor((1, 2, 2, 1), dtype="int8")) -> R.Tensor((1, 2, 2, 2), dtype="int8"):
# CHECK-NEXT:     cls = Module
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         lv = R.call_tir(cls.conv2d, (x, metadata["ir.GenericConst"][0], metadata["ir.GenericConst"][1], metadata["ir.GenericConst"][2], metadata["ir.GenericConst"][3]), out_ty=R.Tensor((1, 2, 2, 1), dtype="int8"))
# CHECK-NEXT:         gv = R.call_tir(cls.conv2d1, (lv, metadata["ir.GenericConst"][4], metadata["ir.GenericConst"][5], metadata["ir.GenericConst"][6], metadata["ir.GenericConst"][7]), out_ty=R.Tensor((1, 2, 2, 2), dtype="int8"))
# CHECK-NEXT:         R.output(gv)
# CHECK-NEXT:     return gv
