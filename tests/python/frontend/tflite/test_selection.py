"""Operators that choose and combine elements compute what TFLite's kernels compute."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.litert import Reference
from support.operator_trials.in_vm import faults_in_vm
from support.operator_trials.tflite.selection import DRAFTS
from support.quantized_models.model import Spec, int32, one_operator, scalar
from usmp.frontend.tflite.importer import import_tflite

REDUCTIONS = ("MAX", "MIN", "PROD", "SUM")
INF, NAN = np.inf, np.nan


@pytest.mark.slow
@pytest.mark.models
def test_like_the_kernels():
    assert faults_in_vm("tflite", DRAFTS, range(10)) == {}


def check_segments(reduction, values, segments):
    """Compare the bytes of four segments with those of LiteRT's kernel."""
    dtype = values.dtype.name
    inputs = [Spec(values.shape, 0, 0, dtype), int32(*segments), scalar(4)]
    content = one_operator(f"UNSORTED_SEGMENT_{reduction}", inputs, [Spec((4,), 0, 0, dtype)])
    (expected,) = Reference(content).run({"t0": values}).values()
    output = usmp.build(import_tflite(content)).run({"t0": values})["t3"]
    assert output.tobytes() == expected.tobytes(), (output, expected)


@pytest.mark.models
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    "values",
    [[1, NAN, 3, NAN], [-INF, -INF, INF, 2], [INF, -INF, NAN, INF], [-0.0, 0.0, 0.0, -0.0]],
    ids=str,
)
def test_segments_of_special_numbers(reduction, values):
    check_segments(reduction, np.array(values, np.float32), [1, 1, 2, -1])
    check_segments(reduction, np.array(values, np.float32), [2, 0, 0, 2])


@pytest.mark.models
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_segments_of_integers_wrap(reduction):
    values = np.array([2**31 - 1, -(2**31), 2**31 - 1, 2**30], np.int32)
    check_segments(reduction, values, [0, 1, 0, 1])


@pytest.mark.models
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_segments_of_no_elements(reduction):
    check_segments(reduction, np.zeros(0, np.float32), [])
