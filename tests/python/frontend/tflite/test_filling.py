"""Operators that fill, repeat and convert tensors compute what TFLite's kernels compute."""

from __future__ import annotations

import pytest

from support.operator_trials.in_vm import faults_in_vm

OPERATORS = (
    "SHAPE",
    "RANK",
    "ZEROS_LIKE",
    "RANGE",
    "FILL",
    "BROADCAST_TO",
    "TILE",
    "BROADCAST_ARGS",
    "CAST",
    "DYNAMIC_UPDATE_SLICE",
)


@pytest.mark.slow
@pytest.mark.models
def test_like_the_kernels():
    assert faults_in_vm("tflite", OPERATORS, range(6)) == {}
