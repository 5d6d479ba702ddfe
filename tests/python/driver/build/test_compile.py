"""`tvmc compile`: options, the table, and where the archive may lie."""

from __future__ import annotations

import json
import os
import tarfile
from itertools import pairwise
from pathlib import Path

import pytest

from support.tflite_file import one_operator_model
from usmp import reference_build
from usmp.reference_build import ReferenceBuild

GOOD = b"an archive that must survive"


def metadata_of(archive: Path) -> dict:
    with tarfile.open(archive) as tar:
        return json.load(tar.extractfile("./metadata.json"))["modules"]


COMPARED = ["What was compared", "decision taken bytes not taken"]
INTERLEAVED = [
    "These 208 bytes fit in 192, since they overlap: an operator writes its output "
    "where it has read its input for the last time.",
    "Without overlap (--disabled-pass=OverlapInputsAndOutputs) the buffers of the pool would need "
    "at least 208 bytes in this order of operators.",
    *COMPARED,
    "operators that run conv2d to conv2d1 (2, 192 one operator after the",
    "interleaved by rows) other: 384 (larger)",
    "inputs and outputs in provided by the in the workspace: 272",
    "the workspace application (not asked)",
    "RAM 448 bytes = workspace 192 + inputs and outputs 256, without the stack.",
    "Inputs and outputs are provided by the application; --workspace-io "
    "(tir.usmp.use_workspace_io=1) plans them too: RAM 272 bytes.",
]
ONE_AFTER_THE_OTHER = [
    "These 448 bytes fit in 384, since they overlap: an operator writes its output "
    "where it has read its input for the last time.",
    "Without overlap (--disabled-pass=OverlapInputsAndOutputs) the buffers of the pool would need "
    "at least 448 bytes in this order of operators.",
    *COMPARED,
    "tiles of operators optimize=ram, about 384 optimize=balanced or",
    "57290 instructions speed, about 56318",
    "instructions: 400",
    "(larger)",
    "inputs and outputs in provided by the in the workspace: 400",
    "the workspace application (not asked)",
    "RAM 640 bytes = workspace 384 + inputs and outputs 256, without the stack.",
    "Inputs and outputs are provided by the application; --workspace-io "
    "(tir.usmp.use_workspace_io=1) plans them too: RAM 400 bytes.",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("streaming", "pressure", "peak", "text"),
    [(1, 208, 192, INTERLEAVED), (0, 448, 384, ONE_AFTER_THE_OTHER)],
    ids=["interleaved", "one after the other"],
)
def test_summary(tvmc, convolutions, streaming, pressure, peak, text):
    at = f"{'operators 0 CONV_2D, 1' if streaming else 'operator 1'} CONV_2D (4x4x4)"
    disabled = [] if streaming else ["--disabled-pass=StreamOperators"]
    outcome = tvmc("compile", convolutions, "-o", "out.tar", *disabled)
    assert (outcome.status, outcome.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in outcome.stdout.splitlines()]
    rows = [line for line in lines if line and set(line) != {"─"}]
    pools = {p["kind"]: p for p in metadata_of(Path("out.tar"))["default"]["memory"]["pools"]}
    workspace, constants = pools["workspace"], pools["constant"]
    assert (workspace["memory_pressure_bytes"], workspace["peak_bytes"]) == (pressure, peak)
    live = [b for b in workspace["buffers"] if b["name"] in workspace["live_at_peak"]]
    live.sort(key=lambda b: b["offset"])
    sizes = {buffer["name"]: buffer["size"] for buffer in live}
    overwrites = {
        b["name"]: [
            f" {overlap['shared']} of {sizes[name]} bytes of {name}"
            for name, overlap in b["overlaps"].items()
            if name in sizes
        ]
        for b in live
    }
    size, least = constants["peak_bytes"], constants["memory_pressure_bytes"]
    assert rows == [
        "Memory of convolutions (auto)",
        "pool kind peak bytes lower bound ratio optimal",
        f"global_workspace workspace {peak} {peak} 1.000 yes",
        f"global_const_workspace constant {size} {least} 1.000 yes",
        f"Peak of global_workspace at {at}.",
        "Live at the peak of global_workspace",
        "buffer offset bytes overwrites",
        *(f"{b['name']} {b['offset']} {b['size']}{''.join(overwrites[b['name']])}" for b in live),
        *text,
        f"Flash: constants {size} bytes, and the code once it is compiled.",
    ]


