"""What `usmp_solver` loads, in interpreters that have loaded nothing before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from usmp_solver.library import check_distributions

_LOADED = """
import sys

sys.argv = {argv!r}
before = set(sys.modules)
{code}
names = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(names - set(sys.stdlib_module_names)))
"""


def loaded(code: str, argv: list[str]) -> set[str]:
    """The packages, other than Python's own, that the code loads."""
    script = _LOADED.format(argv=argv, code=code)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("argv", [["tvmc"], ["mine.py"], ["-m", "usmp"], [], [""]], ids=str)
def test_importing_it_loads_numpy_at_most(argv):
    assert loaded("import usmp_solver", argv) == {"usmp_solver", "numpy"}
    assert loaded("from usmp_solver import solve", argv) == {"usmp_solver", "numpy"}


@pytest.mark.slow
@pytest.mark.parametrize("argv", [["tvmc"], ["mine.py"]], ids=str)
def test_solving_loads_no_compiler(argv):
    code = (
        "from usmp_solver import Buffer, Problem, solve\n"
        "assert solve(Problem.from_buffers([Buffer('a', 4)])).peak == 4"
    )
    packages = loaded(code, argv)
    assert {"usmp_solver", "numpy", "tvm_ffi"} <= packages
    assert not packages & {"tvm", "usmp", "rich"}


@pytest.mark.slow
def test_public_names_are_there():
    code = "import usmp_solver\nfor name in usmp_solver.__all__: getattr(usmp_solver, name)"
    assert loaded(code, []) == {"usmp_solver", "numpy"}


def test_two_distributions_of_different_versions_are_refused(tmp_path, monkeypatch):
    check_distributions()
    for name, version in (("tvm_usmp", "1.0"), ("tvm_usmp_solver", "1.1")):
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        metadata = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n"
        (folder / "METADATA").write_text(metadata)
    monkeypatch.syspath_prepend(tmp_path)
    message = (
        r"^tvm-usmp 1\.0 and tvm-usmp-solver 1\.1 are installed, and each has its own usmp_solver; "
        r"uninstall both, and then install one: pip uninstall tvm-usmp tvm-usmp-solver$"
    )
    with pytest.raises(ImportError, match=message):
        check_distributions()
