"""Which operators may run in place."""

from __future__ import annotations

import pytest

from support.lazy import lazy

torch = lazy("torch")
operators = lazy("usmp_solver.integrations.executorch.operators")

pytestmark = pytest.mark.models


def out_variant(name):
    namespace, packet, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload)


@pytest.mark.parametrize(
    ("name", "element_wise", "in_place"),
    [
        ("aten.relu.out", True, True),
        ("aten.add.out", True, True),
        ("aten.where.self_out", True, True),
        ("aten.clone.out", True, True),
        ("aten.expand_copy.out", True, True),
        ("aten.floor_divide.out", True, True),
        ("aten._softmax.out", False, True),
        ("aten._log_softmax.out", False, True),
        ("aten.native_layer_norm.out", False, True),
        ("aten.native_group_norm.out", False, True),
        ("aten._native_batch_norm_legit_no_training.out", False, True),
        ("aten.cumsum.out", False, False),
        ("aten.mm.out", False, False),
        ("aten.permute_copy.out", False, False),
        # Two outputs, though each is element-wise.
        ("aten.frexp.Tensor_out", False, False),
        # No output that is given.
        ("aten.relu.default", False, False),
        ("prims.sin.default", False, False),
    ],
)
def test_operators_that_run_in_place(name, element_wise, in_place):
    operator = out_variant(name)
    assert operators.is_element_wise(operator) == element_wise
    assert operators.runs_in_place(operator) == in_place


def test_names_of_outputs():
    names = operators.output_names
    assert names(out_variant("aten.add.out")) == ["out"]
    assert names(out_variant("aten.add.Tensor")) == []
    assert names(out_variant("aten.native_layer_norm.out")) == ["out0", "out1", "out2"]
