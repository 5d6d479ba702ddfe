# A state that main gives back as it is is a constant; one that it changes stays.
# RUN: usmp-opt %s --passes=FoldUnchangedStates | filecheck %s

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from usmp import StateInfo

BIAS = tvm.runtime.tensor(np.array([1.5, 2.5], np.float32))
STATES = [StateInfo("bias", 1, BIAS), StateInfo("total", 2, tvm.runtime.tensor(np.float32(0)))]


@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((2,), "float32"),
        bias: R.Tensor((2,), "float32"),
        total: R.Tensor((2,), "float32"),
    ):
        R.func_attr({"states": STATES})
        with R.dataflow():
            y = R.add(x, bias)
            new_total = R.add(total, y)
            R.output(y, new_total)
        return (y, bias, new_total)


# CHECK: def main(x: R.Tensor((2,), dtype="float32"), total: R.Tensor((2,), dtype="float32")) -> R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")):
# CHECK-NEXT:     R.func_attr({"states": [metadata["usmp.StateInfo"][0]]})
# CHECK-NEXT:     with R.dataflow():
# CHECK-NEXT:         y: R.Tensor((2,), dtype="float32") = R.add(x, metadata["ir.GenericConst"][0])
# CHECK-NEXT:         new_total: R.Tensor((2,), dtype="float32") = R.add(total, y)
# CHECK-NEXT:         R.output(y, new_total)
# CHECK-NEXT:     return (y, new_total)
