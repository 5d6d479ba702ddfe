"""Pooling: programs compute what PyTorch computes, whatever their arguments."""

from __future__ import annotations

import pytest

from support.operator_trials.in_vm import outcome_of_program

OPERATORS = (
    "avg_pool2d.default",
    "avg_pool3d.default",
    "max_pool2d_with_indices.default",
    "max_pool3d_with_indices.default",
    "_adaptive_avg_pool2d.default",
    "_adaptive_avg_pool3d.default",
    "adaptive_max_pool2d.default",
    "adaptive_max_pool3d.default",
)


@pytest.mark.slow
@pytest.mark.cc
def test_like_pytorch():
    found = outcome_of_program(OPERATORS, range(3))
    assert found.is_compared, found.detail
