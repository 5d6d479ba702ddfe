"""Operators that cut tensors compute what TFLite's kernels compute, whatever their attributes."""

from __future__ import annotations

import pytest

from support.operator_trials.in_vm import faults_in_vm

OPERATORS = (
    "SLICE",
    "STRIDED_SLICE",
    "SPLIT",
    "SPLIT_V",
    "UNPACK",
)


@pytest.mark.slow
@pytest.mark.models
def test_like_the_kernels():
    assert faults_in_vm("tflite", OPERATORS, range(8)) == {}
