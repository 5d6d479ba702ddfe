"""TVM's `test_inception_structure` (test_tir_usmp_analysis_extract_bufferinfo.py).

TVM's expectations allow fewer conflicts than they list; these are exact.
"""

import pytest
from tvm.script import tirx as T

from support.buffer_views import analyze, buffers, conflicts
from support.tvm_operators import (
    cast_subtract,
    conflicts_of,
    convolution,
    copy,
    max_pool,
    max_pool_cast,
    module,
    suffixed,
)

pytestmark = pytest.mark.slow


@T.prim_func
def concatenate(
    A: T.Buffer((50176,), "uint8"),
    B: T.Buffer((100352,), "uint8"),
    C: T.Buffer((25088,), "uint8"),
    D: T.Buffer((25088,), "uint8"),
    Output: T.Buffer((200704,), "uint8"),
):
    for i in range(784):
        for j in range(256):
            Output[i * 256 + j] = T.if_then_else(
                j < 64,
                A[i * 64 + j],
                T.if_then_else(
                    j < 192,
                    B[i * 128 + j - 64],
                    T.if_then_else(j < 224, C[i * 32 + j - 192], D[i * 32 + j - 224]),
                ),
            )


@T.prim_func
def main(input: T.handle, output: T.handle):
    sid_32 = T.alloc_buffer((301056,), "int8")
    sid_20 = T.alloc_buffer((150528,), "int8")
    sid_6 = T.alloc_buffer((401408,), "int8")
    sid_9 = T.alloc_buffer((301056,), "int8")
    sid_7 = T.alloc_buffer((401408,), "int8")
    sid_8 = T.alloc_buffer((802816,), "int8")
    sid_2 = T.alloc_buffer((50176,), "int8")
    sid_3 = T.alloc_buffer((301056,), "int8")
    sid_19 = T.alloc_buffer((100352,), "int8")
    sid_4 = T.alloc_buffer((150528,), "int8")
    sid_5 = T.alloc_buffer((602112,), "int8")
    sid_25 = T.alloc_buffer((25088,), "int8")
    sid_26 = T.alloc_buffer((25088,), "int8")
    sid_31 = T.alloc_buffer((25088,), "int8")
    p = T.lookup_param("p0")
    T.call_extern("int32", "cast_subtract", input, p, sid_9.data)
    T.call_extern("int32", "conv2d_7", sid_9.data, p, p, sid_8.data)
    T.call_extern("int32", "max_pool2d_cast_2", sid_8.data, sid_7.data)
    T.call_extern("int32", "conv2d", sid_7.data, p, p, sid_6.data)
    T.call_extern("int32", "conv2d_8", sid_6.data, p, p, sid_5.data)
    T.call_extern("int32", "max_pool2d", sid_5.data, sid_4.data)
    T.call_extern("int32", "cast", sid_4.data, sid_3.data)
    T.call_extern("int32", "conv2d_2", sid_3.data, p, p, sid_2.data)
    T.call_extern("int32", "conv2d_1", sid_3.data, p, p, sid_20.data)
    T.call_extern("int32", "conv2d_6", sid_20.data, p, p, sid_19.data)
    T.call_extern("int32", "conv2d_4", sid_3.data, p, p, sid_26.data)
    T.call_extern("int32", "conv2d_5", sid_26.data, p, p, sid_25.data)
    T.call_extern("int32", "max_pool2d_cast_3", sid_4.data, sid_32.data)
    T.call_extern("int32", "conv2d_3", sid_32.data, p, p, sid_31.data)
    T.call_extern("int32", "concatenate", sid_2.data, sid_19.data, sid_25.data, sid_31.data, output)


