"""Operators that reshape, cut and join tensors compute what they do in PyTorch."""

from __future__ import annotations

import pytest

from support.operator_trials.in_vm import outcome_of_program

OPERATORS = (
    "alias.default",
    "clone.default",
    "_to_copy.default",
    "copy.default",
    "view.default",
    "expand.default",
    "permute.default",
    "unsqueeze.default",
    "squeeze.dims",
    "cat.default",
    "split_with_sizes.default",
    "repeat.default",
    "flip.default",
    "constant_pad_nd.default",
    "slice.Tensor",
    "slice_scatter.default",
    "select.int",
)


@pytest.mark.slow
@pytest.mark.cc
def test_like_pytorch():
    found = outcome_of_program(OPERATORS, range(3))
    assert found.is_compared, found.detail
