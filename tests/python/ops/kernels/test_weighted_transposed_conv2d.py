"""Transposed convolutions have the kernel, and compute the bytes of tflite-micro by it."""

from __future__ import annotations

import pytest

from support.built_ways import Way
from support.kernel_models import catalog_model, check_kernel
from usmp.ops.kernels import select
from usmp.ops.kernels.weighted_transposed_conv2d import transposed_conv2d_kernel

pytestmark = pytest.mark.models

CASES = [
    ("transpose_conv_stride_1", "cortex-m3", "1 phase,"),
    ("transpose_conv_stride_2", "cortex-m3", "4 phases,"),
    ("transpose_conv_stride_3_kernel_2", "cortex-m4", "9 phases,"),
    ("transpose_conv_valid_stride_1x2", "cortex-m4", "2 phases,"),
    ("transpose_conv_odd_output", "cortex-m3", "4 phases,"),
    ("transpose_conv_one_channel", "cortex-m4", "4 phases,"),
    ("transpose_conv_saturating", "cortex-m3", "1 phase,"),
    ("transpose_conv_relu6_stride_2", "cortex-m4", "4 phases,"),
]
"""Models, cores, and what the schedules say."""


@pytest.mark.parametrize(("name", "core", "schedule"), CASES)
def test_kernels_compute_what_the_operator_does(name, core, schedule, monkeypatch):
    check_kernel(name, core, schedule, monkeypatch)


@pytest.mark.parametrize("name", ["transpose_conv_int16", "transpose_conv_uint8_plain"])
def test_other_types_have_no_kernel(name, monkeypatch):
    found = []
    monkeypatch.setattr(
        select, "_KERNELS", (lambda *a: found.append(transposed_conv2d_kernel(*a)),)
    )
    matrix, _ = catalog_model(name)
    matrix.factory(Way(target="c -mcpu=cortex-m4"))
    assert set(found) == {None}
