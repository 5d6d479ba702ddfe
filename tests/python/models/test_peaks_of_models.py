"""How much memory real models need, inputs and outputs among it, each proved to be the least; and
what a build does to find that out."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from unittest import mock

import pytest
import tvm
from tvm.ir.transform import PassContext

import usmp
from support.levels import number
from support.public_models import build, imported
from usmp.analysis.memory import facts
from usmp.planning import session

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

COUNTS = {
    "mlperf_kws_int8": (106, 95, 2, 15),
    "mlperf_resnet8_float": (110, 95, 2, 19),
    "mlperf_resnet8_int8": (106, 95, 2, 19),
    "mlperf_ad01_int8": (106, 95, 1, 8),
    "mlperf_strww_int8": (106, 95, 4, 21),
    "mlperf_ad01_float": (106, 95, 1, 8),
    "mlperf_vww_96_int8": (110, 95, 5, 52),
    "mcunet_vww_int8": (110, 95, 2, 87),
    "mlperf_vww_96_float": (110, 95, 3, 31),
    "mobilenet_v1_025_128_float": (110, 95, 3, 31),
}
"""What a build does by default: runs of passes, different passes, plans, and walks of PrimFuncs."""


@contextmanager
def counted():
    """Counts of what builds do."""
    found = Counter()
    passes = set()

    @tvm.ir.instrument.pass_instrument
    class Recorder:
        def run_before_pass(self, mod, info):
            found["runs"] += 1
            passes.add(str(info.name))

    def counting(name, function):
        def called(*arguments):
            found[name] += 1
            return function(*arguments)

        return called

    plans = mock.patch.object(session, "make_plan", counting("plans", session.make_plan))
    walks = mock.patch.object(facts, "fold_liveness", counting("walks", facts.fold_liveness))
    config = {"tir.usmp.use_workspace_io": True}
    with plans, walks, PassContext(instruments=[Recorder()], config=config):
        yield found
    found["passes"] = len(passes)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PEAKS)[: number(3, 10)])
def test_peak(shared_model, name):
    path = shared_model(name)
    ways = (
        {},
        {"disabled_pass": ("StreamOperators",)},
        {"disabled_pass": ("StreamOperators", "OverlapInputsAndOutputs")},
    )
    for options, expected in zip(ways, PEAKS[name], strict=True):
        if options:
            factory = build(path, use_workspace_io=True, **options)
        else:
            # In a session of its own: another build may have found something before.
            with counted() as counts:
                factory = usmp.build(imported(path))
            found = tuple(counts[name] for name in ("runs", "passes", "plans", "walks"))
        memory = factory.metadata["modules"]["default"]["memory"]
        (pool,) = [pool for pool in memory["pools"] if pool["kind"] == "workspace"]
        assert (pool["peak_bytes"], pool["optimal"]) == (expected, True)
    assert found == COUNTS[name]
