"""Random programs whose operators die into each other: what a planner may overlap."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import tvm
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, PointerType, PrimType, TupleType

from support.operator_builder import Builder, Index, block, loop, nest, store, wide
from support.tir_programs import Program
from usmp.objects import Executor, TensorInfo
from usmp.objects.attributes.module_attributes import (
    EXECUTOR_ATTR,
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    OUTPUT_TENSORS_ATTR,
)

ROWS, COLUMNS = 4, 6
ELEMENTS = ROWS * COLUMNS
TARGET = tvm.target.Target("c")


def draw_chain(random: Random) -> Program:
    """A program of a few operators, each of which reads some of what the last ones wrote."""
    functions = {}
    operators = []
    for number in range(random.randint(2, 5)):
        func = _operator(random)
        variable = GlobalVar(f"op{number}")
        functions[variable] = func.with_attr("target", TARGET)
        operators.append((variable, len(func.params)))
    names = ["x", "y"]
    handles = [tirx.Var(name, PointerType(PrimType("int8"), "global")) for name in names]
    x, y = (tirx.decl_buffer((ELEMENTS,), "int8", f"{name}_view") for name in names)
    body: list[tirx.Stmt] = [
        tirx.DeclBuffer(x, data=handles[0]),
        tirx.DeclBuffer(y, data=handles[1]),
    ]
    values = [x]

    def call(target: tirx.Var) -> tirx.Stmt:
        variable, count = random.choice(operators)
        sources = [random.choice(values[-3:]) for _ in range(count - 1)]
        arguments = [buffer.data for buffer in (*sources, target)]
        return tirx.Evaluate(Call(variable, arguments, ret_ty=TupleType([])))

    for number in range(random.randint(2, 6)):
        target = tirx.decl_buffer((ELEMENTS,), "int8", f"t{number}")
        body.append(tirx.AllocBuffer(target))
        called = call(target)
        values.append(target)
        if random.random() < 0.2:
            again = tirx.decl_buffer((ELEMENTS,), "int8", f"u{number}")
            body.append(tirx.AllocBuffer(again))
            body.append(loop(2, lambda _, first=called, again=again: [first, call(again)]))
            values.append(again)
        else:
            body.append(called)
    body.append(call(y))
    tensors = [TensorInfo(name, [ELEMENTS], "int8") for name in names]
    main = tirx.PrimFunc(handles, block(body)).with_attrs(
        {
            "target": TARGET,
            INPUT_TENSORS_ATTR.name: tensors[:1],
            OUTPUT_TENSORS_ATTR.name: tensors[1:],
        }
    )
    functions[GlobalVar(MAIN_FUNCTION_NAME)] = main
    options = {"workspace-byte-alignment": 1, "constant-byte-alignment": 1}
    mod = IRModule(functions).with_attrs({EXECUTOR_ATTR.name: Executor("aot", options)})
    content = random.randbytes(ELEMENTS)
    return Program(mod, [(tensors[0], content)], tensors[1:], random.random() < 0.7, 1, False)


def _operator(random: Random) -> tirx.PrimFunc:
    """One operator on matrices of bytes; the last parameter is the output."""
    builder = Builder(by_handle=True)
    sources = [builder.input(ELEMENTS) for _ in range(random.choice([1, 1, 2]))]
    y = builder.output(ELEMENTS)
    reads = [_index(random) for _ in sources]
    writes = random.choice([_forwards, _forwards, _backwards])
    scratch = builder.scratch(ELEMENTS) if random.random() < 0.3 else None
    target = y if scratch is None else scratch

    def element(i: tirx.Var, j: tirx.Var) -> tirx.Stmt:
        value: tirx.Expr = tirx.IntImm("int32", random.randint(0, 9))
        for source, read in zip(sources, reads, strict=True):
            for index in read(i, j):
                value = value * 3 + wide(source[index])
        return store(target, writes(i, j)[0], value)

    body = [nest([ROWS, COLUMNS], element)]
    if scratch is not None:
        read = _index(random)
        body.append(
            nest(
                [ROWS, COLUMNS],
                lambda i, j: store(y, _forwards(i, j)[0], sum_of(scratch, read(i, j))),
            )
        )
    return builder.func(body)


def sum_of(buffer: tirx.Var, indices: list[Index]) -> tirx.Expr:
    value: tirx.Expr = tirx.IntImm("int32", 1)
    for index in indices:
        value = value * 5 + wide(buffer[index])
    return value


def _forwards(i: Index, j: Index) -> list[Index]:
    return [i * COLUMNS + j]


def _backwards(i: Index, j: Index) -> list[Index]:
    return [ELEMENTS - 1 - i * COLUMNS - j]


def _index(random: Random) -> Callable[[tirx.Var, tirx.Var], list[Index]]:
    """Where an operator reads for element i, j."""
    last = tirx.IntImm("int32", ELEMENTS - 1)
    zero = tirx.IntImm("int32", 0)
    return random.choice(
        [
            _forwards,
            _forwards,
            _backwards,
            lambda i, j: [j * ROWS + i],
            lambda i, j: [i * COLUMNS + j, tirx.Min(i * COLUMNS + j + 1, last)],
            lambda i, j: [
                tirx.Max((i - 1) * COLUMNS + j, zero),
                tirx.Min((i + 1) * COLUMNS + j, last),
            ],
            lambda i, j: [i * COLUMNS, i * COLUMNS + COLUMNS - 1],
            lambda i, j: [tirx.floordiv(i * COLUMNS + j, 2)],
            lambda i, j: [tirx.Min((i * COLUMNS + j) * 2, last)],
        ]
    )
