"""`python -m usmp_solver`: what it prints and writes, and how it ends."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from usmp_solver import read_csv
from usmp_solver.__main__ import main

IN = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"
PROVED = "buffers are placed; the plan is optimal: proved.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(IN)


def failed(capfd, *arguments: str) -> str:
    """The message with which the command ends."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 1
    out, err = capfd.readouterr()
    assert out == "" and err.startswith("python -m usmp_solver: ") and err.count("\n") == 1
    return err.removeprefix("python -m usmp_solver: ").removesuffix("\n")


def test_a_plan_within_a_capacity(capfd):
    assert main(["in.csv", "--capacity", "0xc", "-o", "out.csv"]) == 0
    assert capfd.readouterr().out == f"memory: peak 12 bytes, lower bound 12 bytes\n5 {PROVED}"
    assert sorted(os.listdir()) == ["in.csv", "out.csv"]
    assert Path("out.csv").stat().st_mode & 0o777 == Path("in.csv").stat().st_mode & 0o777
    planned = read_csv("out.csv", 12).problem
    assert planned.fixed_offsets.min() == 0
    assert (planned.fixed_offsets + planned.sizes).max() == 12


def test_stdin_and_several_pools(capfd, monkeypatch):
    data = b"id,lower,upper,size,pool\na,0,2,8,sram|flash\nb,0,2,8,sram|flash\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["-", "--capacity=sram=8", "--capacity=flash=64", "--algorithm=exact"]) == 0
    assert capfd.readouterr().out == (
        "sram: peak 8 bytes, lower bound 8 bytes\nflash: peak 8 bytes, lower bound 8 bytes\n"
        f"2 {PROVED}"
    )


def test_what_pytorch_recorded(capfd):
    events = [
        {"action": "segment_alloc", "addr": 0, "size": 4096},
        {"action": "alloc", "addr": 0, "size": 100},
    ]
    Path("s.json").write_text(json.dumps({"device_traces": [events]}))
    assert main(["s.json", "-o", "plan.csv"]) == 0
    assert capfd.readouterr().out == (
        "device0: peak 512 bytes, lower bound 512 bytes\n"
        "device0, as recorded: at most 100 bytes were live, and 4096 reserved.\n"
        f"1 {PROVED}"
    )
    assert Path("plan.csv").read_text() == (
        "id,lower,upper,size,alignment,offset\nalloc1,1,3,512,512,0\n"
    )


def test_what_does_not_fit(capfd):
    assert failed(capfd, "in.csv", "--capacity=8", "-o", "out.csv") == (
        "in.csv: the buffers do not fit into the capacity; --capacity memory=12 is needed; there "
        "is no space for b1 (line 2, 4 bytes), b3 (line 4, 4 bytes), b5 (line 6, 4 bytes)"
    )
    assert os.listdir() == ["in.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv"], "none.csv: No such file or directory"),
        (["in.csv", "-o", "none/out.csv"], "{folder}/none/out.csv: No such file or directory"),
        (["in.csv", "-o", "in.csv"], "in.csv: the plan would replace the buffers"),
        (
            ["in.csv", "--capacity=much"],
            "--capacity=much: write it as BYTES or POOL=BYTES, such as 1000 or sram=0x400",
        ),
        (
            ["in.csv", "--capacity=4", "--capacity=5"],
            "--capacity: give one number, or one for each pool by its name",
        ),
        (["in.csv", "--time-budget=0"], "time_budget must be more than 0, not 0.0"),
        (["in.csv", "--capacity=-1"], 'pool "memory": a limit of -1 bytes cannot be'),
        ([], "the following arguments are required: file"),
    ],
)
def test_errors(arguments, message, capfd):
    assert failed(capfd, *arguments) == message.format(folder=os.getcwd())


def test_names_of_a_file_move_no_cursor(capfd):
    Path("in.csv").write_text("id,lower,upper,size\na,0,1,4\n\x1b[2Ja,0,1,x\n")
    assert failed(capfd, "in.csv") == (
        'in.csv, line 3, buffer "?[2Ja": size is "x"; write a whole number'
    )


def test_an_interrupt_ends_it(capfd, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("usmp_solver.__main__.solve", interrupted)
    assert main(["in.csv"]) == 130
    assert capfd.readouterr() == ("", "python -m usmp_solver: interrupted\n")
