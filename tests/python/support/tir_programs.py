"""Random modules in flat TIR: `__tvm_main__`, what it calls, and the memories that there are."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import tvm
from tvm import tirx
from tvm.ir import GlobalVar, IRModule, PointerType, PrimType

from support.tir_bodies import DTYPES, ELEMENTS, Callee, Parameter, Piece, Scope, block
from support.tir_statements import Statements
from usmp.objects import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    Executor,
    PoolInfo,
    PoolInfoProperties,
    TensorInfo,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.objects.attributes.annotations import CANDIDATE_MEMORY_POOL_ATTR, CONSTANT_DATA_ATTR
from usmp.objects.attributes.module_attributes import (
    CONSTANT_MEMORY_POOLS_ATTR,
    EXECUTOR_ATTR,
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    OUTPUT_TENSORS_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)

TARGET = tvm.target.Target("c")


@dataclass(frozen=True)
class Program:
    """A module, and how to run it.

    Parameters
    ----------
    mod
        the module; `__tvm_main__` takes the inputs, the outputs and perhaps a handle.
    inputs, outputs
        the tensors; the inputs with their content.
    workspace_io
        whether the planner shall place inputs and outputs.
    alignment
        of every offset in a pool, in bytes, as the executor's options tell.
    may_not_fit
        whether some buffer can only go to pools that have a limit.
    """

    mod: IRModule
    inputs: list[tuple[TensorInfo, bytes]]
    outputs: list[TensorInfo]
    workspace_io: bool
    alignment: int
    may_not_fit: bool

    def tensors(self) -> list[TensorInfo]:
        """Inputs, then outputs, as `__tvm_main__` takes them."""
        return [*(info for info, _ in self.inputs), *self.outputs]


def draw_program(random: Random) -> Program:
    """A random program."""
    memories = Memories(random)
    functions: dict[GlobalVar, tirx.PrimFunc] = {}
    callees: list[Callee] = []
    for number in range(random.choice([0, 1, 2, 3, 3, 4])):
        make = random.choice([procedure, procedure, function])
        callee, func = make(random, f"f{number}", memories, callees)
        functions[callee.variable] = func.with_attr("target", TARGET)
        callees.append(callee)
    inputs = draw_parameters(random, "x", random.choices(["in", "inout"], k=random.randint(1, 3)))
    outputs = draw_parameters(random, "y", ["out"] * random.randint(1, 2))
    main = main_function(random, memories, callees, inputs, outputs)
    functions[GlobalVar(MAIN_FUNCTION_NAME)] = main.with_attr("target", TARGET)
    alignment = random.choice([1, 4, 16])
    options = {"workspace-byte-alignment": alignment, "constant-byte-alignment": alignment}
    attributes = {EXECUTOR_ATTR.name: Executor("aot", options), **memories.attributes()}
    return Program(
        IRModule(functions).with_attrs(attributes),
        [(info, random.randbytes(info.size_bytes)) for info in map(tensor, inputs)],
        [tensor(p) for p in outputs],
        random.random() < 0.5,
        alignment,
        memories.may_not_fit,
    )


class Memories:
    """Draws the pools, what each buffer is told about them, and the constants."""

    def __init__(self, random: Random) -> None:
        self.random = random
        names = random.sample(["sram", "dtcm", "bulk", "axi"], random.choice([0, 1, 2, 2, 3]))
        limits = [random.choice([0, 16, 48, 96, 192, 384]) for _ in names]
        if names:
            limits[-1] = -1 if random.random() < 0.75 else random.choice([96, 192, 768])
        self.pools: list[PoolInfo] = [
            WorkspacePoolInfo(name, [TARGET], PoolInfoProperties(limit))
            for name, limit in zip(names, limits, strict=True)
        ]
        names = random.sample(["rom", "flash"], random.choice([0, 1, 2, 2]))
        limits = [random.choice([16, 32, 64]), -1 if random.random() < 0.8 else 128]
        self.constant_pools: list[PoolInfo] = [
            ConstantPoolInfo(name, [TARGET], None, PoolInfoProperties(limit))
            for name, limit in zip(names, limits[len(limits) - len(names) :], strict=True)
        ]
        self.contents: list[np.ndarray] = []
        self.may_not_fit = any(map(limited, [self.pools, self.constant_pools]))

    def attributes(self) -> dict:
        """Of the module; pools that are not told are the planner's own."""
        attributes: dict = {}
        if self.pools:
            attributes[WORKSPACE_MEMORY_POOLS_ATTR.name] = WorkspaceMemoryPools(self.pools)
        if self.constant_pools:
            attributes[CONSTANT_MEMORY_POOLS_ATTR.name] = ConstantMemoryPools(self.constant_pools)
        return attributes

    def workspace(self) -> dict:
        """Annotations of an AllocBuffer."""
        return self.candidates(self.pools)

    def constant(self, dtype: str) -> tuple[int, dict]:
        """Elements and annotations of the AllocBuffer of a constant, often one that was before."""
        known = [content for content in self.contents if str(content.dtype) == dtype]
        if known and self.random.random() < 0.6:
            content = self.random.choice(known)
        else:
            elements = self.random.randint(ELEMENTS, 3 * ELEMENTS)
            content = np.array([self.random.randint(-99, 99) for _ in range(elements)], dtype)
            self.contents.append(content)
        data = tvm.runtime.tensor(content)
        return len(content), {CONSTANT_DATA_ATTR.name: data, **self.candidates(self.constant_pools)}

    def candidates(self, pools: list[PoolInfo]) -> dict:
        """Now and then a choice of pools for one buffer."""
        if not pools or self.random.random() < 0.85:
            return {}
        some = self.random.sample(pools, self.random.randint(1, len(pools)))
        self.may_not_fit |= limited(some)
        return {CANDIDATE_MEMORY_POOL_ATTR: some}


