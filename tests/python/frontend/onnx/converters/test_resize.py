"""Resized images are those of onnxruntime, whatever the attributes."""

from __future__ import annotations

import pytest

from support.operator_trials.in_vm import faults_in_vm


@pytest.mark.slow
@pytest.mark.models
def test_like_onnxruntime():
    assert faults_in_vm("onnx", ["Resize"], range(40)) == {}
    assert faults_in_vm("onnx", ["Upsample"], range(12)) == {}
