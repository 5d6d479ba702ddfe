"""`tvmc` and state: a pool of its own."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from support.quantized_models.variables import VECTOR, delay

RANDOM = "random"


@pytest.fixture
def model(tmp_path) -> Path:
    """A model whose output is the input of the run before."""
    path = tmp_path / "delay.tflite"
    path.write_bytes(delay(VECTOR, RANDOM))
    return path


def memory_of(archive: str) -> dict:
    with tarfile.open(archive) as tar:
        (module,) = json.load(tar.extractfile("./metadata.json"))["modules"].values()
    return module["memory"]


def kinds(memory: dict) -> dict[str, set[str]]:
    return {pool["name"]: {b["kind"] for b in pool["buffers"]} for pool in memory["pools"]}


def test_a_pool_that_no_list_has(tvmc, model):
    flags = ["--state-pool", "backup", "--usmp-workspace-pool-backup=size=64;section=.backup"]
    assert tvmc("compile", model, "--workspace-io", *flags, "-o", "m.tar").status == 0
    memory = memory_of("m.tar")
    assert kinds(memory)["backup"] == {"state"}
    assert "state" not in kinds(memory)["global_workspace"]
    assert {p["name"]: p["size_hint_bytes"] for p in memory["pools"]}["backup"] == 64
    with tarfile.open("m.tar") as tar:
        header = tar.extractfile("./codegen/host/include/tvmgen_default.h").read()
    assert b'__attribute__((section(".backup"), aligned(16)))' in header


def test_a_pool_of_the_list(tvmc, model):
    flags = ["--state-pool=b", "--workspace-pools=a,b", "--workspace-pools-internal=b"]
    plan = json.loads(tvmc("plan", model, "--workspace-io", *flags, "--format=json").stdout)
    assert kinds(plan)["b"] == {"state"}
    assert kinds(plan)["a"] == {"input", "output"}


def test_a_pool_that_is_too_small(refused, model):
    flags = ["--state-pool=backup", "--usmp-workspace-pool-backup=size=16"]
    message = refused("compile", model, *flags)
    assert 'The smallest size_hint_bytes with which a plan fits: 17 for pool "backup"' in message


def test_a_pool_that_is_not_needed(tvmc, small_model):
    outcome = tvmc("compile", small_model, "--state-pool=backup")
    assert "Pool backup is not needed, so the header does not have it.\n" in outcome.stdout
