"""Kernels of the portable runtime give the same bytes in the place of an input as elsewhere."""

from __future__ import annotations

import pytest

from support import levels

pytestmark = pytest.mark.models


# benchmarks/executorch_memory.py --kernels has all, with all shapes; these stand for each kind.
OPERATORS = {
    "aten::_log_softmax.out",
    "aten::_native_batch_norm_legit_no_training.out",
    "aten::_softmax.out",
    "aten::add.out",
    "aten::clamp.out",
    "aten::clone.out",
    "aten::exp.out",
    "aten::expand_copy.out",
    "aten::floor_divide.out",
    "aten::gelu.out",
    "aten::hardtanh.out",
    "aten::mul.Scalar_out",
    "aten::native_group_norm.out",
    "aten::native_layer_norm.out",
    "aten::relu.out",
    "aten::sigmoid.out",
    "dim_order_ops::_clone_dim_order.out",
    "dim_order_ops::_to_dim_order_copy.out",
}


@pytest.mark.slow
def test_operators_in_place():
    from support.executorch_kernels import differences, registered

    operators = {operator.name(): operator for operator in registered()}
    assert len(operators) > 90 and set(operators) >= OPERATORS
    for name in sorted(OPERATORS):
        compared, different = differences(
            operators[name], (2, 3, 5, 7), levels.number(10, 1000), levels.seeds(1, 1).start
        )
        assert different == []
        assert compared > 0, name
