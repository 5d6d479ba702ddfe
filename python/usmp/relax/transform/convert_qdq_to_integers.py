"""ConvertQDQToIntegers: operators between R.dequantize and R.quantize compute in integers."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule

from usmp.passes import ModulePass
from usmp.relax.transform.qdq import use_integer_operators


@tvm.transform.module_pass(opt_level=0, name="usmp.ConvertQDQToIntegers")
class ConvertQDQToIntegers(ModulePass):
    """Replace operators between `R.dequantize` and `R.quantize` in `main` by integer operators.

        R.quantize(relu(conv2d(R.dequantize(x), R.dequantize(w)) + b))  ->  conv2d of x in integers

    What is not recognized stays in float, correct but larger and slower, and is counted in the
    attribute `float_operators` of the module: name -> how many. A result differs by at most one
    step from that of the float operators (see `usmp.relax.transform.qdq`). A module without both
    is returned as it is.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite `main`."""
        return use_integer_operators(mod)
