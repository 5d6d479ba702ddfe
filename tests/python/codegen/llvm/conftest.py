"""Compile TIR with LLVM, and load it."""

import ctypes
import subprocess

import pytest
import tvm
from tvm import tirx
from tvm.ir import IRModule

from support.compilers import require, run_compiler
from usmp.aot.transform.pass_buffers_as_pointers import pass_buffers_as_pointers
from usmp.codegen.llvm import compile_functions


@pytest.fixture(scope="session")
def compile_llvm():
    """TVM's module of PrimFuncs with buffer parameters, or of one called f; all are visible."""

    def build(mod):
        mod = mod if isinstance(mod, IRModule) else IRModule({"f": mod})
        mod = tirx.transform.BindTarget(tvm.target.Target("c"))(mod)
        lowered = tirx.transform.LowerIntrin()(mod).functions
        pointers = IRModule({v: pass_buffers_as_pointers(f) for v, f in lowered.items()})
        symbols = {v.name_hint: v.name_hint for v in lowered}
        return compile_functions(pointers, symbols, tvm.target.Target("llvm"))

    return build


@pytest.fixture
def link(tmp_path):
    """A shared library of what LLVM compiled for this host."""
    require("gcc")

    def load(built):
        built.write_to_file(str(tmp_path / "code.o"), "o")
        library = tmp_path / f"code{len(list(tmp_path.iterdir()))}.so"
        run_compiler(["gcc", "-shared", "code.o", "-o", str(library), "-lm"], cwd=tmp_path)
        return ctypes.CDLL(str(library))

    return load


@pytest.fixture
def load_llvm(compile_llvm, link):
    """Compile the PrimFuncs of a module, or one called f, and load them."""
    return lambda mod: link(compile_llvm(mod))


@pytest.fixture
def symbols(tmp_path):
    """Symbols that others see in an archive's object file: name -> letter of `nm`."""

    def listed(files):
        (tmp_path / "o").write_bytes(files["codegen/host/lib/default_lib1.o"])
        command = ["nm", "-g", tmp_path / "o"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return {line.split()[-1]: line.split()[-2] for line in text.splitlines()}

    return listed
