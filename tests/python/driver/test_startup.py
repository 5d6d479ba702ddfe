"""What the command line can say without TVM, it says without loading TVM."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import pytest

import usmp
from support import levels
from support.children import TVMC, run
from support.quantized_models.variables import VECTOR, delay
from usmp.driver.options.build_options import _needs_no_torch

HEAVY = {"numpy", "rich", "torch", "tvm", "tvm_ffi"}


def loaded(*arguments: str, **settings: str) -> set[str]:
    """The top-level packages that a process loads, with these settings of the environment."""
    # Else the command keeps what it loads late out of stderr.
    environment = {**os.environ, "TVM_LOG_DEBUG": "1", **settings}
    done = run(sys.executable, "-X", "importtime", *arguments, env=environment)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


# One process runs them all, and says which packages there are after each.
_ONE_AFTER_THE_OTHER = """
import sys
from usmp.driver import tvmc
for words in {commands}:
    try:
        tvmc.main(words)
    except SystemExit:
        pass
    print(sorted(set(sys.modules) & {heavy}), words, file=sys.__stderr__)
"""


COMMANDS = [
    [],
    ["--help"],
    ["--version"],
    ["compile", "--help"],
    ["plan", "--help"],
    ["explore", "--help"],
    ["explore", "missing.tflite"],
    ["explain", "--help"],
    ["run", "--help"],
    ["diff", "--help"],
    ["diff", "missing.tar", "missing.tar"],
    ["check", "--help"],
    ["check", "missing.tflite", "--boards", "all"],
    ["export-test", "--help"],
    ["export-test", "missing.tar"],
    ["compile"],
    ["micro", "build", "project", "zephyr"],
    ["nope"],
    ["compile", "missing.tflite"],
    ["list"],
    ["list", "--format", "json"],
    ["completion", "bash"],
    ["list", "targets"],
]


@pytest.mark.slow
def test_commands_that_need_no_tvm():
    script = _ONE_AFTER_THE_OTHER.format(commands=COMMANDS, heavy=HEAVY)
    shown = run(sys.executable, "-c", script).stderr.splitlines()
    assert [line for line in shown if line[0] == "["] == [f"[] {words}" for words in COMMANDS]


COMMANDS_OF_ARCHIVES = [
    *(["info", "m.tar", *more] for more in ([], ["--format=json"])),
    *(
        ["check", "m.tar", "--max-ram=64K", "--boards=all", *more]
        for more in ([], ["--format=json"], ["-o", "check.md"])
    ),
    *(
        ["diff", "m.tar", "m.tar", *more]
        for more in ([], ["--format=json"], ["-o", "diff.md"], ["--fail-on-growth=0"])
    ),
    ["diff", "metadata.json", "m.tar"],
    ["diff", "plan.json", "plan.json"],
    *(
        ["plan", "m.tar", *more]
        for more in (
            *([], ["--format=json"], ["-o", "plan.csv"], ["--map"]),
            *(["--operators"], ["--operators", "--format=json"], ["--operators", "--format=csv"]),
            *(["--export-state-layout", "layout.json"], ["--report", "a.json"]),
        )
    ),
]
DRAWN = [["plan", "m.tar", "--report", name] for name in ("a.html", "a.perfetto.json")]


@pytest.mark.slow
def test_what_an_archive_says_needs_no_tvm(tmp_path):
    """Drawn maps load NumPy."""
    (tmp_path / "m.tflite").write_bytes(delay(VECTOR, "random"))
    usmp.build(tmp_path / "m.tflite").export_model_library_format(tmp_path / "m.tar")
    files = usmp.load_archive(tmp_path / "m.tar").files
    (tmp_path / "metadata.json").write_bytes(files["metadata.json"])
    (module,) = json.loads(files["metadata.json"])["modules"].values()
    (tmp_path / "plan.json").write_text(json.dumps(module["memory"]))
    commands = [*COMMANDS_OF_ARCHIVES, *DRAWN]
    script = _ONE_AFTER_THE_OTHER.format(commands=commands, heavy=HEAVY)
    done = run(sys.executable, "-c", script, cwd=tmp_path)
    assert done.stderr.splitlines() == [
        *(f"['rich'] {words}" for words in COMMANDS_OF_ARCHIVES),
        *(f"['numpy', 'rich'] {words}" for words in DRAWN),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "command"),
    [
        ({"executor": usmp.Executor("aot", {"interface-api": "packed"})}, ["diff", "m.tar"]),
        ({"board": "mps2-an385"}, ["check", "--boards=mps2-an385"]),
    ],
    ids=["packed", "board"],
)
def test_code_of_an_archive_is_compiled_without_tvm(tmp_path, small_model, settings, command):
    """Headers of packed functions are tvm-ffi's; boards and hosts share code that knows arrays."""
    usmp.build(small_model, **settings).export_model_library_format(tmp_path / "m.tar")
    commands = [[*command, "m.tar"]]
    script = _ONE_AFTER_THE_OTHER.format(commands=commands, heavy=HEAVY)
    done = run(sys.executable, "-c", script, cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert not {"'torch'", "'tvm'"} & set(line.strip("[").partition("]")[0].split(", "))
    assert line.endswith(str(commands[0]))


def test_the_script_needs_no_tvm():
    packages = loaded(TVMC, "list")
    assert "usmp" in packages
    assert not packages & HEAVY


def test_module_that_needs_no_tvm():
    assert not loaded("-m", "usmp", "--version") & HEAVY


@pytest.mark.slow
def test_command_that_needs_tvm(small_model):
    """The test of the tests above: what is loaded late is seen."""
    assert {"numpy", "rich", "tvm", "tvm_ffi"} <= loaded(TVMC, "plan", str(small_model))


_HAS_TORCH = """
import sys
from usmp.driver import tvmc
tvmc.main(sys.argv[1:])
print("torch" in sys.modules, file=sys.__stdout__)
"""

# TVM is not there, and whoever loads it tells whether PyTorch would come with it.
_IS_TORCH_HIDDEN = """
import sys
from usmp.driver import tvmc

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in ("tvm", "tvm_ffi"):
            hidden.append("torch" in sys.modules)
            raise ImportError(name)

sys.meta_path.insert(0, Finder())
for words in {commands}:
    hidden = []
    tvmc.main(words)
    print(hidden[0], words, file=sys.__stdout__)
"""


@pytest.mark.slow
def test_torch_is_hidden_from_tvm_where_it_has_no_use(tmp_path, small_model):
    usmp.build(small_model).export_model_library_format(tmp_path / "model.tar")
    for name in ("model.tflite", "model.pt2"):
        (tmp_path / name).write_bytes(small_model.read_bytes())
    commands = {
        ("plan", "model.tflite"): True,
        ("run", "model.tar"): True,
        ("export-test", "model.tar"): True,
        ("plan", "model.pt2"): False,
    }
    script = _IS_TORCH_HIDDEN.format(commands=[list(words) for words in commands])
    done = run(sys.executable, "-c", script, cwd=tmp_path)
    assert done.stdout.splitlines() == [f"{is_so} {list(w)}" for w, is_so in commands.items()]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model.tflite", *levels.in_long_run(["model.pt2"])])
def test_torch_is_loaded_for_its_own_models_only(tmp_path, small_model, name):
    """Where it is installed, TVM loads it."""
    pytest.importorskip("torch")
    (tmp_path / name).write_bytes(small_model.read_bytes())
    done = run(sys.executable, "-c", _HAS_TORCH, "plan", name, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == str(name == "model.pt2")


@pytest.mark.parametrize(
    ("files", "extensions", "needs_none"),
    [
        (["a.tflite"], [], True),
        (["a.tflite", "b.onnx"], [], True),
        (["a.tflite", "b.pt2"], [], False),
        (["a.tflite"], ["mine.py"], False),
    ],
)
def test_what_has_no_use_for_torch(files, extensions, needs_none):
    options = argparse.Namespace(FILE=files, extension=extensions)
    assert _needs_no_torch(options) is needs_none


NAMES = ("tvmc.py", "tvmc", "flash", "__main__.py", "-m", "python")


@pytest.mark.parametrize("name", levels.sample(NAMES, 2))
def test_whatever_the_program_is_called(tmp_path, name):
    """The installed script, renamed as in an application that brings it along."""
    script = tmp_path / name
    script.write_text(Path(TVMC).read_text())
    packages = loaded(str(script), "list")
    assert "usmp" in packages
    assert not packages & HEAVY


_PART_OF_ANOTHER_PROGRAM = """
import sys
for change in (
    "sys.argv[:] = ['tvmc']",
    "sys.argv[:] = ['/usr/lib/application.cgi', 'serve']",
    "sys.argv.clear()",
    "del sys.argv, sys.orig_argv",
):
    exec(change)
    from usmp.driver import tvmc
    print(tvmc.main(["list"]), tvmc.main(["nope"]), file=sys.__stderr__)
"""


@pytest.mark.slow
def test_where_the_interpreter_is_part_of_another_program():
    shown = run(sys.executable, "-c", _PART_OF_ANOTHER_PROGRAM).stderr.splitlines()
    assert shown.count("0 1") == 4
    assert not loaded("-c", _PART_OF_ANOTHER_PROGRAM) & HEAVY


def test_completion_of_shells_that_needs_no_tvm():
    settings = {"_ARGCOMPLETE": "1", "COMP_LINE": "tvmc compile --boa", "COMP_POINT": "18"}
    packages = loaded(TVMC, **settings)
    assert "argcomplete" in packages
    assert not packages & HEAVY