def limited(pools: list[PoolInfo]) -> bool:
    """Whether all of the pools, if there are any, have a limit."""
    return bool(pools) and all(pool.size_hint_bytes >= 0 for pool in pools)


def draw_parameters(random: Random, prefix: str, modes: list[str]) -> list[Parameter]:
    return [Parameter(f"{prefix}{i}", random.choice(DTYPES), m) for i, m in enumerate(modes)]


def tensor(parameter: Parameter) -> TensorInfo:
    return TensorInfo(parameter.name, [ELEMENTS], parameter.dtype)


def declare(
    parameters: list[Parameter], prefix: str, may_alias: bool
) -> tuple[list[tirx.Var], Scope, list[tirx.Stmt]]:
    """The pointers of a PrimFunc, views of what they point to, the declarations of the views."""
    pointers, stmts = [], []
    scope = Scope([])
    together = object()
    for parameter in parameters:
        pointer = tirx.Var(f"{prefix}_{parameter.name}", PointerType(PrimType(parameter.dtype)))
        view = tirx.decl_buffer((ELEMENTS,), parameter.dtype, f"{pointer.name}_view")
        memory = together if may_alias else object()
        piece = Piece(view, memory, writable=parameter.mode != "in")
        (scope.fresh if parameter.mode == "out" else scope.ready).append(piece)
        pointers.append(pointer)
        stmts.append(tirx.DeclBuffer(view, data=pointer))
    return pointers, scope, stmts


