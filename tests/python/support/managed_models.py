"""Small Relax modules that a MemoryPlanner runs, and the plain virtual machine to compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from support.relax_vm import TARGET
from usmp.runtime import ManagedModule, MemoryPlanner, compile_managed


def tensor(array: Any) -> tvm.runtime.Tensor:
    return tvm.runtime.tensor(np.array(array, order="C"))


def ramp(rows: int, columns: int = 16, dtype: str = "float32") -> np.ndarray:
    """Different numbers in each row and column, all exact."""
    return (np.arange(rows * columns, dtype=dtype).reshape(rows, columns) % 13) / dtype_of(dtype)(4)


def dtype_of(name: str) -> Callable[[float], Any]:
    return np.dtype(name).type


FUNCTIONS: dict[str, Callable[[Any], Any]] = {}
"""What `test.managed.call` and `test.managed.rows` do; modules look these up only once."""


@contextmanager
def called_function(name: str, function: Callable[[Any], Any]) -> Iterator[None]:
    """Modules call this function as `test.managed.<name>`."""
    before = FUNCTIONS.get(name)
    FUNCTIONS[name] = function
    try:
        yield
    finally:
        FUNCTIONS.pop(name) if before is None else FUNCTIONS.update({name: before})


for _name in ("call", "rows"):
    tvm_ffi.register_global_func(
        f"test.managed.{_name}", lambda data, name=_name: FUNCTIONS[name](data), override=True
    )


@cache
def compiled(mod: tvm.IRModule) -> ManagedModule:
    """The module for planners, compiled once for all tests: planners share it."""
    return compile_managed(mod)


def plain_machine(mod: tvm.IRModule, function: str = "main") -> Callable[..., Any]:
    """The module as TVM's allocator runs it, each tensor in memory of its own."""
    passes = [
        relax.transform.LegalizeOps(),
        relax.transform.RewriteDataflowReshape(),
        relax.transform.ToNonDataflow(),
        relax.transform.RemovePurityChecking(),
        relax.transform.CallTIRRewrite(),
        relax.transform.LowerAllocTensor(),
        relax.transform.LowerRuntimeBuiltin(),
        relax.transform.ComputePrimValue(),
        relax.transform.VMShapeLower(),
        relax.transform.AttachGlobalSymbol(),
    ]
    executable = relax.build(mod, TARGET, relax_pipeline=tvm.transform.Sequential(passes))
    return relax.VirtualMachine(executable, tvm.cpu(), "naive")[function]


@I.ir_module
class Chain:
    """Three intermediates of one size, the first and the last at one place; 64 bytes a row."""

    @R.function
    def main(x: R.Tensor(("n", 16), "float32")) -> R.Tensor(("n", 16), "float32"):
        with R.dataflow():
            a = R.negative(x)
            b = R.abs(a)
            c = R.negative(b)
            y = R.add(c, x)
            R.output(y)
        return y


def chain_of(x: np.ndarray) -> np.ndarray:
    """What `Chain` computes."""
    return -np.abs(-x) + x


def check_chain(planner: MemoryPlanner, rows: int) -> tvm.runtime.Tensor:
    """Run a planner of `Chain` on so many rows; its result, which is right."""
    x = ramp(rows)
    result = planner(tensor(x))
    np.testing.assert_array_equal(result.numpy(), chain_of(x))
    return result


@I.ir_module
class Branches:
    @R.function
    def main(x: R.Tensor(("n", 16), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(
        ("n", 16), "float32"
    ):
        n = T.int64()
        a = R.negative(x)
        if c:
            b = R.abs(a)
            d = R.add(b, x)
            q = d
        else:
            e = R.multiply(a, x)
            f = R.add(e, a)
            q = f
        flat = R.reshape(q, R.shape([n * 16]))
        g = R.negative(flat)
        h = R.abs(g)
        i = R.reshape(h, R.shape([n, 16]))
        j = R.add(i, a)
        return j


@I.ir_module
class TwoOutputs:
    @R.function
    def main(
        x: R.Tensor(("n", 16), "float32"),
    ) -> R.Tuple(R.Tensor(("n", 16), "float32"), R.Tensor((16, "n"), "float32")):
        with R.dataflow():
            a = R.negative(x)
            b = R.abs(a)
            c = R.permute_dims(b, [1, 0])
            y = (b, c)
            R.output(y)
        return y


@I.ir_module
class Called:
    """Eight times x; a function of the test sees -x."""

    @R.function(pure=False)
    def main(x: R.Tensor(("n", 16), "float32")) -> R.Tensor(("n", 16), "float32"):
        a = R.negative(x)
        _ = R.call_packed("test.managed.call", a, ty_args=R.Tuple())
        b = R.subtract(x, a)
        c = R.add(b, b)
        d = R.add(c, b)
        y = R.add(d, b)
        return y


@I.ir_module
class DataDependent:
    """The rows of the intermediates are known only when `rows` has run."""

    @R.function(pure=False)
    def main(x: R.Tensor(("n", 16), "float32")) -> R.Tensor(ndim=2, dtype="float32"):
        m = T.int64()
        first = R.negative(x)
        taken = R.call_packed("test.managed.rows", first, ty_args=R.Tensor(ndim=2, dtype="float32"))
        part = R.match_cast(taken, R.Tensor((m, 16), "float32"))
        a = R.negative(part)
        b = R.abs(a)
        c = R.negative(b)
        y = R.add(c, part)
        return y


@I.ir_module
class Types:
    """Intermediates of several types, one of them a scalar; lengths of zero are possible."""

    @R.function
    def main(x: R.Tensor(("n", 3), "int8")) -> R.Tensor(("n", 3), "float64"):
        with R.dataflow():
            a = R.astype(x, "int32")
            b = R.multiply(a, a)
            c = R.greater(b, R.const(4, "int32"))
            d = R.where(c, b, a)
            e = R.astype(d, "float64")
            s = R.sum(e)
            y = R.add(e, s)
            R.output(y)
        return y


@I.ir_module
class Functions:
    """`main` calls `inner`, which keeps TVM's allocator; `other` is run by a planner of its own."""

    @R.function
    def inner(x: R.Tensor(("n", 16), "float32")) -> R.Tensor(("n", 16), "float32"):
        a = R.negative(x)
        b = R.abs(a)
        return b

    @R.function
    def main(x: R.Tensor(("n", 16), "float32")) -> R.Tensor(("n", 16), "float32"):
        cls = Functions
        a = R.abs(x)
        b = cls.inner(a)
        c = cls.inner(b)
        y = R.add(c, a)
        return y

    @R.function
    def other(x: R.Tensor(("n", 16), "float32")) -> R.Tensor(("n", 16), "float32"):
        a = R.abs(x)
        y = R.negative(a)
        return y
