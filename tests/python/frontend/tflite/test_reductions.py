"""Reductions along axes compute what TFLite's kernels compute, whatever their attributes."""

from __future__ import annotations

import pytest

from support.operator_trials.in_vm import faults_in_vm

OPERATORS = (
    "MEAN",
    "SUM",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "ARG_MAX",
    "ARG_MIN",
    "CUMSUM",
)


@pytest.mark.slow
@pytest.mark.models
def test_like_the_kernels():
    assert faults_in_vm("tflite", OPERATORS, range(6)) == {}
