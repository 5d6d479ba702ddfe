"""Operators that move elements compute what onnxruntime computes, whatever their attributes."""

from __future__ import annotations

import pytest

from support.operator_trials.in_vm import faults_in_vm

OPERATORS = (
    "Compress",
    "CumProd",
    "CumSum",
    "EyeLike",
    "OneHot",
    "Pad",
    "SequenceInsert",
    "Slice",
    "SpaceToDepth",
    "SplitToSequence",
    "Squeeze",
    "TensorScatter",
    "Trilu",
    "Unsqueeze",
)


@pytest.mark.slow
@pytest.mark.models
def test_like_onnxruntime():
    assert faults_in_vm("onnx", OPERATORS, range(8)) == {}
