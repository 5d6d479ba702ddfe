"""`tvmc micro` and `tvmc tune` say what to write instead, for whatever arguments."""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.children import run
from support.commands import message_of
from support.tflite_file import one_operator_model
from usmp.boards.board import BOARDS
from usmp.driver import tvmc
from usmp.driver.errors import UsageError
from usmp.driver.tvm018.commands import refuse_old_command
from usmp.driver.tvm018.flags import current_arguments
from usmp.driver.tvmc import main
from usmp.objects.target.cores import CORES
from usmp.tvm018 import MAPPED, find
from usmp.tvm018.commands import MICRO, MODULES, PROJECT_OPTION, TUNE

BOARD = f"{PROJECT_OPTION} board"
BOARDS_OF_018 = {value: row for row in MICRO if row.name == BOARD for value in row.values}
ZEPHYR = {
    *("b_u585i_iot02a", "mimxrt1050_evk", "mps2_an521", "mps3_an547", "nrf5340dk_nrf5340_cpuapp"),
    *("nucleo_f746zg", "nucleo_l4r5zi", "qemu_cortex_r5", "qemu_riscv32", "qemu_riscv64"),
    *("qemu_x86", "stm32f746g_disco"),
}


@pytest.fixture
def model(tmp_path, monkeypatch) -> str:
    """A model of one operator, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("small.tflite").write_bytes(one_operator_model())
    return "small.tflite"


def error_of(*arguments: str) -> list[str]:
    """The lines of the error."""
    with pytest.raises(UsageError) as error:
        refuse_old_command(arguments)
    return str(error.value).split("\n")


def instead(*arguments: str) -> list[list[str]]:
    """The command lines that the error says to write, as a shell reads them."""
    line = error_of(*arguments)[-1].removeprefix("instead: ")
    words = shlex.split(line)
    commands: list[list[str]] = [[]]
    for word in words:
        if word == "&&":
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def instead_of_flags(*arguments: str) -> list[str]:
    """The command line that the error about flags says to write."""
    with pytest.raises(UsageError) as error:
        current_arguments(arguments)
    return shlex.split(str(error.value).split("\n")[-1].removeprefix("instead: "))


def create(board: str) -> list[str]:
    arguments = f"micro create-project project module.tar zephyr {PROJECT_OPTION}"
    return [*arguments.split(), "project_type=host_driven", f"board={board}"]


def created(project: str, target: str = "'--target=c -mcpu=CORE'", test: str | None = None) -> str:
    """The command lines for `tvmc micro create`."""
    sources = f" {test.removesuffix('/test')}" if test else ""
    return (
        f"mkdir -p {project}/model{sources} && tvmc compile MODEL {target} -o {project}/model.tar "
        f"--reference && tar -xf {project}/model.tar -C {project}/model && "
        f"tvmc export-test {project}/model.tar -o {test or f'{project}/test'}"
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            "create project module.tar zephyr --project-option project_type=x board=nrf5340dk"
            "_nrf5340_cpuapp",
            created("project", "'--target=c -mcpu=cortex-m33'"),
        ),
        (
            "create-project -f project m.tar zephyr --project-option board=mps3_an547",
            "mkdir -p project && tvmc compile MODEL --board=mps3-an547 -o project/model.tar && "
            "tvmc run project/model.tar --board=mps3-an547",
        ),
        ("create-project --force p m.tar template --template-dir /my/template", created("p")),
        ("create-project --template-dir=/my/template p m.tar template", created("p")),
        ("create p m.tar arduino", created("p", test="p/src/test")),
        (
            "build project zephyr --project-option=board=nucleo_f746zg verbose=1",
            "west build -b nucleo_f746zg -d project/build project -- "
            f"-DZEPHYR_EXTRA_MODULES={Path.cwd()}/project/model",
        ),
        (
            "build /p zephyr",
            "west build -b BOARD -d /p/build /p -- -DZEPHYR_EXTRA_MODULES=/p/model",
        ),
        (
            "build p zephyr --project-option board=qemu_riscv32",
            "tvmc run p/model.tar --board=riscv32-virt",
        ),
        (
            "build p arduino --project-option board=due",
            "arduino-cli compile --fqbn=FQBN --library=p/model p",
        ),
        (
            "build p template --template-dir t",
            "cmake -S p -B p/build && cmake --build p/build",
        ),
        ("flash p zephyr", "west flash -d p/build && tvmc run p/model.tar --serial=PORT"),
        (
            "flash p zephyr --project-option board=mps3_an547",
            "tvmc run p/model.tar --board=mps3-an547",
        ),
        (
            "flash p arduino --project-option port=/dev/ttyACM0",
            "arduino-cli upload --fqbn=FQBN --port=/dev/ttyACM0 p && tvmc run p/model.tar "
            "--serial=/dev/ttyACM0",
        ),
        ("flash p template --template-dir t", "tvmc run p/model.tar --serial=PORT"),
        *(
            (arguments, created("DIR"))
            for arguments in ("", "create", "create-project --list-options", "nope")
        ),
    ],
)
def test_the_command_line_to_write_instead(arguments, expected):
    lines = error_of("micro", *arguments.split())
    assert lines[-1] == f"instead: {expected}"
    assert all(line.endswith(";") for line in lines[:-1])


@pytest.mark.parametrize("name", [row.name for row in MICRO if row.name.startswith("tvmc ")])
def test_each_command_says_why(name):
    assert error_of(*name.split()[1:])[0] == f"{find(MICRO, name).sentence()};"


@pytest.mark.parametrize(
    "row", [row for row in MICRO if row.name.startswith("--")], ids=lambda row: row.name
)
def test_each_option_says_what_becomes_of_it(row):
    flag, _, name = row.name.partition(" ")
    value = row.values[0] if row.values else "3"
    lines = error_of("micro", "build", "project", flag, *([f"{name}={value}"] if name else []))
    assert lines[1:-1] == [f"{row.sentence(value if name else '')};"]


def test_boards_of_zephyr_have_a_target_or_a_board():
    assert set(BOARDS_OF_018) >= ZEPHYR
    cores, boards = set(CORES), {board.name for board in BOARDS}
    for name, row in BOARDS_OF_018.items():
        assert row.verdict == MAPPED
        (option,) = row.to
        assert option in instead(*create(name))[1]
        assert (
            option == "--target=c"
            or option.removeprefix("--board=") in boards
            or option.removeprefix("--target=c -mcpu=") in cores
        )


def test_the_lines_are_such_as_the_command_takes():
    (parser,) = (
        action
        for action in tvmc._parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    for board in [*BOARDS_OF_018, "mine"]:
        for command in ("create-project", "build", "flash"):
            lines = instead("micro", command, "p", "m.tar", PROJECT_OPTION, f"board={board}")
            for program, *arguments in lines:
                if program == "tvmc":
                    parser.choices[arguments[0]].parse_args(arguments[1:])


@pytest.mark.cc
def test_the_lines_can_be_carried_out(model):
    for program, *arguments in instead(*create("nucleo_l4r5zi")):
        if program == "tvmc":
            assert main([model if text == "MODEL" else text for text in arguments]) == 0
        else:
            subprocess.run([program, *arguments], check=True)
    # What `build` and `flash` say reads what is there then.
    assert Path("project/model/zephyr/module.yml").is_file()
    assert Path("project/test/tvmgen_default_device.h").is_file()
    (module,) = (text for text in instead("micro", "build", "project", "zephyr")[0] if "=" in text)
    assert module == f"-DZEPHYR_EXTRA_MODULES={Path('project/model').absolute()}"
    assert Path(instead("micro", "flash", "project", "zephyr")[1][2]).is_file()
    device = ["run", "--device", "micro", "project", "--fill-mode", "ones", "--print-top", "4"]
    assert instead_of_flags(*device)[2:] == [
        *("project/model.tar", "--serial=PORT", "--fill-mode", "ones", "--print-top", "4")
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("run --device=micro", "tvmc run ARCHIVE --serial=PORT"),
        ("-v run m.tar --device micro -v", "tvmc run m.tar --serial=PORT"),
        (
            "run -o y.npz --device micro p --project-option a=b c=d --repeat 2",
            "tvmc run p/model.tar --serial=PORT -o y.npz --repeat 2",
        ),
        (
            "run --size n=3 --device micro p --expected o.npz q",
            "tvmc run p/model.tar --serial=PORT --size n=3 --expected o.npz q",
        ),
    ],
)
def test_a_run_on_a_device(arguments, expected):
    assert instead_of_flags(*arguments.split()) == expected.split()


def test_a_run_of_an_archive_for_a_board(monkeypatch):
    archive = SimpleNamespace(metadata={"modules": {"a": {"board": "mps2-an385"}}})
    monkeypatch.setattr("usmp.runtime.load_archive", lambda path: archive)
    line = instead_of_flags("run", "--device=micro", "b.tar")
    assert line == ["tvmc", "run", "b.tar", "--board=mps2-an385"]


HOSTILE = "a b'\n\n$(id);\x1b[31m\u202e`id`"
PLAIN = r"a b'\n\n$(id);\x1b[31m\u202e`id`"


def test_hostile_arguments_are_text_for_the_terminal_and_the_shell():
    options = [f"board={HOSTILE}", f"serial_number={HOSTILE}", f"port={HOSTILE}", HOSTILE]
    arguments = ["micro", "build", HOSTILE, "zephyr", "--" + HOSTILE, PROJECT_OPTION, *options]
    module = f"-DZEPHYR_EXTRA_MODULES={Path.cwd()}/{PLAIN}/model"
    assert instead(*arguments) == [
        ["west", "build", "-b", PLAIN, "-d", f"{PLAIN}/build", PLAIN, "--", module]
    ]
    lines = error_of(*arguments)
    assert all(line.isprintable() for line in lines)
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("arguments", "model"),
    [
        ([], "MODEL"),
        ("--target llvm --output records.json --trials 10 net.onnx".split(), "net.onnx"),
        (["-o", "x", HOSTILE + ".tflite"], PLAIN + ".tflite"),
    ],
)
def test_tune(arguments, model):
    assert error_of("-v", "tune", *arguments)[0] == f"{TUNE[0].sentence()};"
    assert instead("tune", *arguments) == [["tvmc", "explore", model]]


def test_what_tune_advises_is_taken(model):
    options = ["--usmp-time-budget=1s", "--pass-config", "tir.usmp.optimize=speed"]
    assert main(["compile", model, *options]) == 0


@pytest.mark.parametrize("arguments", ["micro --help", "micro create -h", "-v tune --help"])
def test_help_says_the_same(capfd, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    assert ended.value.code == 0
    lines = capfd.readouterr().out.splitlines()
    (row,) = (r for r in (*MICRO, *TUNE) if r.name == lines[0].partition(":")[0])
    assert lines[0] == row.sentence()
    assert lines[-1].startswith("instead: ")


@pytest.mark.parametrize("command", ["micro", "tune"])
def test_it_is_an_error_as_any_other(capfd, command):
    assert main(["-vv", command]) == 1
    output = capfd.readouterr()
    assert output.out == ""
    assert message_of(output.err).startswith(f"tvmc {command}: ")


@pytest.mark.parametrize(
    "before",
    [["-v"], ["-vvv"], ["--verbose"], ["--config", "default"], ["--config=x", "--verbose"], ["-q"]],
    ids=" ".join,
)
def test_options_before_the_command(before):
    assert error_of(*before, "micro", "build", "p", "zephyr") == error_of(
        "micro", "build", "p", "zephyr"
    )


def test_other_commands_go_on():
    for arguments in ([], ["-v"], ["--config"], ["run", "micro"], ["tuned"], ["--config", "tune"]):
        refuse_old_command(arguments)


@pytest.mark.slow
def test_the_module_of_the_command():
    (row,) = MODULES
    assert importlib.util.find_spec("tvm.driver.tvmc") is None
    assert "write python -m usmp, or tvmc" in row.reason
    done = run(sys.executable, "-m", "usmp", "--version", check=True)
    assert done.stdout.startswith("usmp ")
