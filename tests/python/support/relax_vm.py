"""Relax modules that TVM compiles for this host: what operators compute, whoever plans them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import tvm
from tvm import relax
from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm.target import Target

from support.compilers import run_compiler
from usmp.codegen.c.source_files import file_of, with_included
from usmp.runtime.write_files import write_files

TARGET = Target({"kind": "llvm", "opt-level": 0})
"""Small tensors are computed at once; compiling takes the time."""


def compiled(mod: IRModule) -> Callable[..., list[np.ndarray]]:
    """Compile a module; return a function that calls `main`, or the function that it is told.

    The arrays that it is called with must fit: PrimFuncs do not check their arguments, because
    these checks take more time to compile than most operators do.
    """
    with PassContext(config={"tirx.disable_assert": True}):
        machine = relax.VirtualMachine(tvm.compile(mod, target=TARGET), tvm.cpu())

    def run(*inputs: np.ndarray, name: str = "main") -> list[np.ndarray]:
        result = machine[name](*map(tvm.runtime.tensor, inputs))
        return [result.numpy()] if hasattr(result, "numpy") else [r.numpy() for r in result]

    return run


def computed(
    function: Callable[..., relax.Expr | Sequence[relax.Expr]], *arrays: np.ndarray
) -> list[np.ndarray]:
    """Return what a function of a BlockBuilder and of tensors like these arrays makes of them."""
    types = [relax.TensorType(array.shape, str(array.dtype)) for array in arrays]
    params = [relax.Var(f"input{index}", ty) for index, ty in enumerate(types)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            result = function(builder, *params)
            is_one = isinstance(result, relax.Expr)
            result = builder.emit_output(result if is_one else relax.Tuple(list(result)))
        builder.emit_func_output(result)
    return compiled(builder.get())(*arrays)


def integer_function(mod: IRModule) -> Callable[[Mapping[str, np.ndarray]], list[np.ndarray]]:
    """Compile a module with operators of integers; return a function of its inputs by name."""
    load_fixed_point_functions()
    names, run = [str(param.name) for param in mod["main"].params], compiled(mod)
    return lambda inputs: run(*(inputs[name] for name in names))


@cache
def load_fixed_point_functions() -> None:
    """Give this process the functions of C that integer operators call; LLVM finds them by name."""
    _load_functions("arithmetic/fixed_point.c")


@cache
def load_rescaling_functions() -> None:
    """Give this process the functions that kernels rescale by, too."""
    _load_functions("tensor_intrin/rescale.c")


def _load_functions(name: str) -> None:
    with TemporaryDirectory() as folder:
        library = Path(folder) / "functions.so"
        write_files({n: file_of(n).encode() for n in with_included([name])}, Path(folder))
        flags = ["-shared", "-fPIC", "-Dstatic=", "-Dinline=", "-DTVMGEN_INLINE=", "-w"]
        run_compiler(["cc", *flags, name, "-o", str(library)], cwd=folder)
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
