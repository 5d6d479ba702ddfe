"""`import usmp` loads no TVM; names and pass options are there when they are asked for."""

from __future__ import annotations

import os
import sys

import pytest

import usmp
from support.children import run
from usmp import _public

HEAVY = ("numpy", "rich", "torch", "tvm", "tvm_ffi")


WITHOUT_TORCH = "import sys; sys.modules['torch'] = None"
"""TVM loads PyTorch where it finds it, which takes twice as long as all else."""


def done(script: str, *arguments: str, before: str = f"{WITHOUT_TORCH}\n", **settings: str) -> str:
    """What a process of its own prints, with these arguments and settings of the environment."""
    command = (sys.executable, "-W", "error", "-c", before + script, *arguments)
    finished = run(*command, env={**os.environ, **settings})
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


_NEED_NO_TVM = f"""
import sys
for statement in (
    "import usmp",
    "import usmp; assert 'build' in usmp.__all__ and usmp.__version__",
    "import usmp; assert {{'build', 'transform'}} <= set(dir(usmp))",
    "import usmp; assert not hasattr(usmp, 'nothing') and not hasattr(usmp, '_nothing')",
    "from usmp.support.text.plain_text import shown; shown('x')",
    "from usmp.support.process.termination import end",
    "import usmp.driver.tvmc",
    "import usmp.names",
    "import usmp; usmp.get_include()",
):
    exec(statement)
    loaded = set({HEAVY}) & set(sys.modules)
    if loaded:
        print(statement, sorted(loaded))
"""


def test_what_needs_no_tvm_loads_none():
    assert done(_NEED_NO_TVM, before="") == ""


@pytest.mark.slow
def test_solver_loads_no_tvm():
    loaded = "print({'tvm', 'usmp'} & set(sys.modules))"
    assert done(f"import sys; from usmp_solver import solve; {loaded}") == "set()\n"


@pytest.mark.slow
def test_solver_under_the_name_of_the_package_loads_no_tvm():
    program = (
        "import sys, usmp.solver, usmp_solver as s\n"
        "assert usmp.solver.__all__ == s.__all__\n"
        "assert all(getattr(usmp.solver, name) is getattr(s, name) for name in s.__all__)\n"
        "from usmp.solver import Buffer, Problem, solve\n"
        "print(solve(Problem.from_buffers([Buffer('a', 4, [(0, 1)])])).peak)\n"
        "print('tvm' in sys.modules)\n"
    )
    assert done(program) == "4\nFalse\n"


def test_package_is_there_where_tvm_is_not():
    assert done("import sys; sys.modules['tvm'] = None; import usmp; print(usmp.__name__)")


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "import tvm, usmp",
        "import usmp, tvm, importlib; importlib.reload(usmp)",
        "import usmp.support.process.termination, importlib.util as u; "
        "assert u.find_spec('tvm.ir')",
        "from usmp import *; assert callable(build)",
        "import tvm",
    ],
)
def test_options_are_registered_in_every_order_of_imports(statement):
    context = "from tvm.ir.transform import PassContext as C; C(config={'tir.usmp.enable': True})"
    assert done(f"{statement}\n{context}") == ""


@pytest.mark.slow
def test_options_are_registered_if_import_of_tvm_fails_first():
    script = (
        "import sys, usmp\n"
        "sys.modules['tvm.libinfo'] = None\n"
        "try:\n"
        "    import tvm\n"
        "except ImportError:\n"
        "    del sys.modules['tvm.libinfo']\n"
        "from tvm.ir.transform import PassContext\n"
        "PassContext(config={'tir.usmp.enable': True})\n"
    )
    assert done(script) == ""


@pytest.mark.slow
def test_threads_load_tvm_and_the_package_side_by_side():
    script = (
        "import threading\n"
        "works = (\n"
        "    'import tvm', 'import usmp; usmp.build', 'import usmp; usmp.build', 'import usmp',\n"
        "    'from usmp.driver import tvmc; tvmc.TVMCModel', 'import usmp.transform',\n"
        "    'import usmp.frontend', 'import usmp.explanation', 'import usmp.objects',\n"
        ")\n"
        "begin = threading.Barrier(len(works))\n"
        "def work(text):\n"
        "    begin.wait()\n"
        "    exec(text, {})\n"
        "threads = [threading.Thread(target=work, args=(text,)) for text in works]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
        "import usmp\n"
        "from tvm.ir.transform import PassContext\n"
        "PassContext(config={'tir.usmp.enable': True})\n"
        "print(callable(usmp.build))\n"
    )
    assert done(script) == "True\n"


@pytest.mark.slow
@pytest.mark.parametrize("statement", ["import usmp, tvm; usmp.Executor", "import usmp.transform"])
def test_options_are_registered_where_tvm_loads_no_extensions(statement):
    script = (
        f"{statement}\n"
        "import tvm, usmp.algorithms\n"
        "tvm.transform.PassContext(config={'tir.usmp.enable': True})\n"
        "assert 'exact' in usmp.algorithms.registered_algorithms()\n"
    )
    assert done(script, TVM_DEVICE_BACKEND_AUTOLOAD="0") == ""


@pytest.mark.slow
def test_tvm_without_compiler_is_left_alone():
    assert done("import usmp, tvm; print(tvm.base._RUNTIME_ONLY)", TVM_USE_RUNTIME_LIB="1") == (
        "True\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "from usmp.build_module import build",
        "import usmp.build_module, importlib; importlib.reload(usmp)",
        "import usmp; usmp.Executor",
    ],
)
def test_build_is_the_function_whoever_loads_the_module(statement):
    assert done(f"{statement}; import usmp; print(usmp.build.__name__)") == "build\n"


def test_every_name():
    exported = {name for name in vars(_public) if not name.startswith("_")}
    assert exported == set(usmp.__all__)
    assert all(getattr(usmp, name) is getattr(_public, name) for name in usmp.__all__)
    assert usmp.__all__ == sorted(usmp.__all__, key=lambda name: (not name.isupper(), name))
    assert set(usmp.__all__) <= set(dir(usmp))


def test_what_dir_tells_is_there():
    assert [name for name in dir(usmp) if getattr(usmp, name) is None] == []


def test_unknown_name():
    with pytest.raises(AttributeError, match=r"^module 'usmp' has no attribute 'nothing'$"):
        usmp.nothing  # noqa: B018
    with pytest.raises(ImportError, match=r"^cannot import name 'nothing' from 'usmp'"):
        exec("from usmp import nothing")


@pytest.mark.slow
def test_functions_are_called_by_name_before_anything_of_the_package_is_used():
    """C++ and other packages find algorithms and passes among the global functions."""
    program = """
import tvm, usmp, tvm_ffi
loaded = [name for name in sys.modules if name.startswith("usmp")]
assert not [name for name in loaded if name.startswith(("usmp.algorithms", "usmp.transform"))]
assert tvm_ffi.get_global_func("tir.usmp.transform.AssignPoolInfo")().info.opt_level == 0
plan = tvm_ffi.get_global_func("tir.usmp.algo.greedy_by_size")
from usmp.objects import BufferInfo, WorkspacePoolInfo
buffers = [BufferInfo("a", 4, [WorkspacePoolInfo("pool", [])])]
print([place.byte_offset for place in plan(buffers, 4).values()])
"""
    done = run(sys.executable, "-c", WITHOUT_TORCH + program, check=True)
    assert done.stdout == "[0]\n"
