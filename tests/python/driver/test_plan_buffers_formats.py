"""`tvmc plan --buffers` with files of OmniMalloc and PyTorch, which it knows by their content."""

from __future__ import annotations

import pickle

import pytest

CLOCKS = "id,lower,upper,size\na,0:0,1:0,4\nb,1:0,1:1,4\nc,0:0,0:2,4\n"
EVENTS = [
    {"action": "segment_alloc", "addr": 0, "size": 4096},
    {"action": "alloc", "addr": 0, "size": 1000},
    {"action": "alloc", "addr": 1024, "size": 512},
]


@pytest.fixture
def snapshot(tmp_path):
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [EVENTS]}))
    return path


def test_vector_clocks(tvmc, tmp_path):
    (tmp_path / "in.csv").write_text(CLOCKS)
    planned = tvmc("plan", "--buffers", tmp_path / "in.csv", "--format=csv")
    assert (planned.status, planned.stderr) == (0, "")
    header, *rows = planned.stdout.splitlines()
    assert header == "id,lower,upper,size,offset"
    assert [row.rpartition(",")[0] for row in rows] == CLOCKS.splitlines()[1:]
    refused = tvmc("plan", "--buffers", tmp_path / "in.csv", "--capacity=4")
    assert refused.status == 1
    assert "a capacity of 8 bytes is needed" in refused.stderr
    # They are live together at no one time.
    assert "at time" not in refused.stderr and "at any one time" not in refused.stderr


def test_what_pytorch_recorded(tvmc, snapshot):
    shown = tvmc("plan", "--buffers", snapshot)
    assert (shown.status, shown.stderr) == (0, "")
    recorded = "device0, as recorded: at most 1512 bytes were live, and 4096 reserved.\n"
    assert recorded in shown.stdout
    planned = tvmc("plan", "--buffers", snapshot, "--format=csv")
    assert planned.stdout == (
        "id,lower,upper,size,alignment,offset\nalloc1,1,4,1024,512,0\nalloc2,2,4,512,512,1024\n"
    )


def test_recordings_that_do_not_fit_or_cannot_be_read(tvmc, snapshot):
    refused = tvmc("plan", "--buffers", snapshot, "--capacity=1K")
    assert refused.status == 1
    assert "a capacity of 1536 bytes is needed" in refused.stderr
    assert "alloc1 (event 1 of device0, 1024 bytes)" in refused.stderr
    snapshot.write_bytes(b"\x80\x04cos\nsystem\n.")
    refused = tvmc("plan", "--buffers", snapshot)
    assert refused.status == 1
    assert "snapshot.pickle: byte 2 of the pickle: the opcode GLOBAL is not read" in refused.stderr
