"""Images of another size: programs compute what PyTorch computes, whatever their arguments."""

from __future__ import annotations

import pytest

from support.operator_trials.in_vm import outcome_of_program

OPERATORS = (
    "upsample_nearest2d.vec",
    "upsample_linear1d.vec",
    "upsample_bilinear2d.vec",
    "upsample_trilinear3d.vec",
    "upsample_bicubic2d.vec",
    "other interpolation",
)


@pytest.mark.slow
@pytest.mark.cc
def test_like_pytorch():
    found = outcome_of_program(OPERATORS, range(4))
    assert found.is_compared, found.detail
