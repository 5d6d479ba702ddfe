"""A public model that is given one new row of its window in each run."""

from __future__ import annotations

import pytest
from tvm.ir.transform import PassContext

import usmp
from support.time_networks import assert_slides

pytestmark = pytest.mark.models


def constants(factory: usmp.AOTExecutorFactoryModule) -> int:
    """Bytes of constant pools."""
    pools = factory.metadata["modules"]["default"]["memory"]["pools"]
    return sum(pool["peak_bytes"] for pool in pools if pool["kind"] == "constant")


@pytest.mark.slow
def test_a_keyword_spotter(shared_model):
    """From the first run on; then the window is full of the zero point."""
    mod = usmp.import_model(shared_model("mlperf_strww_int8"))
    name = str(mod["main"].params[0].name)
    config = {"tir.usmp.stream_inputs": [f"{name}:hop=1"], "tir.usmp.use_workspace_io": True}
    with PassContext(config=config):
        factory = usmp.build(mod)
    module = factory.metadata["modules"]["default"]
    assert module["windows"] == {
        "inputs": {name: {"rows": 1, "window_rows": 30}},
        "states": {
            f"{tensor}_window": {"tensor": tensor, "rows": rows}
            for tensor, rows in (
                (name, 2),
                *(
                    (f"model/conv2d{n}/Conv2D", rows)
                    for n, rows in (("", 4), ("_1", 9), ("_2", 14))
                ),
            )
        },
        "state_size_bytes": 2 * 40 + (4 + 9 + 14) * 128,
        "macs": 46040,
        "window_macs": 826368,
        "whole": ["operator 6 DEPTHWISE_CONV_2D (1x1x128)"],
    }
    memory = module["memory"]["ram"]
    assert (memory["workspace_size_bytes"], memory["state_size_bytes"]) == (3921, 3537)
    with PassContext(disabled_pass=["StreamOperators"]):
        whole = usmp.build(mod)
    # Before the first run all rows of a tensor are alike: one of each is stored.
    assert constants(factory) == constants(whole) + 3 * 128
    assert_slides(factory.load(), mod, 1, 40)
