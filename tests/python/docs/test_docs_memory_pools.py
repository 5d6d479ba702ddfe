"""What docs/memory-pools.md shows works as it stands there."""

from __future__ import annotations

import re
import shlex
import subprocess
import tarfile

import pytest

import usmp
from conftest import ROOT
from support.c_program import SANITIZERS, build_program
from support.small_digits import small_digits
from usmp.driver.options.build_options import add_build_options
from usmp.driver.options.memory_pools import memory_pools
from usmp.driver.options.pool_flags import split_pool_flags
from usmp.driver.options.pool_keys import KEYS
from usmp.driver.terminal.help import Parser
from usmp.driver.tvmc import main
from usmp.objects.target.targets import parse_targets

pytestmark = [pytest.mark.cc, pytest.mark.usefixtures("digits_session")]

PAGE = (ROOT / "docs/memory-pools.md").read_text()


def section(title: str) -> str:
    return re.split(r"^## ", PAGE.split(f"## {title}")[1], flags=re.MULTILINE)[0]


def commands(text: str) -> list[str]:
    """The indented commands, one line each."""
    indented = re.findall(r"(?:^    .*\n)+", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.M)
    return [line.strip() for line in "".join(indented).replace("\\\n", " ").splitlines()]


@pytest.mark.slow
def test_a_pool_that_is_too_small(tmp_path, monkeypatch, capsys, digits_model):
    """The program builds the model after all, and the table lists the attributes of the error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_model.tflite").symlink_to(digits_model)
    text = section("If the pools are too small")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = {}
    exec(code, names)
    sizes = {pool.name: pool.size_bytes for pool in names["factory"].interface.pools}
    assert f"it has 512 bytes and needs {sizes['sram']}" in capsys.readouterr().out
    public = [name for name in vars(usmp.DoesNotFitError) if not name.startswith("_")]
    assert sorted(re.findall(r"^\| `(\w+)` \|", text, re.M)) == sorted(
        {*public} - {"after_time_budget", "for_board"}
    )


@pytest.mark.slow
@pytest.mark.parametrize("title", ["U1", "U2", "U3", "Pools of inputs and outputs"])
def test_a_use_case(title, tmp_path, monkeypatch, digits_images):
    """The commands and the program of the page, on a small model under all of its names."""
    monkeypatch.chdir(tmp_path)
    for name in ("my_model", "my_model_1", "my_model_2"):
        (tmp_path / f"{name}.tflite").write_bytes(small_digits(filters=14))
    text = section(title)
    compiles = [shlex.split(line)[1:] for line in commands(text) if line.startswith("tvmc ")]
    assert len(compiles) == (2 if title == "U2" else 1)
    for command in compiles:
        assert main(command) == 0
        with tarfile.open(command[-1]) as archive:
            archive.extractall(tmp_path, filter="data")
    (code,) = re.findall(r"```c\n(.*?)```", text, re.DOTALL)
    program = build_program({}, code, tmp_path, SANITIZERS)
    image = digits_images[0][0]
    done = subprocess.run([program], input=image.tobytes(), capture_output=True, check=True)
    module = usmp.build(tmp_path / "my_model.tflite").load()
    expected = module.run({"image": image[None]})["probabilities"].tobytes()
    assert len(set(expected)) > 1
    assert done.stdout == expected * len(compiles)


@pytest.mark.slow
def test_the_build_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_model.tflite").write_bytes(small_digits())
    text = section("U1")
    (code,) = re.findall(r"```c\n(.*?)```", text, re.DOTALL)
    (tmp_path / "main.c").write_text(code)
    compile_model, *build = commands(text)
    assert main(shlex.split(compile_model)[1:]) == 0
    for command in build:
        subprocess.run(command, shell=True, check=True)
    assert (tmp_path / "main").exists()


SETTINGS = {
    "target=c:rw,accel:ro": "targets=sram:c:rw,accel:ro",
    "size=64K": "size-hint-bytes=sram:64K",
    "clock-frequency-hz=120000000": "clock-frequency-hz=sram:120000000",
    "read-bandwidth-bytes-per-cycle=8": "read-bandwidth-bytes-per-cycle=sram:8",
    "write-bandwidth-bytes-per-cycle=8": "write-bandwidth-bytes-per-cycle=sram:8",
    "read-latency-cycles=2": "read-latency-cycles=sram:2",
    "write-latency-cycles=2": "write-latency-cycles=sram:2",
    "target-burst-bytes=c:4": "target-burst-bytes=sram:c:4",
    "section=.sram_bss": "section=sram:.sram_bss",
    "alignment=32": "alignment=sram:32",
    "pool-offset=256": "pool-offset=sram:256",
    "address=0x20000000": "address=sram:0x20000000",
    "io=only": "io=sram:only",
    "internal": "internal=sram",
}
"""A value of each key, and of its flag without `--workspace-pools-`."""


def test_every_key_is_in_the_table():
    """The page links to the table of options.md, which lists each key with its flag."""
    assert "](options.md#keys-of-memory-pools)" in section("Properties of a pool")
    table = (ROOT / "docs/options.md").read_text().split("\n## Keys of memory pools\n")[1]
    rows = re.findall(r"^\| `([\w-]+).*?` \| `--workspace-pools-([\w-]+)=", table, re.MULTILINE)
    assert [key for key, _ in rows] == list(KEYS)
    shown = [(key.split("=")[0], flag.split("=")[0]) for key, flag in SETTINGS.items()]
    assert shown == rows


@pytest.mark.parametrize("key", SETTINGS)
def test_both_spellings_make_the_same_pool(key):
    flag = f"--workspace-pools-{SETTINGS[key]}"
    parser = Parser()
    add_build_options(parser)
    made = []
    for flags in (
        ["--usmp-workspace-pools=sram", f"--usmp-workspace-pool-sram={key}"],
        ["--workspace-pools=sram", flag],
    ):
        options = parser.parse_args(split_pool_flags(["model.tflite", *flags]))
        made.append(memory_pools(options, parse_targets("accel,c")))
    plain = parser.parse_args(["model.tflite", "--workspace-pools=sram"])
    assert made[0] == made[1]
    if not key.startswith("target="):
        assert made[0] != memory_pools(plain, parse_targets("accel,c"))
