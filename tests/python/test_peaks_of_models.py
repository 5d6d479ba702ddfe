"""How much memory real models need, inputs and outputs among it, proved to be the least."""

from __future__ import annotations

import pytest
from tvm.ir.transform import PassContext

import usmp

PEAKS = {
    "mlperf_ad01_int8": (768, 768),
    "mlperf_kws_int8": (9792, 16000),
    "mlperf_resnet8_int8": (32768, 49152),
    "mlperf_strww_int8": (3840, 6656),
    "mlperf_vww_96_int8": (36880, 55296),
    "mcunet_vww_int8": (76800, 96000),
    "mlperf_ad01_float": (3040, 3072),
    "mlperf_resnet8_float": (131072, 196608),
    "mlperf_vww_96_float": (147456, 221184),
    "mobilenet_v1_025_128_float": (262144, 393216),
}
"""Bytes of the workspace with overlap, and without."""


@pytest.mark.parametrize("name", PEAKS)
def test_peak(shared_model, name):
    mod = usmp.import_model(shared_model(name))
    for overlap, expected in zip((True, False), PEAKS[name], strict=True):
        config = {"tir.usmp.use_workspace_io": True, "tir.usmp.overlap": overlap}
        with PassContext(config=config):
            memory = usmp.build(mod).metadata["modules"]["default"]["memory"]
        (pool,) = [pool for pool in memory["pools"] if pool["kind"] == "workspace"]
        assert (pool["peak_bytes"], pool["optimal"]) == (expected, True)
