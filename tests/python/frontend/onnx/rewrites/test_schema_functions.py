"""What operators become that ONNX defines by others depends on the release of `onnx`: a new one may
write other bodies, whose results were not compared.

If a test fails with a new release, run `benchmarks/operators.py onnx` on the operators whose bodies
are others, then change the range in pyproject.toml and what is expected here.
"""

from __future__ import annotations

import hashlib
import re
from importlib.metadata import version

import pytest

from conftest import ROOT
from support.lazy import lazy
from support.operator_trials.sweep import trial_of
from usmp.relax.limits import DEFAULT_LIMITS

onnx = lazy("onnx")
compared = lazy("usmp.frontend.onnx.converters.operators")
opsets = lazy("usmp.frontend.onnx.graph.opsets")
write_out_schema_functions = lazy(
    "usmp.frontend.onnx.rewrites.schema_functions:write_out_schema_functions"
)

SEEDS = 6
"""Of trials, which draw opsets and attributes."""
OLDEST, NEXT = (1, 23), (1, 24)
BODIES = {
    "Attention": "11b71af725297072",
    "BlackmanWindow": "d94bfb915f612aaf",
    "CausalConvWithState": "b88565fbb6969cab",
    "CenterCropPad": "90343892a6ec6811",
    "HammingWindow": "60e0654efb459676",
    "HannWindow": "f9d19e9b4ead1a1f",
    "LinearAttention": "982cdcb3225b18db",
    "NegativeLogLikelihoodLoss": "00eaa7f762da4212",
    "RotaryEmbedding": "c4af211597d4bf5c",
    "SoftmaxCrossEntropyLoss": "1d7c288dc00ef329",
    "SwiGLU": "4860acd309fd178c",
    "Swish": "fab6cdab5f060e66",
}
"""The beginning of the SHA-256 of the nodes that come of the trials."""


@pytest.mark.slow
def test_the_bodies_are_those_that_were_compared():
    bodies = {}
    for operator in compared.WRITTEN_OUT:
        digest = hashlib.sha256()
        for seed in range(SEEDS):
            model = onnx.load_from_string(trial_of("onnx", operator, seed).model)
            for node in write_out_schema_functions(model, DEFAULT_LIMITS).graph.node:
                digest.update(node.SerializeToString(deterministic=True))
        bodies[operator] = digest.hexdigest()[:16]
    assert bodies == BODIES


def test_the_package_asks_for_the_releases_that_have_them():
    text = (ROOT / "pyproject.toml").read_text()
    wanted = f">={OLDEST[0]}.{OLDEST[1]},<{NEXT[0]}.{NEXT[1]}"
    assert re.findall(r'"onnx([<>=][^"]*)"', text) == [wanted, wanted]
    installed = tuple(map(int, version("onnx").split(".")[:2]))
    assert OLDEST <= installed < NEXT


@pytest.mark.parametrize(("release", "is_enough"), [(OLDEST, True), ((1, 22), False)])
def test_older_releases_do_not_know_the_newest_opset(release, is_enough):
    versions = {name: opset for name, _, opset, *_ in onnx.helper.VERSION_TABLE}
    assert (versions[f"{release[0]}.{release[1]}.0"] >= opsets.NEWEST_OPSET) == is_enough