def write_all(body: Statements, scope: Scope, stmts: list[tirx.Stmt], sinks: list[Piece]) -> None:
    """Statements, among them some that write all of the parameters that have no values yet.
    Without sinks there is one for the time, which counts for these parameters at the end."""
    outputs = [*scope.fresh]
    body.sinks = sinks
    total = None
    if not sinks:
        total = body.allocate(stmts, scope, body.random.choice(DTYPES), ELEMENTS)
        body.fill(stmts, scope, total)
        body.sinks = [total]
    stmts.append(body.statements(scope, 0, most=10))
    for piece in outputs:
        if piece in scope.fresh:
            body.fill(stmts, scope, piece)
        body.sinks = [*body.sinks, piece]
        stmts.append(body.statements(scope, 0, most=3))
    if total:
        for piece in outputs:
            body.fold(stmts, total, piece)
        scope.ready = [piece for piece in scope.ready if piece not in outputs]
        body.sinks = [total]
        stmts.append(body.statements(scope, 1, most=3))


def procedure(
    random: Random, prefix: str, memories: Memories, callees: list[Callee]
) -> tuple[Callee, tirx.PrimFunc]:
    """A PrimFunc that reads and writes the memory that it is given."""
    modes = ["in out", "in in out", "in inout", "in in inout", "in in in out", "inout out"]
    parameters = draw_parameters(random, "p", random.choice(modes).split())
    pointers, scope, stmts = declare(parameters, prefix, may_alias=True)
    body = Statements(random, prefix, memories, callees, budget=random.randint(4, 14))
    write_all(body, scope, stmts, sinks=[piece for piece in scope.ready if piece.writable])
    return named(random, prefix, tirx.PrimFunc(pointers, block(stmts)), body, parameters)


def function(
    random: Random, prefix: str, memories: Memories, callees: list[Callee]
) -> tuple[Callee, tirx.PrimFunc]:
    """A PrimFunc that returns a value and writes nothing but memory of its own, so that it does
    not matter in which order an expression calls it."""
    returns = random.choice(DTYPES)
    parameters = draw_parameters(random, "p", ["in"] * random.randint(1, 2))
    pointers, scope, stmts = declare(parameters, prefix, may_alias=True)
    number = tirx.Var(f"{prefix}_number", returns)
    budget = random.randint(4, 14)
    body = Statements(random, prefix, memories, callees, budget, returns)
    own = body.allocate(stmts, scope, returns, ELEMENTS)
    body.fill(stmts, scope, own)
    body.sinks = [own]
    stmts.append(tirx.BufferStore(own.buffer, own.buffer[0] + number, [0]))
    stmts.append(body.statements(scope, 1))
    five = tirx.const(5, returns)
    stmts.append(tirx.Return(own.buffer[0] * five + own.buffer[ELEMENTS - 1]))
    func = tirx.PrimFunc([*pointers, number], block(stmts), PrimType(returns))
    return named(random, prefix, func, body, parameters)


def named(
    random: Random, name: str, func: tirx.PrimFunc, body: Statements, parameters: list[Parameter]
) -> tuple[Callee, tirx.PrimFunc]:
    """The PrimFunc with, perhaps, another name for C code than for TIR."""
    symbol = name
    if random.random() < 0.5:
        symbol = f"c_{name}"
        func = func.with_attr("global_symbol", symbol)
    return Callee(GlobalVar(name), symbol, parameters, body.steps, body.returns), func


def main_function(
    random: Random,
    memories: Memories,
    callees: list[Callee],
    inputs: list[Parameter],
    outputs: list[Parameter],
) -> tirx.PrimFunc:
    """`__tvm_main__(inputs..., outputs...)`, with or without a handle at the end."""
    pointers, scope, stmts = declare([*inputs, *outputs], "main", may_alias=False)
    body = Statements(random, "main", memories, callees, budget=random.randint(10, 40))
    if random.random() < 0.5:
        body.handle = tirx.Var("handle", "handle")
        pointers.append(body.handle)
    write_all(body, scope, stmts, sinks=[])
    attributes = {
        INPUT_TENSORS_ATTR.name: [tensor(p) for p in inputs],
        OUTPUT_TENSORS_ATTR.name: [tensor(p) for p in outputs],
    }
    return tirx.PrimFunc(pointers, block(stmts)).with_attrs(attributes)
