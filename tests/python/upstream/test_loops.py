"""TVM's `test_parallel_serial_mixed_for_loops` (test_tir_usmp_analysis_extract_bufferinfo.py).

TVM plans Conv2dOutput_8 in the parallel loop too, as one buffer for all threads: a race.
"""

import pytest
from tvm.script import tirx as T

from support.buffer_views import analyze, conflicts
from support.tvm_operators import module


def convolution(loop):
    @T.prim_func
    def func(
        Source: T.Buffer((200704,), "int16"),
        Weight: T.Buffer((192,), "int16"),
        Bias: T.Buffer((192,), "int32"),
        Output: T.Buffer((602112,), "uint8"),
    ):
        PaddedInput_8 = T.alloc_buffer((215296,), "int16")
        for i in range(215296):
            PaddedInput_8[i] = T.if_then_else(i < 200704, Source[i], T.int16(0))
        for row in loop(3136):
            dummy_allocate = T.alloc_buffer((1,), "int32")  # noqa: F841
            for block in range(3):
                Conv2dOutput_8 = T.alloc_buffer((64,), "int32")
                for c in range(64):
                    Conv2dOutput_8[c] = 0
                    for k in range(68):
                        Conv2dOutput_8[c] = Conv2dOutput_8[c] + T.cast(
                            PaddedInput_8[row * 68 + k] * Weight[block * 64 + c], "int32"
                        )
                for c in range(64):
                    Output[row * 192 + block * 64 + c] = T.cast(
                        Conv2dOutput_8[c] + Bias[block * 64 + c], "uint8"
                    )

    return func


@T.prim_func
def main(input: T.handle, output: T.handle):
    T.call_extern("int32", "conv2d", input, T.lookup_param("p5"), T.lookup_param("p6"), output)


ALL_SERIAL = module(main, {"conv2d": convolution(T.serial)})
PARALLEL_SERIAL_MIXED = module(main, {"conv2d": convolution(T.parallel)})


def test_all_buffers_of_serial_loops_are_planned():
    assert conflicts(ALL_SERIAL) == {
        "PaddedInput_8": {"Conv2dOutput_8"},
        "dummy_allocate": set(),
        "Conv2dOutput_8": {"PaddedInput_8"},
    }


def test_nothing_inside_a_parallel_loop_is_planned():
    assert conflicts(PARALLEL_SERIAL_MIXED) == {"PaddedInput_8": set()}


@pytest.mark.parametrize(
    ("mod", "pressure"),
    [(ALL_SERIAL, 430592 + 256), (PARALLEL_SERIAL_MIXED, 430592)],
    ids=["serial", "parallel"],
)
def test_memory_pressure(mod, pressure):
    assert analyze(mod).memory_pressure == pressure
