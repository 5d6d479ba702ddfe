"""Operators with the structure of those in TVM's own planner tests (tests/python/tir-usmp).

What is allocated, how large, and in which loop what is read and written is theirs; the arithmetic
is not.
"""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import tirx
from tvm.script import tirx as T


def module(main, operators):
    """The module of `__tvm_main__` and of the operators that it calls by name."""
    functions = {"__tvm_main__": main, **operators}
    return tvm.IRModule({n: func.with_attr("global_symbol", n) for n, func in functions.items()})


def suffixed(func, suffix):
    """`func`, with `suffix` after the names of what it allocates."""
    allocated = set()
    tvm_ffi.structural_walk(func.body, (tirx.AllocBuffer, lambda s: allocated.add(s.buffer)))
    renamed = {buffer: tirx.Var(buffer.name + suffix, buffer.ty) for buffer in allocated}
    return func.with_body(
        tvm_ffi.structural_map(func.body, (tirx.Var, lambda var: renamed.get(var, var)))
    )


def conflicts_of(live):
    """Which buffers meet, if each of `live` names what is live at one time."""
    times = [set(names.split()) for names in live]
    return {
        name: set().union(*(time for time in times if name in time)) - {name}
        for name in set().union(*times)
    }


def copy(elements, from_type, to_type):
    @T.prim_func
    def func(Source: T.Buffer((elements,), from_type), Output: T.Buffer((elements,), to_type)):
        for i in range(elements):
            Output[i] = T.cast(Source[i], to_type)

    return func


def cast_subtract(elements):
    @T.prim_func
    def func(
        Source: T.Buffer((elements,), "uint8"),
        Zero: T.Buffer((1,), "int16"),
        Output: T.Buffer((elements,), "int16"),
    ):
        for i in range(elements):
            Output[i] = T.cast(Source[i], "int16") - Zero[0]

    return func


def convolution(source, padded, rows, blocks, channels, output_type):
    """Pads the input, then sums up one block of channels at a time."""
    depth = padded // rows
    width = blocks * channels

    @T.prim_func
    def func(
        Source: T.Buffer((source,), "int16"),
        Weight: T.Buffer((width,), "int16"),
        Bias: T.Buffer((width,), "int32"),
        Output: T.Buffer((rows * width,), output_type),
    ):
        PaddedInput = T.alloc_buffer((padded,), "int16")
        for i in range(padded):
            PaddedInput[i] = T.if_then_else(i < source, Source[i], T.int16(0))
        for row in range(rows):
            Conv2dOutput = T.alloc_buffer((channels,), "int32")
            for block in range(blocks):
                for c in range(channels):
                    Conv2dOutput[c] = 0
                    for k in range(depth):
                        Conv2dOutput[c] = Conv2dOutput[c] + T.cast(
                            PaddedInput[row * depth + k] * Weight[block * channels + c], "int32"
                        )
                for c in range(channels):
                    Output[row * width + block * channels + c] = T.cast(
                        Conv2dOutput[c] + Bias[block * channels + c], output_type
                    )

    return func


def max_pool(source, output):
    @T.prim_func
    def func(Source: T.Buffer((source,), "uint8"), Output: T.Buffer((output,), "uint8")):
        for i in range(output):
            Output[i] = T.uint8(0)
            for k in range(9):
                Output[i] = T.max(Output[i], Source[(i + k) % source])

    return func


def max_pool_cast(source, output):
    """Pools into `tensor`, then casts."""

    @T.prim_func
    def func(Source: T.Buffer((source,), "uint8"), Output: T.Buffer((output,), "int16")):
        tensor = T.alloc_buffer((output,), "uint8")
        for i in range(output):
            tensor[i] = T.uint8(0)
            for k in range(9):
                tensor[i] = T.max(tensor[i], Source[(i + k) % source])
        for i in range(output):
            Output[i] = T.cast(tensor[i], "int16")

    return func
