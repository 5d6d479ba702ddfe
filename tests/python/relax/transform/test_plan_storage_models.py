"""PlanStorage on models of benchmarks/tvm_storage.py."""

from __future__ import annotations

import pytest
from tvm import relax

from support.encoder import WIDTH, encoder
from support.lazy import lazy
from support.storage_plans import allocated, lowered_as_fused, planned
from support.storage_runs import run_main
from support.storages import machine_of
from usmp.relax.transform import PlanStorage

decoder = lazy("support.vm_models.decoder")


def two_layers():
    """More of them are equal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("support.vm_models.decoder.LAYERS", 2)
        return decoder.decoder()


MODELS = {
    "decoder": (two_layers, decoder.run, 0.95),
    "encoder": (lambda: encoder(longest=128), lambda machine: run_main(machine, 100, WIDTH), 0.5),
}
"""Each with what runs it, and the part of TVM's bytes that it takes at most."""


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_takes_a_part_of_the_bytes_and_computes_the_same(name):
    build, run, most = MODELS[name]
    before = lowered_as_fused(build())
    plans = [
        planned(before, planner)
        for planner in (relax.transform.StaticPlanBlockMemory(), PlanStorage())
    ]
    theirs, ours = map(allocated, plans)
    assert ours.storage_bytes <= most * theirs.storage_bytes
    assert ours.total_bytes < theirs.total_bytes
    expected, found = ([each.tobytes() for each in run(machine_of(plan))] for plan in plans)
    assert found == expected
