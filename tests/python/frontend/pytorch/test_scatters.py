"""Writes at indices: programs compute what PyTorch computes, whatever their arguments."""

from __future__ import annotations

import pytest

from support.operator_trials.in_vm import outcome_of_program

OPERATORS = (
    "scatter.src",
    "scatter.value",
    "scatter.reduce",
    "scatter.value_reduce",
    "scatter_add.default",
    "scatter_reduce.two",
    "index_reduce.default",
    "index_put.default",
)


@pytest.mark.slow
@pytest.mark.cc
def test_like_pytorch():
    found = outcome_of_program(OPERATORS, range(4))
    assert found.is_compared, found.detail
