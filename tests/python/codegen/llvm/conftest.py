"""Compile TIR with LLVM, and load it."""

import ctypes
import subprocess

import pytest
import tvm
from tvm import tirx
from tvm.ir import IRModule

from compilers import require
from usmp.codegen.llvm import compile_functions
from usmp.relax.lower_operators import pass_buffers_as_pointers


@pytest.fixture(scope="session")
def compile_llvm():
    """TVM's module of PrimFuncs that are all visible, for a CPU."""

    def build(mod, **options):
        mod = mod if isinstance(mod, IRModule) else IRModule({"f": mod})
        mod = tirx.transform.BindTarget(tvm.target.Target("c"))(mod)
        lowered = tirx.transform.LowerIntrin()(mod).functions
        pointers = IRModule({v: pass_buffers_as_pointers(f) for v, f in lowered.items()})
        symbols = {v.name_hint: v.name_hint for v in lowered}
        target = tvm.target.Target({"kind": "llvm", **options})
        return compile_functions(pointers, symbols, target)

    return build


@pytest.fixture
def load_llvm(compile_llvm, tmp_path):
    """Compile the PrimFuncs of a module, or one called f, and load them."""
    require("gcc")

    def load(mod, **options):
        compile_llvm(mod, **options).write_to_file(str(tmp_path / "code.o"), "o")
        command = ["gcc", "-shared", "code.o", "-o", "code.so", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True)
        return ctypes.CDLL(str(tmp_path / "code.so"))

    return load
