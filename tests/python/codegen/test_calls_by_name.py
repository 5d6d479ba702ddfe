"""A PrimFunc that is called by a name that a function of C has too."""

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.build import AOTExecutorFactoryModule

NO_RESOURCE = T.reinterpret("handle", T.uint64(0))


@I.ir_module(s_tir=True)
class Mod:
    """`exp` is called by its name, and is not the function of <math.h>, which is called too."""

    @T.prim_func(private=True)
    def exp(a: T.handle("float32"), b: T.handle("float32")):
        A = T.decl_buffer((4,), "float32", data=a)
        B = T.decl_buffer((4,), "float32", data=b)
        scratch = T.alloc_buffer((4,), "float32")
        for i in range(4):
            scratch[3 - i] = T.exp(A[i])
        for i in range(4):
            B[i] = scratch[i]

    @T.prim_func
    def __tvm_main__(x_ptr: T.handle("float32"), y_ptr: T.handle("float32")):
        x = T.decl_buffer((4,), "float32", data=x_ptr)
        y = T.decl_buffer((4,), "float32", data=y_ptr)
        between = T.alloc_buffer((4,), "float32")
        T.evaluate(T.call_extern("int32", "exp", x.data, between.data, NO_RESOURCE))
        T.evaluate(T.call_extern("int32", "exp", between.data, y.data))


TENSORS = ([("x", [4], "float32")], [("y", [4], "float32")])


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_the_prim_func_is_called_and_gets_its_pools(plan, target):
    mod, interface = plan(Mod, *TENSORS)
    main = mod["__tvm_main__"].with_attr("target", tvm.target.Target(target))
    mod.update_func(mod.get_global_var("__tvm_main__"), main)
    x = np.array([0.0, 0.5, -1.0, 0.25], np.float32)
    outputs = AOTExecutorFactoryModule(mod, interface.module_name).run({"x": x})
    np.testing.assert_allclose(outputs["y"], np.exp(np.exp(x)[::-1])[::-1], rtol=1e-6)
