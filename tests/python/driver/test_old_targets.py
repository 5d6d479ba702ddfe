"""Command lines of TVM 0.18's demos for Cortex-M and Ethos-U, as far as they are about targets."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from tvm.relax.backend import _ffi_api

from support.commands import message_of

AOT = """
    --runtime=crt
    --executor=aot
    --executor-aot-interface-api=c
    --executor-aot-unpacked-api=1
    --pass-config tir.disable_vectorize=1
    --output-format=mlf
""".split()
USMP = """
    --no-reference
    --pass-config tir.usmp.enable=1
    --pass-config tir.usmp.algorithm=hill_climb
    --pass-config tir.disable_storage_rewrite=1
""".split()

CMSIS_NN = (
    'tvmc: note: cmsis-nn: the C has kernels for Cortex-M itself, so "c" takes its place, with the '
    '-mcpu of either\ntvmc: note: -mcpu=cortex-m55: it is the core of "c"\n'
)
NO_EFFECT = "".join(
    f"tvmc: note: tir.{name}=1: has no effect on this code, which TVM's own lowering does not "
    "make\n"
    for name in ("disable_vectorize", "disable_storage_rewrite")
)
ETHOS_U = (
    'write "c -mcpu=cortex-m55" to run all operators on the CPU; operators on an NPU are '
    "those of an accelerator of your own (docs/accelerators.md)"
)


def targets_of(path: str) -> list[str]:
    """The targets of the module of an archive."""
    with tarfile.open(path) as tar:
        (module,) = json.load(tar.extractfile("./metadata.json"))["modules"].values()
    return module["target"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "target",
    [
        ["--target=cmsis-nn,c", "--target-cmsis-nn-mcpu=cortex-m55", "--target-c-mcpu=cortex-m55"],
        ["--target=cmsis-nn -mcpu=cortex-m55, c"],
    ],
    ids=["cmsisnn", "zephyr_cmsisnn"],
)
def test_cmsis_nn(tvmc, small_model, target):
    """The archive is that of target "c" for the core."""
    done = tvmc("compile", *target, *AOT, *USMP, small_model, "--module-name=detection")
    assert (done.status, done.stderr) == (0, NO_EFFECT + CMSIS_NN)
    ours = ["--target=c -mcpu=cortex-m55", "--usmp-algorithm=hill_climb", "-o", "ours.tar"]
    ours += ["--module-name=detection", "--no-reference"]
    assert tvmc("compile", *ours, small_model).status == 0
    assert Path("module.tar").read_bytes() == Path("ours.tar").read_bytes()
    assert targets_of("module.tar") == ["c -mcpu=cortex-m55"]


@pytest.mark.slow
def test_ethos_u(tvmc, refused, small_model):
    """Its own options, and its flags, are refused with what to write."""
    target = "--target=ethos-u -accelerator_config=ethos-u55-256, cmsis-nn, c"
    done = tvmc("compile", target, "--target-c-mcpu=cortex-m55", *AOT, small_model)
    error = f'target "ethos-u" is not supported: {ETHOS_U}'
    assert (done.status, message_of(done.stderr)) == (1, error)
    flag = "--target-ethos-u-accelerator_config=ethos-u55-256"
    cores = ["--target-cmsis-nn-mcpu=cortex-m55", "--target-c-mcpu=cortex-m55"]
    message = refused("compile", "--target=ethos-u,cmsis-nn,c", flag, *cores, *AOT, small_model)
    assert message == f"{flag}: leave it out; in --target, {ETHOS_U}"
    done = tvmc("compile", "--target=ethos-u,cmsis-nn,c", *cores, *AOT, small_model)
    assert (done.status, message_of(done.stderr)) == (1, error)
    # What the error says to do.
    core = ["--target=c -mcpu=cortex-m55", cores[0], "--no-reference"]
    assert tvmc("compile", *core, *AOT, small_model).status == 0


def test_patterns_of_its_own_for_an_old_name(tvmc, small_model):
    path = Path("patterns.py")
    path.write_text(
        "from tvm.relax.backend.pattern_registry import register_patterns\n"
        "from usmp.relax.accelerators import quantized_operator\n"
        "register_patterns([quantized_operator('ethos-u.lstm', 'lstm')])\n"
    )
    done = tvmc("compile", small_model, "--target=ethos-u,c", "--extension", path)
    _ffi_api.RemovePatterns(["ethos-u.lstm"])
    note = "tvmc: note: no operator is taken by target ethos-u: its patterns match nothing\n"
    assert (done.status, done.stderr) == (0, note)


@pytest.mark.parametrize(
    ("model", "core"), [("host", ""), ("nrf5340dk", " -mcpu=cortex-m33")], ids=["host", "nrf5340dk"]
)
def test_the_tutorial_of_tvmc_micro(tvmc, small_model, model, core):
    target = f"--target=c -keys=cpu -model={model}"
    done = tvmc("compile", small_model, target, *AOT, "--quiet", "--no-reference")
    assert (done.status, done.stderr) == (0, "")
    assert targets_of("module.tar") == [f"c{core}"]


@pytest.mark.slow
def test_flags_are_options_of_the_target(tvmc, small_model):
    flags = {"model": "nrf52840", "keys": "arm_cpu,cpu", "workspace-byte-alignment": "32"}
    given = ["--no-reference"]
    given += [part for name, value in flags.items() for part in (f"--target-c-{name}", value)]
    done = tvmc("compile", small_model, *given, "-o", "old.tar")
    assert done.status == 0
    notes = [line.split(": ")[2] for line in done.stderr.splitlines()]
    assert notes == [f"-{name}={flags[name]}" for name in flags]
    ours = ["--target=c -mcpu=cortex-m3", "--executor-aot-workspace-byte-alignment=32"]
    assert tvmc("compile", small_model, *ours, "--no-reference", "-o", "ours.tar").status == 0
    assert Path("old.tar").read_bytes() == Path("ours.tar").read_bytes()


@pytest.mark.slow
def test_pools_that_list_cmsis_nn(tvmc, small_model):
    pools = ["--workspace-pools=sram", "--workspace-pools-target-burst-bytes=sram:cmsis-nn:4"]
    listed = "--workspace-pools-targets=sram:{}"
    target = ["--target=cmsis-nn,c", "--target-c-mcpu=cortex-m55", "--no-reference"]
    for number, names in enumerate(("cmsis-nn", "c:ro,cmsis-nn", "c")):
        arguments = [*target, *pools, listed.format(names), "-o", f"{number}.tar"]
        assert tvmc("compile", small_model, *arguments).status == 0
    assert len({Path(f"{number}.tar").read_bytes() for number in range(3)}) == 1


def test_a_json_file(tvmc, refused, small_model):
    Path("target.json").write_text('{"kind": "c", "keys": ["arm_cpu"], "mcpu": "cortex-m7"}')
    done = tvmc("compile", small_model, "--target=target.json", "-q", "--no-reference")
    assert (done.status, done.stderr) == (0, "")
    assert targets_of("module.tar") == ["c -mcpu=cortex-m7"]
    assert refused("compile", small_model, "--target=no.json") == (
        "--target=no.json: the file cannot be read: No such file or directory"
    )


@pytest.mark.slow
@pytest.mark.board
def test_a_note_is_told_once(tvmc, small_model):
    """However many builds the command makes."""
    done = tvmc("check", small_model, "--target=c -keys=cpu", "--boards=nrf52840,arduino-zero")
    assert done.stderr.count("note: -keys=cpu") == 1


def test_an_option_without_quotes(refused, small_model):
    message = refused("compile", small_model, "--target=c", "-keys=cpu", "-model=host")
    assert message == (
        "unrecognized arguments: -keys=cpu -model=host. Write it within the quotes of --target, as "
        '--target="c -keys=cpu -model=host". See tvmc --help'
    )
    message = refused("compile", small_model, "--target-foo-mcpu=x")
    assert message.startswith("unknown option --target-foo-mcpu=x. Did you mean ")


@pytest.mark.cc
def test_a_note_about_configurations_that_workers_build(tvmc, small_model, no_workers):
    done = tvmc("explore", small_model, "--vary=target=c -device=x,c -mcpu=esp32", "-o", "s.json")
    assert done.status == 0
    assert [line.split(": ")[:3] for line in done.stderr.splitlines()] == [
        ["tvmc", "note", "-device=x"],
        ["tvmc", "note", "-mcpu=esp32"],
    ]
    assert "notes" not in Path("s.json").read_text()
