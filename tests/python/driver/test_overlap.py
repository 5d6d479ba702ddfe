"""What the commands say of live buffers that overlap, and the options that say whether they may."""

from __future__ import annotations

import csv
import io
import json

import pytest

import usmp

pytestmark = pytest.mark.usefixtures("one_session")

IO = "--workspace-io"
NO_OVERLAP = "--disabled-pass=OverlapInputsAndOutputs"


def workspace_of(tvmc, *arguments) -> dict:
    plan = json.loads(tvmc("plan", *arguments, "--format=json").stdout)
    (pool,) = (pool for pool in plan["pools"] if pool["kind"] == "workspace")
    return pool


def overlaps(pool) -> dict[str, list[str]]:
    return {b["name"]: list(b["overlaps"]) for b in pool["buffers"] if b["overlaps"]}


@pytest.mark.slow
def test_overlap_in_json_csv_and_table(tvmc, convolutions):
    pool = workspace_of(tvmc, convolutions, IO)
    by_name = {buffer["name"]: buffer for buffer in pool["buffers"]}
    assert pool["peak_bytes"] == pool["lower_bound_bytes"] < pool["memory_pressure_bytes"] == 336
    rows = csv.DictReader(io.StringIO(tvmc("plan", convolutions, IO, "--format=csv").stdout))
    in_csv = {row["name"]: row["overlaps"].split() for row in rows if row["overlaps"]}
    assert in_csv == {
        output: [f"{dying}:{by_name[output]['overlaps'][dying]['shared']}" for dying in names]
        for output, names in overlaps(pool).items()
    }
    live = set(pool["live_at_peak"])
    (output, dying), *_ = [
        (output, dying)
        for output, names in overlaps(pool).items()
        for dying in names
        if {output, dying} <= live
    ]
    shared = by_name[output]["overlaps"][dying]["shared"]
    table = " ".join(tvmc("plan", convolutions, IO).stdout.split())
    assert f"{shared} of {by_name[dying]['size']} bytes of {dying}" in table
    assert "OverlapInputsAndOutputs) the buffers of the pool would need at least 336 b" in table


@pytest.mark.slow
def test_what_is_told_holds(tvmc, convolutions):
    """Every output lies at least the safe distance below what it overwrites, and shares bytes."""
    pool = workspace_of(tvmc, convolutions, IO)
    by_name = {buffer["name"]: buffer for buffer in pool["buffers"]}
    pairs = [(by_name[o], by_name[d]) for o, names in overlaps(pool).items() for d in names]
    assert pairs
    for output, dying in pairs:
        told = output["overlaps"][dying["name"]]
        assert dying["offset"] - output["offset"] >= told["distance"]
        ends = [b["offset"] + b["size"] for b in (output, dying)]
        assert told["shared"] == min(ends) - max(output["offset"], dying["offset"]) > 0


@pytest.mark.slow
def test_without_overlap(tvmc, convolutions):
    pool = workspace_of(tvmc, convolutions, IO, NO_OVERLAP)
    assert (pool["peak_bytes"], pool["memory_pressure_bytes"], overlaps(pool)) == (336, 336, {})
    table = tvmc("plan", convolutions, IO, NO_OVERLAP).stdout
    assert "overwrites" not in table
    assert "overlap" not in table


@pytest.mark.slow
def test_nothing_is_shared_with_no_sharing(tvmc, convolutions):
    pool = workspace_of(tvmc, convolutions, IO, "--usmp-algorithm=no_sharing")
    assert overlaps(pool) == {}
    assert pool["peak_bytes"] >= sum(buffer["size"] for buffer in pool["buffers"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ["--pass-config=tir.usmp.preserve_inputs=1"],
        ["--usmp-preserve-inputs"],
        ["--usmp-preserve-inputs", "--pass-config=tir.usmp.preserve_inputs=1"],
        ["--usmp-preserve-inputs", "--pass-config=tir.usmp.preserve_inputs=True"],
    ],
)
def test_preserved_inputs_live_to_the_end(tvmc, convolutions, options):
    kept = workspace_of(tvmc, convolutions, IO, *options)
    end = max(stop for buffer in kept["buffers"] for _, stop in buffer["live_ranges"])
    (image,) = (buffer for buffer in kept["buffers"] if buffer["kind"] == "input")
    assert image["live_ranges"] == [[0, end]]
    assert not any(image["name"] in names for names in overlaps(kept).values())


@pytest.mark.slow
def test_inputs_in_the_memory_of_a_board_are_preserved_too(tvmc, convolutions):
    plan = tvmc(
        "plan", convolutions, "--board=mps2-an385", "--usmp-preserve-inputs", "--format=csv"
    )
    rows = list(csv.DictReader(io.StringIO(plan.stdout)))
    (image,) = (row for row in rows if row["kind"] == "input")
    last = max(int(row["live_ranges"].split("-")[-1]) for row in rows)
    assert image["live_ranges"] == f"0-{last}"


@pytest.mark.slow
def test_inputs_of_the_application_need_no_option(tvmc, convolutions):
    """They are never written; who asks for it anyway gets the same C and the same plan."""
    tvmc("compile", convolutions, "-o", "a.tar")
    assert tvmc("compile", convolutions, "--usmp-preserve-inputs", "-o", "b.tar").status == 0
    a, b = (usmp.load_archive(path) for path in ("a.tar", "b.tar"))
    code = {path: text for path, text in a.files.items() if path.startswith("codegen/")}
    assert code == {path: text for path, text in b.files.items() if path.startswith("codegen/")}
    pools = [archive.module().metadata["memory"]["pools"] for archive in (a, b)]
    assert pools[0] == pools[1]
    assert len(code) == 2


def test_preserved_inputs_belong_to_a_model(refused):
    assert refused("plan", "--buffers", "in.csv", "--usmp-preserve-inputs") == (
        "--usmp-preserve-inputs belongs to a model, and --buffers plans without one"
    )