def test_options_reach_the_archive(tvmc, small_model):
    outcome = tvmc(
        *("compile", small_model, "--target=c", "--executor=aot", "-f", "mlf", "-o", "out.tar"),
        *("--pass-config", "tir.usmp.use_workspace_io=1", "--module-name", "mine"),
        *("--pass-config", "tir.usmp.algorithm=greedy_by_conflicts"),
        "--executor-aot-workspace-byte-alignment=8",
    )
    assert outcome.status == 0
    assert "provided by the application" not in outcome.stdout
    (module,) = metadata_of(Path("out.tar")).items()
    assert module[0] == "mine"
    memory = module[1]["memory"]
    assert memory["algorithm"] == "greedy_by_conflicts"
    assert [(b["name"], b["kind"]) for b in memory["pools"][0]["buffers"]] == [
        ("x", "input"),
        ("y", "output"),
    ]


@pytest.mark.slow
def test_no_sharing_shares_nothing(tvmc, convolutions):
    tvmc("compile", convolutions, "-o", "out.tar", "--usmp-algorithm=no_sharing")
    memory = metadata_of(Path("out.tar"))["default"]["memory"]
    (pool,) = (p for p in memory["pools"] if p["kind"] == "workspace")
    assert memory["algorithm"] == "no_sharing"
    spans = sorted((b["offset"], b["offset"] + b["size"]) for b in pool["buffers"])
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_output_is_module_tar_by_default(tvmc, small_model):
    tvmc("compile", small_model)
    assert os.listdir() == ["module.tar"]


@pytest.mark.slow
def test_same_bytes_twice(tvmc, small_model):
    tvmc("compile", small_model, "-o", "a.tar")
    tvmc("compile", small_model, "-o", "b.tar")
    assert Path("a.tar").read_bytes() == Path("b.tar").read_bytes()


def test_output_replaces_an_older_one_and_has_the_usual_mode(tvmc, small_model):
    Path("out.tar").write_bytes(GOOD)
    mask = os.umask(0o027)
    try:
        tvmc("compile", small_model, "-o", "out.tar")
    finally:
        os.umask(mask)
    assert tarfile.is_tarfile("out.tar")
    assert Path("out.tar").stat().st_mode & 0o777 == 0o640


def test_output_through_a_symbolic_link_keeps_the_link(tvmc, small_model):
    Path("real.tar").write_bytes(GOOD)
    Path("link.tar").symlink_to("real.tar")
    tvmc("compile", small_model, "-o", "link.tar")
    assert Path("link.tar").is_symlink()
    assert tarfile.is_tarfile("real.tar")


def test_output_to_a_device_leaves_the_device(tvmc, small_model):
    assert tvmc("compile", small_model, "-o", "/dev/null").status == 0
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("missing/out.tar", "No such file or directory"),
        ("folder", "Is a directory"),
        ("file/out.tar", "Not a directory"),
        ("/dev/full", "No space left on device"),
    ],
)
def test_unwritable_output(refused, small_model, output, reason):
    Path("folder").mkdir()
    Path("file").write_bytes(GOOD)
    assert refused("compile", small_model, "-o", output) == (
        f"{output}: cannot be written ({reason})"
    )
    assert Path("/dev/full").is_char_device()


