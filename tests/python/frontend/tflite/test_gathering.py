"""Operators that read elements at indices compute what TFLite's kernels compute."""

from __future__ import annotations

import pytest

from support.operator_trials.in_vm import faults_in_vm

OPERATORS = (
    "GATHER",
    "GATHER_ND",
    "EMBEDDING_LOOKUP",
)


@pytest.mark.slow
@pytest.mark.models
def test_like_the_kernels():
    assert faults_in_vm("tflite", OPERATORS, range(10)) == {}
