"""`tvmc compile --board` and `tvmc run --board`."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile

import numpy as np
import pytest

import usmp
from support.board_programs import require_board
from support.commands import message_of
from support.entry_models import INITIAL, WEIGHTS, entry_model
from support.micro import Micro
from support.small_digits import small_digits
from usmp.boards.board import board_named
from usmp.codegen.model_library_format import write_archive
from usmp.runtime import load_archive
from usmp.runtime.reference import REFERENCE

pytestmark = [pytest.mark.board, pytest.mark.usefixtures("one_session")]

BOARDS = "mps2-an385, mps2-an386, mps2-an500, mps2-an505, mps3-an547, riscv32-virt"


@pytest.fixture(scope="session")
def board_archive(tmp_path_factory, small_digits_model):
    """A model of two operators, compiled for the board with Cortex-M3."""
    require_board(board_named("mps2-an385"))
    path = tmp_path_factory.mktemp("board") / "digits.tar"
    model = usmp.import_model(small_digits_model)
    factory = usmp.build(model, board="mps2-an385", reference=True)
    factory.export_model_library_format(path)
    return path


@pytest.fixture
def small(tmp_path):
    """A model of two operators."""
    path = tmp_path / "small_digits.tflite"
    path.write_bytes(small_digits())
    return path


def faulty_archive(archive, path):
    """The archive, with C that adds 1 to its outputs."""
    files = load_archive(archive).files
    (source,) = (name for name in files if name.endswith("/default_lib0.c"))
    content = files[source]
    assert content.count(b", -31)) - 128, 127);") == 1
    files[source] = content.replace(b", -31)) - 128, 127);", b", -31)) - 127, 127);")
    write_archive(files, path)
    return path


@pytest.mark.slow
def test_compile_makes_a_project_that_make_builds_and_runs(tvmc, tmp_path, small):
    require_board(board_named("mps3-an547"))
    outcome = tvmc("compile", small, "--board", "mps3-an547", "-o", "model.tar")
    assert outcome.status == 0
    assert ["dtcm", "workspace"] in [line.split()[:2] for line in outcome.stdout.splitlines()]
    with tarfile.open("model.tar") as tar:
        tar.extractall(tmp_path / "unpacked")
    project = tmp_path / "unpacked/project"
    done = subprocess.run(
        ["make", "-C", project, "run"], check=True, capture_output=True, text=True
    )
    printed = done.stdout + done.stderr
    assert "\nstack_size 16384\n" in printed
    assert "instructions" in (project / "report.txt").read_text()
    assert len((project / "outputs.bin").read_bytes()) == 10


def test_run_reports_compares_and_prints_outputs(tvmc, board_archive):
    outcome = tvmc("run", board_archive, "--board", "mps2-an385")
    assert outcome.status == 0
    lines = outcome.stdout.splitlines()
    assert lines[0].strip() == "Memory of the program on mps2-an385"
    assert any(
        re.fullmatch(r"RAM: 76 bytes of pools, 16384 of stack, \d\d of other variables", line)
        for line in lines
    )
    assert any(line.startswith("Flash: 1276 bytes of constant pools, ") for line in lines)
    assert any(line.startswith("Instructions of a run: ") for line in lines)
    assert any(line.startswith("Stack: ") and "of 16384 bytes used" in line for line in lines)
    outputs = lines.index("probabilities: int8[1, 10]")
    assert lines[outputs - 1] == f"The outputs equal {REFERENCE}."
    assert lines[outputs:] == tvmc("run", board_archive).stdout.splitlines()


def test_outputs_go_to_a_file(tvmc, board_archive, small_digits_model, digits_images):
    images, _ = digits_images
    np.savez("in.npz", image=images[:1])
    arguments = ("--inputs", "in.npz", "--outputs", "out.npz")
    assert tvmc("run", board_archive, "--board", "mps2-an385", *arguments).status == 0
    with np.load("out.npz") as outputs:
        expected = Micro(small_digits_model).run({"image": images[:1]})
        assert np.array_equal(outputs["probabilities"], expected["probabilities"])


def test_expected_outputs(tvmc, board_archive):
    assert tvmc("run", board_archive, "-o", "expected.npz").status == 0
    outcome = tvmc("run", board_archive, "--board", "mps2-an385", "--expected", "expected.npz")
    assert outcome.status == 0
    assert "The outputs equal the expected outputs." in outcome.stdout


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"probabilities": np.full((1, 10), 5, np.int8)},
            'output "probabilities" on board mps2-an385 differs from the expected outputs: '
            "10 of 10 elements, first at [0, 0]: ",
        ),
        (
            {"probabilities": np.zeros((1, 10), np.float32)},
            'output "probabilities" on board mps2-an385 differs from the expected outputs: '
            "it is int8[1, 10], not float32[1, 10]",
        ),
        (
            {"other": np.zeros((1, 10), np.int8)},
            'the expected outputs lack output "probabilities". They have: other',
        ),
    ],
)
def test_outputs_that_are_not_as_expected(tvmc, board_archive, arrays, message):
    np.savez("expected.npz", **arrays)
    command = ("run", board_archive, "--board", "mps2-an385", "--expected", "expected.npz")
    outcome = tvmc(*command)
    assert outcome.status == 1
    assert message_of(outcome.stderr).startswith(message)


def test_without_a_compiler_for_this_host_nothing_is_compared(tvmc, board_archive, monkeypatch):
    monkeypatch.setenv("CC", "missing-compiler")
    outcome = tvmc("run", board_archive, "--board", "mps2-an385")
    assert outcome.status == 0
    assert (
        "Nothing independent was compared: C compiler missing-compiler cannot be started"
        in outcome.stdout
    )


def test_a_fault_that_this_host_shares_is_reported(tvmc, board_archive):
    """The board and this host run the same wrong C, which the reference build does not have."""
    faulty = faulty_archive(board_archive, "faulty.tar")
    outcome = tvmc("run", faulty, "--board", "mps2-an385")
    assert outcome.status == 1
    assert message_of(outcome.stderr).startswith(
        'output "probabilities" on board mps2-an385 differs from those of a build '
        "without kernels, streaming, pruning or overlap, which this host ran: "
    )


def test_an_archive_without_a_reference_is_compared_with_nothing(tvmc, board_archive):
    """Even if it computes something else."""
    files = load_archive(faulty_archive(board_archive, "faulty.tar")).files
    modules = json.loads(files["metadata.json"])
    del modules["modules"]["default"]["reference"]
    older = {path: content for path, content in files.items() if not path.startswith("reference/")}
    write_archive({**older, "metadata.json": json.dumps(modules).encode()}, "older.tar")
    outcome = tvmc("run", "older.tar", "--board", "mps2-an385")
    assert outcome.status == 0
    assert (
        "Nothing independent was compared: the archive has no reference build (compile the model "
        "again, with --reference); give the outputs to expect with --expected."
    ) in outcome.stdout.splitlines()
    assert "The outputs equal" not in outcome.stdout


@pytest.mark.parametrize("command", ["compile", "run"])
def test_an_unknown_board(refused, small_digits_model, board_archive, command):
    file = small_digits_model if command == "compile" else board_archive
    assert (
        refused(command, file, "--board", "nucleo") == f'unknown board "nucleo". Boards: {BOARDS}'
    )


@pytest.mark.slow
def test_an_archive_of_another_board(refused, board_archive):
    assert refused("run", board_archive, "--board", "mps3-an547") == (
        f"{board_archive} is an archive for board mps2-an385; "
        "compile the model with --board mps3-an547"
    )


def test_an_archive_of_no_board(refused, digits_archive):
    assert refused("run", digits_archive, "--board", "mps3-an547") == (
        f"{digits_archive} is an archive for no board; compile the model with --board mps3-an547"
    )


@pytest.fixture(scope="session")
def entries_archive(tmp_path_factory):
    """Entries that share a state, compiled for the board with Cortex-M3."""
    require_board(board_named("mps2-an385"))
    path = tmp_path_factory.mktemp("board") / "entries.tar"
    factory = usmp.build(entry_model(), board="mps2-an385", reference=True)
    factory.export_model_library_format(path)
    return path


@pytest.mark.slow
def test_one_of_several_entries(tvmc, entries_archive):
    np.savez("in.npz", x=np.ones((1, 8), np.float32))
    arguments = ("--entry", "tell", "--inputs", "in.npz", "--outputs", "out.npz")
    outcome = tvmc("run", entries_archive, "--board", "mps2-an385", *arguments)
    assert (outcome.status, outcome.stderr) == (0, "")
    (line,) = (line for line in outcome.stdout.splitlines() if "Instructions" in line)
    assert re.fullmatch(r'Instructions of a run of entry "tell": \d+', line)
    assert f"The outputs equal {REFERENCE}." in outcome.stdout
    with np.load("out.npz") as outputs:
        assert list(outputs) == ["y", "output_0"]
        np.testing.assert_allclose(outputs["y"], INITIAL.reshape(1, 8) @ WEIGHTS, rtol=1e-5)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ((), 'has 3 entries; choose one with --entry: "learn", "tell", "plain"'),
        (("--entry", "forget"), 'has no entry "forget". Its entries: learn, tell, plain'),
    ],
    ids=["missing", "unknown"],
)
def test_an_entry_that_there_is_not(refused, entries_archive, entry, message):
    arguments = ("run", entries_archive, "--board", "mps2-an385", *entry)
    assert refused(*arguments) == f'model "default" {message}'


def test_an_archive_of_several_modules(refused, small_model, tmp_path):
    mods = {name: usmp.import_model(small_model) for name in ("one", "two")}
    factories = [usmp.build(mod, module_name=name) for name, mod in mods.items()]
    usmp.export_model_library_format(factories, tmp_path / "two.tar")
    assert refused("run", tmp_path / "two.tar", "--board", "mps2-an385") == (
        f"{tmp_path / 'two.tar'} is an archive of 2 models; "
        "compile the model with --board mps2-an385"
    )


def test_a_program_that_takes_too_long(tvmc, board_archive):
    outcome = tvmc("run", board_archive, "--board", "mps2-an385", "--timeout", "0.001")
    assert outcome.status == 1
    assert outcome.stderr == (
        "tvmc: error: the program did not end within 0.001 seconds in qemu-system-arm; "
        "give it more with --timeout\n"
    )


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1e30", "long"])
def test_a_timeout_that_is_none(refused, text):
    assert refused("run", "board.tar", "--board", "mps2-an385", f"--timeout={text}") == (
        f"argument --timeout: {text} is not a number of seconds, above 0 and at most 1000000. "
        "See tvmc run --help"
    )


def test_an_unknown_module(refused, board_archive):
    assert refused("run", board_archive, "--board", "mps2-an385", "--module-name=other") == (
        'the archive holds no module "other". Its modules: default'
    )


def test_an_archive_without_its_project(refused, board_archive, tmp_path):
    files = load_archive(board_archive).files
    kept = {name: content for name, content in files.items() if not name.startswith("project/")}
    write_archive(kept, tmp_path / "damaged.tar")
    assert refused("run", tmp_path / "damaged.tar", "--board", "mps2-an385") == (
        "the archive has no project/; compile the model with --board mps2-an385 again"
    )


def test_missing_tools(refused, board_archive, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert refused("run", board_archive, "--board", "mps2-an385") == (
        "make is not installed; apt-get install make"
    )


def test_expected_outputs_without_a_board(refused, board_archive):
    assert refused("run", board_archive, "--expected", "expected.npz") == (
        "--expected is compared with what a board or a device computes; name it with --board or "
        "--serial"
    )


@pytest.mark.slow
def test_an_object_file_for_the_board_is_compared_with_c(tvmc, small):
    require_board(board_named("mps2-an385"))
    options = ("--board", "mps2-an385", "--target=llvm", "-o", "model.tar")
    assert tvmc("compile", small, *options).status == 0
    outcome = tvmc("run", "model.tar", "--board", "mps2-an385")
    assert outcome.status == 0
    assert f"The outputs equal {REFERENCE}." in outcome.stdout
    assert "probabilities: int8[1, 10]" in outcome.stdout


@pytest.mark.slow
def test_quiet_says_only_what_was_computed(tvmc, board_archive, digits_archive):
    outcome = tvmc("run", board_archive, "--board", "mps2-an385", "--quiet")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout == tvmc("run", digits_archive).stdout