def test_output_must_not_be_the_model(refused, tmp_path, small_model):
    assert refused("compile", small_model, "-o", f"../{small_model.name}") == (
        f"../{small_model.name}: the archive would overwrite the model"
    )
    assert small_model.read_bytes() == one_operator_model()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--target=cuda"],
            'target "cuda" is not supported: code is made for CPUs only; write "c" or "llvm"',
        ),
        (
            ["--target=nope"],
            'unknown target "nope". Targets: c, llvm, and names of accelerators beside one of '
            'these, as in "accel,c"',
        ),
        (["--target="], 'unknown target "". Targets: c, llvm'),
        (["--executor=vm"], 'unknown executor "vm". Executors: aot'),
        (["--runtime=go"], 'unknown runtime "go". The C needs none. Runtimes: crt, cpp'),
        (["--output="], "the path for the archive is empty; name a file"),
        (["--output-format=a"], 'unknown output format "a". Formats: mlf'),
        (["--module-name="], "module_name is empty; it is the prefix of the C symbols"),
        (
            ["--executor-aot-workspace-byte-alignment=3"],
            "option workspace-byte-alignment of executor aot must be a power of two (bytes), not 3",
        ),
        (
            ["--executor-aot-constant-byte-alignment=x"],
            "argument --executor-aot-constant-byte-alignment: invalid int value: 'x'. "
            "See tvmc compile --help",
        ),
        (
            ["--pass-config", "tir.usmp.algorithm=nope"],
            "The selected USMP algorithm : nope is not defined. Algorithms: auto, exact, "
            "greedy_by_size, greedy_by_conflicts, hill_climb, no_sharing",
        ),
        (
            ["--pass-config", "tir.usmp.nope=1"],
            'unknown pass option "tir.usmp.nope". See tvmc list pass-configs for those of the '
            "planner",
        ),
        (
            ["--pass-config", "tir.usmp.enable=2"],
            "pass option tir.usmp.enable takes 0 or 1, not 2",
        ),
        (["--nope"], "unknown option --nope. See tvmc compile --help"),
        (
            ["--module=a"],
            'unknown option --module=a. Did you mean "--module-name"? See tvmc compile --help',
        ),
        (
            ["--output-f", "mlf"],
            'unknown option --output-f. Did you mean "--output-format"? See tvmc compile --help',
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_option(refused, small_model, options, message):
    Path("out.tar").write_bytes(GOOD)
    assert refused("compile", small_model, "-o", "out.tar", *options) == message


def test_unknown_custom_algorithm(refused, small_model):
    option = "tir.usmp.custom_algorithm=nope"
    assert refused("compile", small_model, "--pass-config", option).startswith(
        "The selected custom USMP algorithm : nope is not defined. "
        "Please register it as tir.usmp.algo.nope. Registered algorithms: "
    )


def test_source_date_epoch_that_is_no_time(refused, small_model, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
    assert refused("compile", small_model) == (
        "the environment variable SOURCE_DATE_EPOCH must be seconds since 1970, not today"
    )


@pytest.mark.parametrize(
    ("options", "is_there"),
    [
        ((), False),
        (("--reference",), True),
        (("--target=c -mcpu=cortex-m4",), True),
        (("--target-c-mcpu=cortex-m4", "--no-reference"), False),
        (("--board=mps2-an385",), True),
    ],
    ids=["plain", "asked", "core", "left out", "board"],
)
def test_which_archives_have_a_reference_build(tvmc, small_model, options, is_there):
    assert tvmc("compile", small_model, *options).status == 0
    (module,) = metadata_of(Path("module.tar")).values()
    assert module.get("reference") == ({"file": "reference/default.tar.bz2"} if is_there else None)


def test_the_reason_why_there_is_no_reference_build(tvmc, small_model, monkeypatch):
    """It is shown, and the archive is written."""
    made = ReferenceBuild({"unavailable": "it cannot be built: \x1b[31mno"})
    monkeypatch.setattr(reference_build, "_reference_build", lambda *_: made)
    outcome = tvmc("compile", small_model, "--reference")
    assert (outcome.status, outcome.stderr) == (0, "")
    (line,) = (line for line in outcome.stdout.splitlines() if "reference" in line)
    assert line == "The archive has no reference build: it cannot be built: \\x1b[31mno."
