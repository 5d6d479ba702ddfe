"""`tvmc explore`: the same results on any number of processes, on a cluster, and in two goes."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from support import levels
from support.children import wait_until
from support.interrupted_commands import ended_by
from support.small_digits import small_digits
from usmp.driver.tvmc import main

pytestmark = pytest.mark.process

POOL = "--usmp-workspace-pools=sram --usmp-workspace-pool-sram=size=5"
OPTIONS = (
    *("--vary", "workspace-io=0,1"),
    *("--config", "any=--target-c-mcpu=cortex-m4", "--config", f"small={POOL}"),
)


@pytest.fixture(scope="module")
def digits(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "digits.tflite"
    path.write_bytes(small_digits())
    return path


@pytest.fixture(scope="module")
def kept(tmp_path_factory, digits) -> Path:
    """What two processes write of four configurations."""
    path = tmp_path_factory.mktemp("kept") / "sweep.json"
    assert main(["explore", str(digits), *OPTIONS, "-j2", "-q", "-o", str(path)]) == 0
    return path


@pytest.fixture
def sweep(kept):
    return json.loads(kept.read_text())


def test_results(sweep):
    assert sweep["complete"]
    rows = sweep["configurations"]
    assert [row["number"] for row in rows] == list(range(1, 5))
    ram = [(row["name"], row["outcome"], row["ram_bytes"]) for row in rows]
    assert ram == [
        ("any", "built", 84),
        ("any", "built", 74),
        *[("small", "does not fit", None)] * 2,
    ]
    # In the application's memory: a digit of 64 bytes, ten probabilities.
    assert [row["io_bytes"] for row in rows[:2]] == [74, 0]
    assert {row["constant_bytes"] for row in rows[:2]} == {1276}
    # In tests/python/exploration/test_code_size.py, what the code takes.
    assert rows[0]["instructions"] == rows[1]["instructions"] > rows[0]["macs"] == 640
    assert [row["reason"] for row in rows[2:]] == [
        f"at least {needed} bytes are needed, and there are 5" for needed in (10, 64)
    ]


@pytest.mark.slow
def test_commands_build_what_is_said(sweep, tvmc):
    row = sweep["configurations"][1]
    program, command, *arguments = shlex.split(row["command"])
    assert (program, command) == ("tvmc", "compile")
    plan = json.loads(tvmc("plan", *arguments, "--format=json").stdout)
    assert plan["ram"]["size_bytes"] == row["ram_bytes"] == 74


@pytest.mark.slow
def test_interrupted_and_continued(kept, digits, tmp_path, tvmc, no_workers):
    path = tmp_path / "sweep.json"
    arguments = ("explore", digits, *OPTIONS, "-j1", "-q", "-o", path)

    def has_some(process: subprocess.Popen[str]) -> None:
        wait_until(process, path.exists)

    ended = ended_by(arguments, tmp_path, has_some, signal.SIGINT)
    kept_line, line = ended.stderr.splitlines()
    done = int(kept_line.removeprefix("tvmc: ").split()[0])
    assert kept_line.endswith(
        f" of 4 configurations are done, and kept in {path}; the same command goes on"
    )
    assert (line, ended.status, ended.stdout) == ("tvmc: interrupted", 130, "")
    assert (ended.temporary, ended.processes) == ([], [])
    partly = json.loads(path.read_text())
    assert not partly["complete"]
    assert len(partly["configurations"]) == done < 4
    again = tvmc(*arguments)
    assert (again.status, again.stdout, again.stderr) == (0, "", "")
    assert path.read_bytes() == kept.read_bytes()


@pytest.mark.slow
def test_cluster(kept, digits, tmp_path):
    """Workers that are spoken to as those of other computers; in a long run, in processes."""
    distributed = pytest.importorskip("distributed")
    path = tmp_path / "sweep.json"
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=2,
        processes=levels.is_long_run(),
        protocol="tcp://",
        dashboard_address=None,
        local_directory=str(tmp_path),
    ) as cluster:
        command = ("explore", str(digits), *OPTIONS, "-q", "-o", str(path))
        assert main([*command, "--scheduler", cluster.scheduler_address]) == 0
    assert path.read_bytes() == kept.read_bytes()


@pytest.fixture
def done(kept, digits, tvmc):
    """Run the command again, with nothing left to do."""
    before = kept.read_bytes()
    yield lambda *more: tvmc("explore", digits, *OPTIONS, "-o", kept, *more)
    assert kept.read_bytes() == before


def test_what_is_done_is_shown_again(done, kept):
    outcome = done()
    assert outcome.stderr == f"{kept}: 4 of 4 are done\n"
    assert outcome.stdout.startswith("4 of 4 configurations of digits.tflite")
    assert done("-q").stdout == done("-q").stderr == ""
    assert done("-q", "--format=json").stdout == kept.read_text()
    assert len(done("-q", "--format=csv").stdout.splitlines()) == 5
    assert "| best |" in done("-q", "--format=markdown").stdout


@pytest.mark.slow
def test_plot(done):
    pytest.importorskip("vl_convert")
    assert done("-q", "--plot=sweep.svg").status == 0
    assert Path("sweep.svg").read_text().startswith("<svg")


def test_limits(kept, digits, tvmc):
    copy = Path("copy.json")
    copy.write_bytes(kept.read_bytes())
    tvmc("explore", digits, *OPTIONS, "-q", "-o", copy, "--max-ram=80", "--max-flash=1M")
    rows = json.loads(copy.read_text())["configurations"]
    assert [row["status"] for row in rows[:2]] == ["over a limit", "best"]


def test_file_of_another_model(kept, small_model, refused):
    assert refused("explore", small_model, *OPTIONS, "-o", kept).startswith(
        f"{kept} is of other files: digits.tflite (e851a7fa), not small.tflite ("
    )


def test_model_that_cannot_be_read(refused, tmp_path, no_workers):
    path = tmp_path / "model.tflite"
    path.write_bytes(b"no model")
    options = ("--vary=optimize=ram,speed", "-j1", "-o", "sweep.json")
    assert refused("explore", path, *options).startswith(f"each configuration is refused: {path}: ")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--jobs=0"], "argument -j/--jobs: must be from 1 to 1024, not 0"),
        (
            ["--max-ram=much"],
            "argument --max-ram: must be bytes, such as 4096, 0x400 or 64K, not much",
        ),
        (["--plot=a.gif"], "--plot a.gif: a plot ends in .svg, .png, .html"),
        (["--plot=a.svg", "-o", "a.svg"], "a.svg: the plot would overwrite the results"),
        (["-o", "no/sweep.json"], "no/sweep.json: cannot be written (No such file or directory)"),
        (["--scheduler=x", "-j2"], "--jobs is about this computer; the cluster of --scheduler"),
        (["--scheduler=x", "--extension=e.py"], "--extension cannot be sent to a cluster"),
        (["--export-state-layout=x"], "--export-state-layout is for tvmc compile and tvmc plan"),
    ],
)
def test_refused(refused, digits, options, reason):
    assert refused("explore", digits, *options).startswith(reason)
