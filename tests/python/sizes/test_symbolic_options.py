"""Sizes that only the run knows, beside the other options: right results, or a clear error."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.attention import attention
from support.planner_contexts import planner_context
from usmp.relax.transform import PartitionForAccelerators

pytestmark = pytest.mark.cc
LARGEST = 20


def expected(data: np.ndarray) -> np.ndarray:
    scores = data @ data.T
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ data


def built(options, **arguments):
    with planner_context(options):
        return usmp.build(attention(), max_sizes={"length": LARGEST}, **arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "workspace"),
    [
        ({"max_extra_macs": "10%"}, 2800),
        ({"debug": "poison_dead_bytes"}, 2800),
        ({"debug": "profile"}, 2800),
        ({"code": "small", "optimize": "speed"}, 2800),
        ({"algorithm": "hill_climb", "dynamic": "expression"}, 2800),
        ({"disabled_pass": ("OverlapInputsAndOutputs",), "dynamic": "expression"}, 3200),
        # 20 x 16 and two of 20 x 20 floats, each with bytes of its own.
        ({"algorithm": "no_sharing", "dynamic": "expression"}, 4480),
        ({"use_workspace_io": True, "preserve_inputs": True}, 4160),
    ],
    ids=str,
)
def test_results_with_other_options(options, workspace):
    module = built(options)
    assert module.interface.workspace_size_bytes == workspace
    for rows in (1, 7, LARGEST):
        data = np.random.default_rng(rows).normal(size=(rows, 16)).astype("float32")
        (found,) = module.run({"data": data}).values()
        np.testing.assert_allclose(found, expected(data), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"stream_inputs": ["data"]}, "inputs and outputs by rows have fixed shapes"),
        ({"stream_inputs": ["data:hop=1"]}, "windows of time have fixed shapes"),
        ({"use_workspace_io": True, "dynamic": "expression"}, "have one place for all sizes"),
        ({"debug": "poison_dead_bytes", "dynamic": "expression"}, "not known which bytes are dead"),
        ({"dynamic": "sometimes"}, 'unknown word "sometimes" in tir.usmp.dynamic'),
    ],
    ids=str,
)
def test_options_that_are_refused(options, fault):
    with pytest.raises(ValueError, match=fault):
        built(options)


@pytest.mark.slow
def test_the_packed_interface_is_refused():
    executor = usmp.Executor("aot", {"interface-api": "packed"})
    with pytest.raises(ValueError, match="the packed interface has fixed shapes only"):
        _ = built({}, executor=executor).source


def test_several_entries_are_refused():
    with pytest.raises(usmp.UnsupportedModelError, match='entry "a" has sizes that only the run'):
        usmp.build({"a": attention(), "b": attention()}, max_sizes={"length": LARGEST})


def test_accelerators_are_refused():
    refused = r"accelerators \(tinyaccel\) take fixed shapes"
    with pytest.raises(usmp.UnsupportedModelError, match=refused):
        PartitionForAccelerators(["tinyaccel"])(attention())


@pytest.mark.slow
@pytest.mark.parametrize(("dynamic", "offers"), [("bound", True), ("expression", False)])
def test_the_summary_offers_what_is_possible(dynamic, offers):
    """Offsets that move with the sizes leave no place for inputs and outputs."""
    summary = built({"dynamic": dynamic}).summary()
    assert ("--workspace-io" in summary) is offers
