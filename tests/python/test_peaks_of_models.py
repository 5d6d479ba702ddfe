"""How much memory real models need, inputs and outputs among it, each proved to be the least."""

from __future__ import annotations

import pytest

from support.levels import number
from support.public_models import build

PEAKS = {
    "mlperf_kws_int8": (4314, 9792, 16000),
    "mlperf_resnet8_float": (45888, 131072, 196608),
    "mlperf_resnet8_int8": (11136, 32768, 49152),
    "mlperf_ad01_int8": (768, 768, 768),
    "mlperf_strww_int8": (3760, 3840, 6656),
    "mlperf_ad01_float": (3040, 3040, 3072),
    "mlperf_vww_96_int8": (27760, 36880, 55296),
    "mcunet_vww_int8": (76800, 76800, 96000),
    "mlperf_vww_96_float": (110976, 147456, 221184),
    "mobilenet_v1_025_128_float": (197120, 262144, 393216),
}
"""Bytes of the workspace: by default, with operators one after the other, and without overlap."""


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PEAKS)[: number(3, 10)])
def test_peak(shared_model, name):
    path = shared_model(name)
    ways = ({}, {"streaming": False}, {"streaming": False, "overlap": False})
    for options, expected in zip(ways, PEAKS[name], strict=True):
        factory = build(path, use_workspace_io=True, **options)
        memory = factory.metadata["modules"]["default"]["memory"]
        (pool,) = [pool for pool in memory["pools"] if pool["kind"] == "workspace"]
        assert (pool["peak_bytes"], pool["optimal"]) == (expected, True)
