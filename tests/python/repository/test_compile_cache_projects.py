"""`make` of a board's project runs again where the model or a source beside it is another one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support import compile_cache

pytestmark = pytest.mark.cc


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A project that takes its program from the model, and counts how often that was."""
    monkeypatch.setattr(compile_cache, "_folder", tmp_path / "kept")
    for name in ("kept", "codegen", "project"):
        (tmp_path / name).mkdir()
    (tmp_path / "codegen/model.c").write_text("1")
    (tmp_path / "project/Makefile").write_text(
        "all:\n\tcp ../codegen/model.c model.elf\n\techo >> ../runs\n"
    )
    return tmp_path / "project"


def made(project: Path) -> tuple[str, int]:
    """What `make` writes, and how often it has run."""
    (project / "model.elf").unlink(missing_ok=True)
    command = ["make", "--silent"]

    def start() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=project, capture_output=True, text=True)

    assert compile_cache.cached(command, project, None, start).returncode == 0
    return (project / "model.elf").read_text(), (project / "../runs").read_text().count("\n")


def test_an_equal_project_is_not_made_again(project):
    assert [made(project), made(project)] == [("1", 1), ("1", 1)]


def test_another_model(project):
    assert made(project) == ("1", 1)
    (project / "../codegen/model.c").write_text("2")
    assert made(project) == ("2", 2)


def test_sources_elsewhere_may_be_others(project):
    (project / "source.c").write_text('#include "/folder/source.c"\n')
    assert [made(project), made(project)] == [("1", 1), ("1", 2)]
