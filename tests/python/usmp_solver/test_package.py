"""What `usmp_solver` loads, in interpreters that have loaded nothing before."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


@pytest.mark.parametrize("argv", [["tvmc"], ["mine.py"], ["-m", "usmp"], [], [""]], ids=str)
def test_importing_it_loads_numpy_at_most(argv):
    assert loaded("import usmp_solver", argv) == {"usmp_solver", "numpy"}
    assert loaded("from usmp_solver import solve", argv) == {"usmp_solver", "numpy"}


@pytest.mark.parametrize("argv", [["tvmc"], ["mine.py"]], ids=str)
def test_solving_loads_no_compiler(argv):
    code = (
        "from usmp_solver import Buffer, Problem, solve\n"
        "assert solve(Problem.from_buffers([Buffer('a', 4)])).peak == 4"
    )
    packages = loaded(code, argv)
    assert {"usmp_solver", "numpy", "tvm_ffi"} <= packages
    assert not packages & {"tvm", "usmp", "rich"}


def test_public_names_are_there():
    code = "import usmp_solver\nfor name in usmp_solver.__all__: getattr(usmp_solver, name)"
    assert loaded(code, []) == {"usmp_solver", "numpy"}
