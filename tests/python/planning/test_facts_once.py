"""In a build each version of a PrimFunc is walked once for live ranges, and traced once."""

from __future__ import annotations

from collections import Counter

import pytest

import usmp
from support import levels
from support.planner_contexts import planner_context
from support.relax_models import two_convolutions
from support.small_digits import small_convolutions
from usmp.analysis.memory import facts
from usmp.frontend.tflite.importer import import_tflite

MODELS = {
    "deeploy_cct_1_16": ".onnx",
    "mlperf_resnet8_int8": ".tflite",
    "mww_okay_nabu_v2_int8": ".tflite",
}
SMALLEST = "mww_okay_nabu_v2_int8"
CONFIGS = [
    ({}, {"compare_workspace_io": True}),
    ({"use_workspace_io": True, "preserve_inputs": True}, {}),
    ({"algorithm": "hill_climb"}, {"board": "mps3-an547"}),
    ({"algorithm": "exact", "time_budget": "10min", "disabled_pass": ("OrderOperators",)}, {}),
]


@pytest.fixture
def walked(monkeypatch):
    """How often each PrimFunc is walked."""
    count: Counter[tuple[str, object]] = Counter()
    kept = []
    original = facts.memory_events

    def counted(name, body, *arguments):
        kept.append(body)  # so that no other one gets its address
        count[name, body] += 1
        return original(name, body, *arguments)

    monkeypatch.setattr(facts, "memory_events", counted)
    return count


@pytest.mark.slow
@pytest.mark.parametrize(("config", "build"), CONFIGS)
def test_each_version_is_walked_once(walked, config, build):
    check(two_convolutions(), walked, config, build)


@pytest.mark.slow
def test_each_version_of_interleaved_operators_is_walked_once(walked):
    check(import_tflite(small_convolutions()), walked, *CONFIGS[0])


@levels.long_run()
@pytest.mark.parametrize("config", CONFIGS[:1], ids=str)
def test_each_version_of_interleaved_pools_is_walked_once(digits_model, walked, config):
    check(usmp.import_model(digits_model), walked, *config)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "config", "build"),
    # Large ones take long, in the same way whatever the options.
    levels.sample([(n, *c) for n in MODELS for c in CONFIGS[: 4 if n == SMALLEST else 1]], 1),
)
def test_each_version_in_a_public_model_is_walked_once(shared_model, walked, name, config, build):
    check(usmp.import_model(shared_model(name, MODELS[name])), walked, config, build)


def check(mod, walked, config, build):
    """Build the model, and count."""
    with planner_context(config):
        usmp.build(mod, **build)
    assert walked
    assert {key: times for key, times in walked.items() if times > 1} == {}
    # Operators have one version, or one a schedule or a layout, of which convolutions have up
    # to three, and pools and means one by rows; segments have one for each of up to three
    # choices of them, of which a comparison of workspace I/O makes others, and one that later
    # passes make. Only the main function is made anew; what copies, and what transposes at the
    # border of images in either layout, is numbered in each module by itself.
    numbered = "usmp_copy_", "transpose"
    names = Counter(name for name, _ in walked if not name.startswith(numbered))
    several = {name: versions for name, versions in names.items() if versions > 1}
    several.pop("__tvm_main__", None)
    choices = 7 if "compare_workspace_io" in build else 4
    for name, versions in several.items():
        most = choices if "_to_" in name else 3 if "conv2d" in name or name == "mean" else 2
        assert versions <= most
        assert any(part in name for part in ("conv2d", "_to_", "pool", "mean"))
