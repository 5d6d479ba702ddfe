"""Operators that reorder elements compute what TFLite's kernels compute."""

from __future__ import annotations

import pytest

from support.operator_trials.in_vm import faults_in_vm

OPERATORS = (
    "TRANSPOSE",
    "REVERSE_V2",
    "REVERSE_SEQUENCE",
    "SPACE_TO_DEPTH",
    "DEPTH_TO_SPACE",
)


@pytest.mark.slow
@pytest.mark.models
def test_like_the_kernels():
    assert faults_in_vm("tflite", OPERATORS, range(8)) == {}
