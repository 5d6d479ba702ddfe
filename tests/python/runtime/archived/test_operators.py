"""Damaged descriptions of operators in an archive are refused."""

from __future__ import annotations

from copy import deepcopy

import pytest

import usmp
from support.small_digits import small_convolutions
from usmp.frontend.tflite.importer import import_tflite
from usmp.runtime.archived.module import read_module
from usmp.runtime.archived.read_metadata import DamagedMetadata


@pytest.fixture(scope="module")
def metadata() -> dict:
    factory = usmp.build(import_tflite(small_convolutions()))
    return factory.metadata["modules"]["default"]


@pytest.mark.slow
def test_what_is_built_is_read(metadata):
    assert read_module("default", metadata).name == "default"
    largest = deepcopy(metadata)
    operators = largest["operators"]
    operators[0]["model_operators"] = [len(largest["model_operators"]) - 1]
    operators[0]["stop"] = operators[0]["start"]
    largest["memory"]["pools"][1]["peak_operator"] = len(operators) - 1
    assert read_module("default", largest).name == "default"
    earlier = deepcopy(metadata)
    del earlier["model_operators"]
    for operator in earlier["operators"]:
        for key in ("model_operators", "start", "stop", "live_bytes", "buffers"):
            del operator[key]
        del operator["weights_size_bytes"]
    for pool in earlier["memory"]["pools"]:
        pool.pop("peak_operator", None)
    assert read_module("default", earlier).name == "default"


@pytest.mark.parametrize(
    ("damage", "key"),
    [
        (lambda m: m.update(operators=5), "operators"),
        (lambda m: m.update(model_operators={}), "model_operators"),
        (lambda m: m.pop("model_operators"), "model_operators"),
        (lambda m: m["model_operators"][0].update(index=-1), "index"),
        (lambda m: m["model_operators"][0].update(outputs=[3]), "outputs"),
        (lambda m: m["model_operators"][0]["outputs"][0].update(shape=[-1]), "shape"),
        (lambda m: m["operators"][0].update(model_operators=[99]), "model_operators"),
        (lambda m: m["operators"][0].update(live_bytes=True), "live_bytes"),
        (lambda m: m["operators"][0].update(steps=[{}]), "kind"),
        (lambda m: m["operators"][0].update(accelerators=[1]), "accelerators"),
        (lambda m: m["operators"][0].pop("entry"), "entry"),
        (lambda m: m["operators"][0].update(stop=-1), "stop"),
        (lambda m: m["operators"][0].pop("start"), "start"),
        (lambda m: m["operators"][0]["buffers"].update(read=[[]]), "read"),
        (lambda m: m["operators"][0]["buffers"].update(written=["no buffer"]), "buffers"),
        (lambda m: m["memory"]["pools"][1].update(peak_operator=99), "peak_operator"),
        # One beyond the last that there is.
        (lambda m: m["memory"]["pools"][1].update(peak_operator=len(m["operators"])), "peak_op"),
        (
            lambda m: m["operators"][0].update(model_operators=[len(m["model_operators"])]),
            "model_op",
        ),
        (lambda m: m["operators"][-1].update(stop=m["operators"][-1]["start"] - 1), "stop"),
        (lambda m: m["model_operators"][0].update(entry=5), "entry"),
        (lambda m: m["model_operators"][0].update(type=5), "type"),
        (lambda m: m["model_operators"][0].update(name=5), "name"),
        (lambda m: m["model_operators"][0].update(graph=-1), "graph"),
        (lambda m: m["model_operators"][0].update(inputs=[5]), "inputs"),
        (lambda m: m["model_operators"][0]["outputs"][0].update(name=5), "name"),
        (lambda m: m["operators"][0].update(functions=[5]), "functions"),
        (lambda m: m["operators"][0].update(macs=-1), "macs"),
        (lambda m: m["operators"][0].update(weights_size_bytes=-1), "weights_size_bytes"),
        (lambda m: m["operators"][0]["inputs"][0].update(dtype=5), "dtype"),
        (lambda m: m["operators"][0]["live_bytes"].update(sram=-1), "live_bytes"),
        (lambda m: m["memory"].update(streaming={"saved": -1}), "saved"),
        (lambda m: m["memory"]["pools"][1].update(peak_bytes=2**40), "peak_bytes"),
        (lambda m: m["memory"]["functions"].pop("operator_functions"), "operator_functions"),
        (lambda m: m["memory"].update(streaming=-1), "streaming"),
    ],
)
def test_damage_is_refused(metadata, damage, key):
    damaged = deepcopy(metadata)
    damage(damaged)
    with pytest.raises(DamagedMetadata, match=f'no valid "{key}'):
        read_module("default", damaged)
