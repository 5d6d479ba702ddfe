"""Which slices of windows are fused with their readers."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm.ir import IRModule

from support.filecheck_files import module_of
from usmp import StateInfo
from usmp.relax.transform import FuseWindowSlices

ZERO = tvm.runtime.tensor(np.int8(0))


WINDOW = module_of("fuse_window_slices")
"""An output is computed of a column of the state and x, joined."""


def module(old: str = "", new: str = "", output: int = 1, **attributes: object) -> IRModule:
    """`WINDOW` with other text, the state's result, and attributes of the reader."""
    main = WINDOW["main"].without_attr("states")
    text = IRModule(
        {**dict(WINDOW.functions.items()), WINDOW.get_global_var("main"): main}
    ).script()
    assert text.count(old) == 1 or not old
    mod = tvm.script.from_source(text.replace(old, new))
    states = [StateInfo("state", output, ZERO)]
    mod.update_func(mod.get_global_var("main"), mod["main"].with_attr("states", states))
    mod.update_func(mod.get_global_var("negative"), mod["negative"].with_attrs(attributes))
    return mod


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
