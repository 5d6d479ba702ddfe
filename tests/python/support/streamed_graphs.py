"""Main functions of operators, written as text, and what their runs count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from textwrap import dedent, indent

import numpy as np
import tvm
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from support.planned_programs import run
from support.tir_interpreter import Interpreter
from support.tir_programs import Program
from usmp.objects import TensorInfo
from usmp.objects.attributes.module_attributes import (
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    OUTPUT_TENSORS_ATTR,
)

_STEPS = 2_000_000


@dataclass(frozen=True)
class Tensor:
    """A tensor between operators."""

    name: str
    rows: int
    width: int
    dtype: str

    @property
    def size(self) -> int:
        """Elements."""
        return self.rows * self.width


class Counting(Interpreter):
    """An interpreter that counts the elements that each operator makes."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod, steps=_STEPS)
        self.counts: Counter[str] = Counter()

    def extern(self, name: str, values: list) -> object:
        """What is computed goes through a function, which has the operator's name."""
        self.counts[name] += 1
        return values[0]


def counted_run(program: Program, mod: IRModule) -> tuple[list[list[int | None]], Counter[str]]:
    """The results of a run of a module, and how many elements each operator makes."""
    interpreter = Counting(mod)
    return run(program, mod, interpreter), interpreter.counts


def module(*functions: str) -> IRModule:
    """A module of PrimFuncs that are written as text, the main function among them."""
    body = indent("\n".join(map(dedent, functions)), "    ")
    text = f"@I.ir_module\nclass Module:\n{body}"
    mod = tvm.script.from_source(text, extra_vars={"I": I, "T": T})
    assert isinstance(mod, IRModule)
    return mod


def operator(name: str, params: Sequence[tuple[str, int, str]], body: str) -> str:
    """The text of a PrimFunc.

    Parameters
    ----------
    params
        name, elements and type of each; the body knows them by the names in capitals.
    """
    signature = ", ".join(f'{name}: T.handle("{dtype}")' for name, _, dtype in params)
    views = [
        f'{name.upper()} = T.decl_buffer(({size},), "{dtype}", data={name})'
        for name, size, dtype in params
    ]
    lines = "\n".join([*views, dedent(body).strip()])
    return f"@T.prim_func\ndef {name}({signature}):\n{indent(lines, '    ')}\n"


def main_function(
    params: Sequence[tuple[str, str]],
    allocations: Sequence[tuple[str, int, str]],
    calls: Sequence[str],
) -> str:
    """The text of `__tvm_main__`.

    Parameters
    ----------
    params
        name and type of each.
    allocations
        name, elements and type of each.
    calls
        an operator and its arguments: names, or anything without spaces.
    """
    signature = ", ".join(f'{name}: T.handle("{dtype}")' for name, dtype in params)
    allocated = {name for name, _, _ in allocations}
    lines = [f'{name} = T.alloc_buffer(({n},), "{dtype}")' for name, n, dtype in allocations]
    for call in calls:
        callee, *names = call.split()
        passed = (f"{name}.data" if name in allocated else name for name in names)
        lines.append(f"Module.{callee}({', '.join(passed)})")
    body = indent("\n".join(lines), "    ")
    return f"@T.prim_func\ndef {MAIN_FUNCTION_NAME}({signature}):\n{body}\n"


def program_of(
    functions: Sequence[str], inputs: Sequence[Tensor], outputs: Sequence[Tensor], random: Random
) -> Program:
    """A program that can be run, with random inputs."""
    mod = module(*functions)
    infos = [TensorInfo(t.name, [t.size], t.dtype) for t in (*inputs, *outputs)]
    main = mod[MAIN_FUNCTION_NAME].with_attrs(
        {
            INPUT_TENSORS_ATTR.name: infos[: len(inputs)],
            OUTPUT_TENSORS_ATTR.name: infos[len(inputs) :],
            "target": tvm.target.Target("c"),
        }
    )
    mod.update_func(mod.get_global_var(MAIN_FUNCTION_NAME), main)
    contents = [_content(random, tensor) for tensor in inputs]
    return Program(
        mod,
        list(zip(infos, contents, strict=False)),
        infos[len(inputs) :],
        workspace_io=random.random() < 0.5,
        alignment=1,
        may_not_fit=False,
    )


def _content(random: Random, tensor: Tensor) -> bytes:
    numbers = [random.randint(-50, 50) for _ in range(tensor.size)]
    return np.array(numbers, tensor.dtype).tobytes()