# Elements of the input and of the padded input; rows, blocks and channels; type of the output.
CONVOLUTIONS = {
    "": (200704, 200704, 3136, 1, 64, "int16"),
    "_1": (150528, 150528, 784, 96, 1, "int16"),
    "_2": (150528, 150528, 784, 1, 64, "uint8"),
    "_3": (150528, 150528, 784, 32, 1, "uint8"),
    "_4": (150528, 150528, 784, 16, 1, "int16"),
    "_5": (12544, 14400, 784, 32, 1, "uint8"),
    "_6": (75264, 86400, 784, 2, 64, "uint8"),
    "_7": (150528, 157323, 12544, 1, 64, "uint8"),
    "_8": (200704, 215296, 3136, 3, 64, "uint8"),
}
INCEPTION = module(
    main,
    {
        **{f"conv2d{n}": suffixed(convolution(*sizes), n) for n, sizes in CONVOLUTIONS.items()},
        "max_pool2d": max_pool(602112, 150528),
        "max_pool2d_cast_2": suffixed(max_pool_cast(802816, 200704), "_2"),
        "max_pool2d_cast_3": suffixed(max_pool_cast(150528, 150528), "_3"),
        "cast_subtract": cast_subtract(150528),
        "cast": copy(150528, "uint8", "int16"),
        "concatenate": concatenate,
    },
)
# Bytes by name. Then what is live in each outermost loop, in the order in which they run; a
# convolution or a pooling with a cast has two.
SIZES = {
    "sid_2": 50176,
    "sid_3": 301056,
    "sid_4": 150528,
    "sid_5": 602112,
    "sid_6": 401408,
    "sid_7": 401408,
    "sid_8": 802816,
    "sid_9": 301056,
    "sid_19": 100352,
    "sid_20": 150528,
    "sid_25": 25088,
    "sid_26": 25088,
    "sid_31": 25088,
    "sid_32": 301056,
    "PaddedInput": 401408,
    "PaddedInput_1": 301056,
    "PaddedInput_2": 301056,
    "PaddedInput_3": 301056,
    "PaddedInput_4": 301056,
    "PaddedInput_5": 28800,
    "PaddedInput_6": 172800,
    "PaddedInput_7": 314646,
    "PaddedInput_8": 430592,
    "Conv2dOutput": 256,
    "Conv2dOutput_1": 4,
    "Conv2dOutput_2": 256,
    "Conv2dOutput_3": 4,
    "Conv2dOutput_4": 4,
    "Conv2dOutput_5": 4,
    "Conv2dOutput_6": 256,
    "Conv2dOutput_7": 256,
    "Conv2dOutput_8": 256,
    "tensor_2": 200704,
    "tensor_3": 150528,
}
LIVE = [
    "sid_9",  # cast_subtract
    "sid_9 PaddedInput_7",
    "PaddedInput_7 Conv2dOutput_7 sid_8",
    "sid_8 tensor_2",  # max_pool2d_cast_2
    "tensor_2 sid_7",
    "sid_7 PaddedInput",
    "PaddedInput Conv2dOutput sid_6",
    "sid_6 PaddedInput_8",
    "PaddedInput_8 Conv2dOutput_8 sid_5",
    "sid_5 sid_4",  # max_pool2d
    "sid_4 sid_3",  # cast; sid_4 and sid_3 are the inputs of four branches
    "sid_4 sid_3 PaddedInput_2",
    "sid_4 sid_3 PaddedInput_2 Conv2dOutput_2 sid_2",  # sid_2 is the output of the first
    "sid_4 sid_3 sid_2 PaddedInput_1",
    "sid_4 sid_3 sid_2 PaddedInput_1 Conv2dOutput_1 sid_20",
    "sid_4 sid_3 sid_2 sid_20 PaddedInput_6",
    "sid_4 sid_3 sid_2 PaddedInput_6 Conv2dOutput_6 sid_19",  # sid_19 of the second
    "sid_4 sid_3 sid_2 sid_19 PaddedInput_4",  # sid_3 is read for the last time
    "sid_4 sid_2 sid_19 PaddedInput_4 Conv2dOutput_4 sid_26",
    "sid_4 sid_2 sid_19 sid_26 PaddedInput_5",
    "sid_4 sid_2 sid_19 PaddedInput_5 Conv2dOutput_5 sid_25",  # sid_25 of the third
    "sid_4 sid_2 sid_19 sid_25 tensor_3",  # sid_4 is read for the last time
    "sid_2 sid_19 sid_25 tensor_3 sid_32",
    "sid_2 sid_19 sid_25 sid_32 PaddedInput_3",
    "sid_2 sid_19 sid_25 PaddedInput_3 Conv2dOutput_3 sid_31",  # sid_31 of the fourth
    "sid_2 sid_19 sid_25 sid_31",  # concatenate
]


def test_sizes():
    assert len(SIZES) == 34
    assert {name: info.size_bytes for name, info in buffers(INCEPTION).items()} == SIZES


def test_conflicts():
    assert conflicts(INCEPTION) == conflicts_of(LIVE)


def test_memory_pressure():
    most = max(sum(SIZES[name] for name in names.split()) for names in LIVE)
    assert analyze(INCEPTION).memory_pressure == most == 1117718
