"""Operators that choose and add up elements compute what TFLite's kernels compute."""

from __future__ import annotations

import pytest

from support.operator_trials.in_vm import faults_in_vm

OPERATORS = (
    "SCATTER_ND",
    "SEGMENT_SUM",
    "TOPK_V2",
)


@pytest.mark.slow
@pytest.mark.models
def test_like_the_kernels():
    assert faults_in_vm("tflite", OPERATORS, range(10)) == {}
