"""`tvmc check`: whether a model fits, and what the exit status says."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import usmp
from conftest import ROOT
from support.compilers import require
from usmp.boards import board as boards
from usmp.driver.inspect import check_builds, check_suggestions
from usmp.driver.options.build_words import parse_build
from usmp.driver.status import NOT_WITHIN

pytestmark = pytest.mark.usefixtures("one_session")

DIGITS = ROOT / "examples/digits/digits_int8.tflite"


@pytest.fixture(scope="module")
def archive(tmp_path_factory, small_digits_model):
    path = tmp_path_factory.mktemp("check") / "m4.tar"
    mod = usmp.import_model(small_digits_model)
    factory = usmp.build(mod, "c -mcpu=cortex-m4", compare_workspace_io=True)
    factory.export_model_library_format(path)
    return path


@pytest.fixture
def without_compilers(monkeypatch):
    monkeypatch.setattr(check_builds.shutil, "which", lambda program: None)


def checked(tvmc, *arguments):
    outcome = tvmc("check", *arguments, "--format=json")
    document = json.loads(outcome.stdout)
    assert document["fits"] == (outcome.status == 0)
    # A log of CI has a line for each place that the model does not fit.
    lines = outcome.stderr.splitlines()
    named = [target["name"] for target in document["targets"] if not target["fits"]]
    assert len(lines) == (0 if document["fits"] else len(named))
    for line, name in zip(lines, named, strict=False):
        assert line.startswith("tvmc: the model does not fit ")
        assert name in line
    assert outcome.status in (0, NOT_WITHIN)
    return {target["name"]: target for target in document["targets"]}, outcome.status


@pytest.mark.slow
def test_limits_to_the_byte(tvmc, archive, without_compilers):
    targets, status = checked(tvmc, archive, "--max-ram=1K", "--max-flash=64K")
    assert targets["limits"]["core"] == "cortex-m4"
    ram, flash = targets["limits"]["ram"], targets["limits"]["flash"]
    assert status == 0
    assert ram["parts"] == {"workspace": 10, "inputs and outputs": 74}
    assert flash["parts"] == {"constants": 1276}
    assert not ram["all_counted"]
    assert not flash["all_counted"]
    needed = ram["needed_bytes"]
    assert checked(tvmc, archive, f"--max-ram={needed}")[1] == 0
    targets, status = checked(tvmc, archive, f"--max-ram={needed - 1}", "--max-flash=1275")
    assert status == NOT_WITHIN
    missing = [targets["limits"][what]["missing_bytes"] for what in ("ram", "flash")]
    assert missing == [1, 1]


@pytest.mark.slow
def test_more_time_may_help(tvmc, without_compilers):
    """Without time, 1298 bytes were not looked for."""
    targets, status = checked(tvmc, DIGITS, "--max-ram=1298", "--usmp-time-budget=1ms")
    assert status == NOT_WITHIN
    notes = " ".join(targets["limits"]["notes"])
    assert "The search was ended by its time budget" in notes
    assert "No time remained to compare all" in notes
    assert "proved" not in notes


def test_code_that_is_not_counted_is_said(tvmc, archive, without_compilers):
    outcome = tvmc("check", archive, "--max-flash=64K")
    assert outcome.status == 0
    assert "Code not counted (no arm-none-eabi-gcc)." in outcome.stdout
    assert "1276+ of 64K" in outcome.stdout


@pytest.mark.slow
@pytest.mark.board
def test_code_of_llvm_for_another_machine_is_not_counted(tvmc, small_digits_model, tmp_path):
    require("arm-none-eabi-gcc")
    path = tmp_path / "aarch64.tar"
    factory = usmp.build(usmp.import_model(small_digits_model), "llvm -mtriple=aarch64-linux-gnu")
    factory.export_model_library_format(path)
    limits, status = checked(tvmc, path, "--max-flash=64K")
    assert (status, limits["limits"]["flash"]["all_counted"]) == (0, False)
    assert (
        "Code not counted: the archive has machine code for 64-bit AArch64, and arm-none-eabi-gcc "
        "links that for 32-bit ARM."
    ) in limits["limits"]["notes"]


def test_how_inputs_in_the_workspace_would_help(tvmc, archive, without_compilers):
    targets, _ = checked(tvmc, archive, "--max-ram=80", "--board-memory=tiny:ram=70,flash=1M")
    advice = {name: target["notes"][0] for name, target in targets.items()}
    assert advice["limits"] == "With --workspace-io it takes 74 bytes of RAM, and fits."
    assert advice["tiny"].endswith("takes 74 bytes of RAM, and does not fit either.")


@pytest.mark.slow
def test_the_option_that_makes_it_fit(tvmc, small_digits_model, without_compilers):
    """The first that does, with a command that compiles the model so."""
    files = ["check", small_digits_model]
    targets, status = checked(tvmc, *files[1:], "--max-ram=80")
    found = targets["limits"]["fitting"]
    assert (status, found["fits"], found["flags"]) == (NOT_WITHIN, True, "--workspace-io")
    assert found["ram"]["missing_bytes"] == 0
    assert found["tried"] == ["--workspace-io"]
    _, compiler, *words = shlex.split(found["command"])
    assert (compiler, words[0]) == ("compile", str(small_digits_model))
    assert tvmc(*files, *words[1:], "--max-ram=80").status == 0
    text = tvmc(*files, "--max-ram=80").stdout
    rest = 80 - found["ram"]["needed_bytes"]
    assert f"It fits with --workspace-io: RAM {80 - rest} bytes, {rest} below the limit." in text
    assert f"\n  {found['command']}\n" in text


@pytest.mark.slow
def test_what_is_closest_if_nothing_fits(tvmc, small_digits_model, without_compilers):
    targets, status = checked(tvmc, small_digits_model, "--max-ram=9")
    found = targets["limits"]["fitting"]
    assert (status, found["fits"]) == (NOT_WITHIN, False)
    assert 0 < found["ram"]["missing_bytes"] < targets["limits"]["ram"]["missing_bytes"]
    assert len(found["tried"]) > 1
    targets, _ = checked(tvmc, small_digits_model, "--max-ram=9", "--no-suggestions")
    assert targets["limits"]["fitting"] is None


def test_flags_are_added_to_those_of_the_user():
    options = parse_build(
        ["--stream-input=x", "--pass-config=tir.usmp.optimize=speed", "--io-type=int8"]
    )
    found = check_suggestions._with_flag(
        options, "--stream-input y --pass-config tir.usmp.optimize=ram"
    )
    assert (found.stream_input, found.pass_config, found.io_type) == (
        ["x", "y"],
        ["tir.usmp.optimize=ram"],
        "int8",
    )


def test_all_that_is_named_must_fit_and_of_all_boards_one(tvmc, archive, without_compilers):
    tiny = "--board-memory=tiny:ram=80,flash=1M"
    assert checked(tvmc, archive, "--boards=nrf52840")[1] == 0
    assert checked(tvmc, archive, "--boards=nrf52840,kl25z", tiny)[1] == NOT_WITHIN
    targets, status = checked(tvmc, archive, "--boards=all")
    assert status == 0
    assert {"mps2-an385", "nrf52840", "stm32h743zi"} <= set(targets)
    assert checked(tvmc, archive, "--boards=all", tiny)[1] == NOT_WITHIN


def test_of_all_boards_none(tvmc, archive, without_compilers, monkeypatch):
    parts = {"kl25z": replace(check_places().PARTS["kl25z"], ram_bytes=1)}
    monkeypatch.setattr(check_places(), "PARTS", parts)
    monkeypatch.setattr(check_places(), "BOARDS", {})
    assert checked(tvmc, archive, "--boards=all")[1] == NOT_WITHIN


def check_places():
    from usmp.driver.inspect import check_places

    return check_places


@pytest.mark.slow
@pytest.mark.board
def test_a_model_is_built_and_compiled_for_each_core(tvmc, small_digits_model):
    require("arm-none-eabi-gcc")
    targets, status = checked(
        tvmc, small_digits_model, "--boards=nrf52840,nrf52832,raspberry-pi-pico"
    )
    assert status == 0
    code = {name: target["flash"]["parts"]["code"] for name, target in targets.items()}
    assert code["nrf52840"] == code["nrf52832"] < code["raspberry-pi-pico"]
    assert any("-mcpu=cortex-m4" in note for note in targets["nrf52832"]["notes"])
    for target in targets.values():
        assert 0 < target["ram"]["parts"]["stack"] < 1000
        assert target["ram"]["all_counted"]


@pytest.mark.slow
@pytest.mark.board
def test_a_board_gets_a_whole_program(tvmc, small_digits_model):
    require("arm-none-eabi-gcc")
    require("make")
    targets, status = checked(tvmc, small_digits_model, "--boards=mps2-an385")
    (target,) = targets.values()
    assert status == 0
    assert target["ram"]["parts"]["stack"] == boards.STACK_BYTES
    assert target["ram"]["available_bytes"] == 20 * boards.MEBIBYTE
    assert target["flash"]["parts"]["constants"] == 1276


@pytest.mark.slow
def test_a_board_whose_memories_are_too_small(
    tvmc, small_digits_model, without_compilers, monkeypatch
):
    board = boards.board_named("mps2-an385")
    stack = boards.STACK_BYTES + boards.DATA_RESERVE_BYTES
    memories = [
        memory if memory.is_read_only else replace(memory, size_bytes=stack + 20)
        for memory in board.memories
    ]
    tight = replace(board, memories=tuple(memories), workspace_memories=("sram",))
    monkeypatch.setattr(boards, "BOARDS", (tight,))
    targets, status = checked(tvmc, small_digits_model, "--boards=mps2-an385")
    assert status == NOT_WITHIN
    assert "mps2-an385" in targets["mps2-an385"]["why_not"]
    assert "sram" in targets["mps2-an385"]["why_not"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name what the model has to fit: --max-ram"),
        (
            ["--max-ram=x"],
            "argument --max-ram: must be bytes, such as 4096, 0x400 or 64K, not x",
        ),
        (
            ["--boards=nope"],
            '--boards: unknown board "nope". See tvmc list boards and tvmc list parts',
        ),
        (["--boards="], '--boards: unknown board ""'),
        (["--boards=kl25z,kl25z"], '"kl25z" is named twice'),
        (["--board-memory=a"], "--board-memory a: a name, ram= and flash= are needed"),
        (["--board-memory=a:ram=1;flash=1"], "--board-memory a:ram=1;flash=1: separate ram=,"),
        (["--board-memory=:ram=1,flash=1"], "--board-memory :ram=1,flash=1: a name, ram="),
        (["--board-memory=a:ram=1K"], "--board-memory a:ram=1K: a name, ram= and flash= are"),
        (["--board-memory=a:ram=1K,flash=x"], "--board-memory a:ram=1K,flash=x: x is no number of"),
        (["--board-memory=a:ram=1,ram=2,flash=1"], '--board-memory a:ram=1,ram=2,flash=1: "ram=2"'),
        (
            ["--board-memory=a:ram=1,flash=1,core=z80"],
            '--board-memory a:ram=1,flash=1,core=z80: unknown core "z80". Cores: ',
        ),
        (["--max-ram=1K", "--board=mps2-an385"], "--board says what to build for; name boards to"),
        (["--max-ram=1K", "--export-state-layout=x"], "--export-state-layout belongs to"),
        (["--max-ram=1K", "-o", "."], ".: cannot be written (Is a directory)"),
    ],
)
def test_usage(refused, small_digits_model, arguments, message):
    assert refused("check", small_digits_model, *arguments).startswith(message)


def test_options_of_builds_with_an_archive(refused, archive):
    message = refused("check", archive, "--max-ram=1K", "--workspace-io")
    assert message == f"--workspace-io belongs to a model, and {archive} is planned already"


def test_a_file(tvmc, archive, without_compilers):
    outcome = tvmc("check", archive, "--max-ram=1", "-o", "verdict.md")
    assert (outcome.status, outcome.stdout) == (NOT_WITHIN, "")
    shown = tvmc("check", archive, "--max-ram=1", "--format=markdown").stdout
    assert Path("verdict.md").read_text() == shown
    assert "| no | 84+ of 1 |" in shown
