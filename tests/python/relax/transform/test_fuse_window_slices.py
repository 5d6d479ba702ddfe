"""Which slices of windows are fused with their readers."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from usmp import StateInfo
from usmp.relax.transform import FuseWindowSlices

ZERO = tvm.runtime.tensor(np.int8(0))


@I.ir_module
class Window:
    """y is computed of a column of the state and x, joined."""

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
        cls = Window
        with R.dataflow():
            window = R.concat((state, x), axis=0)
            part = R.call_tir(cls.column, (window,), out_ty=R.Tensor((3, 1), "int8"))
            y = R.call_tir(cls.negative, (part,), out_ty=R.Tensor((3, 1), "int8"))
            new = R.strided_slice(window, (0,), (1,), (3,))
            z = R.reshape(y, R.shape([3]))
            R.output(y, new, z)
        return (y, new, z)


def module(old: str = "", new: str = "", output: int = 1, **attributes: object) -> IRModule:
    """`Window` with other text, the state's result, and attributes of the reader."""
    text = Window.script()
    assert text.count(old) == 1 or not old
    mod = tvm.script.from_source(text.replace(old, new))
    states = [StateInfo("state", output, ZERO)]
    mod.update_func(mod.get_global_var("main"), mod["main"].with_attr("states", states))
    mod.update_func(mod.get_global_var("negative"), mod["negative"].with_attrs(attributes))
    return mod


def names(mod: IRModule) -> set[str]:
    return {str(variable.name_hint) for variable in mod.functions}


def test_a_slice_of_a_window_is_fused_with_its_reader():
    assert names(FuseWindowSlices()(module())) == {"fused_column_negative", "main"}


STAYS = {
    "unchanged": {"output": -1},
    "behind": {"old": "(state, x)", "new": "(x, state)"},
    "two readers": {"old": "R.reshape(y,", "new": "R.reshape(part,"},
    "opaque": {"op_pattern": 8},
    # Fusion would drop it.
    "attribute": {"extern_kernels": []},
}


@pytest.mark.parametrize("case", STAYS)
def test_others_stay(case):
    mod = module(**STAYS[case])
    tvm.ir.assert_structural_equal(FuseWindowSlices()(mod), mod)


def test_a_model_without_states_stays_as_it_is():
    mod = module()
    mod.update_func(mod.get_global_var("main"), mod["main"].without_attr("states"))
    tvm.ir.assert_structural_equal(FuseWindowSlices()(mod), mod)
