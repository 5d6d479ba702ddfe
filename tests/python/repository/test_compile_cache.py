"""Compilers run once for equal sources, and again for whatever may change what they make."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support import compile_cache
from support.compilers import require, run_compiler

pytestmark = pytest.mark.cc

MAIN_C = '#include "value.h"\nint main(void) { return VALUE; }\n'
COMMAND = ("cc", "-Iinclude", "main.c", "-o", "main")


@pytest.fixture(autouse=True)
def runs(monkeypatch, tmp_path_factory) -> list[object]:
    """The commands of compilers that were run, and not found in a cache that was empty."""
    require("cc")
    monkeypatch.setattr(compile_cache, "_folder", tmp_path_factory.mktemp("cache"))
    started, run = [], subprocess.run

    def recorded(command, **options):
        started.append(command)
        return run(command, **options)

    monkeypatch.setattr("support.compilers.subprocess.run", recorded)
    return started


def project(folder: Path, value: int = 3, name: str = "include/value.h") -> Path:
    for path, text in {"main.c": MAIN_C, name: f"#define VALUE {value}\n"}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def status_of(folder: Path, *flags: str) -> int:
    run_compiler([*COMMAND, *flags], cwd=folder)
    return subprocess.Popen([folder / "main"]).wait()


def test_equal_sources_in_two_folders(tmp_path, runs):
    assert [status_of(project(tmp_path / name)) for name in "ab"] == [3, 3]
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("change", "flags"),
    [
        ({"value": 4}, ()),
        ({"value": 4, "name": "value.h"}, ()),
        ({}, ("-O2",)),
        ({}, ("-DOTHER=1",)),
    ],
    ids=["header", "header that is found first", "flag", "macro"],
)
def test_what_differs_is_compiled(tmp_path, runs, change, flags):
    folder = project(tmp_path)
    assert status_of(folder) == 3
    project(folder, **change)
    assert status_of(folder, *flags) == change.get("value", 3)
    assert len(runs) == 2


def test_objects_and_libraries(tmp_path, runs):
    project(tmp_path)
    for value in (5, 5, 6):
        (tmp_path / "f.c").write_text(f"int f(void) {{ return {value}; }}\n")
        (tmp_path / "main.c").write_text("int f(void);\nint main(void) { return f(); }\n")
        run_compiler(["cc", "-c", "f.c"], cwd=tmp_path)
        run_compiler(["cc", "main.c", "f.o", "-o", "main"], cwd=tmp_path)
        assert subprocess.Popen([tmp_path / "main"]).wait() == value
    assert len(runs) == 4


def test_standard_input(tmp_path, runs):
    for text in ("int x;", "int x;", "int y;"):
        run_compiler(["cc", "-x", "c", "-c", "-", "-o", "x.o"], cwd=tmp_path, input=text)
    assert len(runs) == 2


def test_errors_and_warnings_come_each_time(tmp_path, runs):
    (tmp_path / "main.c").write_text("int main(void) { return }\n")
    for _ in range(2):
        done = run_compiler(COMMAND, cwd=tmp_path, check=False)
        assert done.returncode == 1
        assert "error: " in done.stderr
    with pytest.raises(pytest.fail.Exception, match="error: "):
        run_compiler(COMMAND, cwd=tmp_path)
    assert len(runs) == 3


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("#define NAME <stdint.h>\n#include NAME\n", ()),
        ('__asm__(".incbin \\"main.c\\"");\n', ()),
        ("", ("-MMD",)),
        ("", ("-Wl,-Map,main.map",)),
    ],
    ids=["name in a macro", "content of a file", "more outputs", "map"],
)
def test_what_reads_or_writes_other_files_is_not_kept(tmp_path, runs, text, flags):
    project(tmp_path)
    (tmp_path / "main.c").write_text(text + MAIN_C)
    assert [status_of(tmp_path, *flags) for _ in range(2)] == [3, 3]
    assert len(runs) == 2


def test_a_failure_in_silence_comes_each_time(tmp_path):
    command = [*COMMAND[:-2], "-fsyntax-only"]
    failed = subprocess.CompletedProcess(command, 1, "", "")
    for _ in range(2):
        done = compile_cache.cached(command, project(tmp_path), None, lambda: failed)
        assert done.returncode == 1


def test_no_test_starts_a_compiler_on_its_own(tmp_path):
    command = ["cc", "-c", project(tmp_path) / "main.c", "-o", tmp_path / "main.o"]
    with pytest.raises(pytest.fail.Exception, match=r"cc is to be called by .*run_compiler"):
        subprocess.Popen(command)
    assert not (tmp_path / "main.o").exists()
    # What it is may be asked.
    assert subprocess.Popen(["cc", "-dumpversion"], stdout=subprocess.DEVNULL).wait() == 0
