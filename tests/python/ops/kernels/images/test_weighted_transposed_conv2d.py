"""Transposed convolutions have the kernel, and compute the bytes of tflite-micro by it."""

from __future__ import annotations

import pytest

from support.imported_models import imported_model
from support.kernel_models import (
    check_functions_and_loops,
    check_outputs,
    check_schedule,
    kernel_bodies,
)
from support.levels import sample
from usmp.ops.kernels import select
from usmp.ops.kernels.images.weighted_transposed_conv2d import transposed_conv2d_kernel

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
ALIKE = sample([*CASES[:2], *CASES[6:]], 1)
"""Of one phase or four, as those between."""


@pytest.mark.slow
def test_kernels_compute_what_the_operator_does():
    check_functions_and_loops((name, core) for name, core, _ in [*CASES[2:6], *ALIKE])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "core", "schedule"), CASES[:4])
def test_schedules(name, core, schedule):
    check_schedule(name, core, schedule)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transpose_conv_stride_2", "transpose_conv_saturating"])
def test_outputs(name):
    check_outputs(name, "cortex-m4")


@pytest.mark.parametrize("name", ["transpose_conv_int16", "transpose_conv_uint8_plain"])
def test_other_types_have_no_kernel(name, monkeypatch):
    found = []
    monkeypatch.setattr(
        select, "_KERNELS", (lambda *a: found.append(transposed_conv2d_kernel(*a)),)
    )
    kernel_bodies(imported_model(name), "cortex-m4")
    assert set(found) == {None}
