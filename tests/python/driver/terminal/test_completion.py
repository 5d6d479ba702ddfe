"""`tvmc completion`: what real shells make of it."""

from __future__ import annotations

import io
import os
import shlex
from functools import partial
from pathlib import Path

import argcomplete
import pytest

from support.children import TVMC, run
from support.commands import COMMANDS
from support.compilers import require
from usmp.driver.inspect.list_command import SECTIONS
from usmp.driver.tvmc import main
from usmp.names import ALGORITHMS, PASS_OPTIONS, TARGETS

# What bash does at the tab key: it sets the line and calls the function.
_BASH = """
eval "$(tvmc completion bash)"
[[ $(complete -p tvmc) =~ -F\\ ([^ ]*) ]] || exit 1
COMP_LINE={line} COMP_TYPE=9
COMP_POINT=${{#COMP_LINE}}
"${{BASH_REMATCH[1]}}" tvmc
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def shell(*command: str, folder: Path) -> str:
    path = f"{Path(TVMC).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(folder)}
    return run(*command, cwd=folder, env=environment, check=True).stdout


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with files of each sort."""
    for name in ("net.tflite", "net.onnx", "net.tar", "notes.txt"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


LINES = {
    "tvmc ": set(COMMANDS),
    "tvmc co": {"compile", "completion"},
    "tvmc ch": {"check"},
    "tvmc --v": {"--version"},
    "tvmc compile ": {"net.tflite", "net.onnx"},
    "tvmc compile net.onnx ": {"net.tflite", "net.onnx"},
    "tvmc compile net.onnx kws=net.t": {"net.tflite"},
    "tvmc plan net.t": {"net.tflite", "net.tar"},
    "tvmc explore net.": {"net.tflite", "net.onnx"},
    "tvmc run ": {"net.tar"},
    "tvmc export-test ": {"net.tar"},
    "tvmc info ": {"net.tflite", "net.onnx", "net.tar"},
    "tvmc compile net.tflite --target-c": {"--target-c-mcpu"},
    "tvmc compile --target-c-mcpu=cortex-m0": {"cortex-m0", "cortex-m0plus"},
    "tvmc compile --target ": set(TARGETS),
    # Bash takes "=" for the end of a word, so that only what follows is offered.
    "tvmc compile --target=l": {"llvm"},
    "tvmc run --board mps2-an5": {"mps2-an500", "mps2-an505"},
    "tvmc compile --usmp-algorithm ": set(ALGORITHMS),
    "tvmc plan --format ": {"table", "json", "csv"},
    "tvmc explain net.t": {"net.tflite", "net.tar"},
    "tvmc explain --format ": {"text", "json", "markdown"},
    "tvmc run --fill-mode ": {"random", "zeros", "ones"},
    "tvmc compile --pass-config ": {f"{name}=" for name in PASS_OPTIONS},
    "tvmc compile --pass-config tir.usmp.algorithm=": set(ALGORITHMS),
    "tvmc compile --pass-config tir.usmp.enable=": {"0", "1"},
    "tvmc compile --pass-config tir.usmp.custom_algorithm=": set(),
    "tvmc diff ": {"net.tar"},
    "tvmc check net.tar --boards stm32f4": {"stm32f411re", "stm32f446re"},
    "tvmc check net.tar --boards nrf52840,stm32f411": {"nrf52840,stm32f411re"},
    "tvmc list ": {*SECTIONS, "options-of-0.18"},
    "tvmc compile --runtime": set(),
    "tvmc compile --disabled-pass Fold": {"FoldConstants", "FoldPadding", "FoldUnchangedStates"},
    "tvmc compile --disabled-pass FuseSlices,Ord": {"FuseSlices,OrderOperators"},
    "tvmc completion ": {"bash", "zsh", "fish"},
}


@pytest.fixture
def offered(folder, monkeypatch):
    """What the command answers for the line, where bash asks."""
    settings = {"": "1", "_SHELL": "bash", "_IFS": "\n", "_COMP_WORDBREAKS": " \t\n\"'><=;|&(:"}
    for name, value in settings.items():
        monkeypatch.setenv(f"_ARGCOMPLETE{name}", value)
    # It would close descriptor 9, which is pytest's.
    monkeypatch.setattr(argcomplete.CompletionFinder, "_init_debug_stream", lambda finder: None)
    autocomplete = argcomplete.autocomplete

    def ask(line: str) -> set[str]:
        monkeypatch.setenv("COMP_LINE", line)
        monkeypatch.setenv("COMP_POINT", str(len(line)))
        stream = io.StringIO()
        answer = partial(autocomplete, exit_method=end, output_stream=stream)
        monkeypatch.setattr(argcomplete, "autocomplete", answer)
        with pytest.raises(SystemExit, match=r"^0$"):
            main([])
        return set(stream.getvalue().split())

    return ask


def end(status: int) -> None:
    raise SystemExit(status)


@pytest.mark.slow
def test_offers(offered):
    assert {line: offered(line) for line in LINES} == LINES
    assert offered("tvmc compile --") >= {"--output", "--module-name", "--pass-config", "--quiet"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ["tvmc co", "tvmc compile net.onnx kws=net.t", "tvmc compile --target=l"]
)
def test_bash(folder, line):
    script = _BASH.format(line=shlex.quote(line))
    assert set(shell("bash", "--norc", "-c", script, folder=folder).split()) == LINES[line]


@pytest.mark.slow
def test_fish(tmp_path):
    require("fish")
    script = "tvmc completion fish | source; complete -C 'tvmc pl'"
    assert shell("fish", "--no-config", "-c", script, folder=tmp_path).split()[0] == "plan"


@pytest.mark.slow
def test_zsh(tmp_path):
    require("zsh")
    script = (
        'autoload -U compinit; compinit -u -D; eval "$(tvmc completion zsh)"; print ${_comps[tvmc]}'
    )
    assert shell("zsh", "-f", "-c", script, folder=tmp_path) == "_python_argcomplete\n"


def test_scripts_are_those_of_the_shells(tvmc):
    scripts = {name: tvmc("completion", name).stdout for name in ("bash", "zsh", "fish")}
    assert "complete -o nospace -o default -o bashdefault -F" in scripts["bash"]
    assert scripts["zsh"].startswith("#compdef tvmc\n")
    assert "complete --command tvmc -f -a" in scripts["fish"]


def test_unknown_shell(refused):
    assert refused("completion", "cmd").startswith('argument SHELL: invalid choice "cmd"')
    assert refused("completion") == (
        "the following arguments are required: SHELL. See tvmc completion --help"
    )
