"""TVM's test_tir_usmp_transform_convert_pool_allocations_to_offsets.py.

The offsets are those that TVM's greedy_by_size chose. TVM passes every pool to every function;
here a function takes the pools that it uses.
"""

import pytest
from tvm.script import ir as I
from tvm.script import tirx as T

from support.pool_conversion import assert_becomes, convert, pool_args
from support.tvm_operators import copy, module, suffixed
from usmp.objects import PoolInfoProperties, WorkspacePoolInfo

FAST = WorkspacePoolInfo("fast_memory", ["c"], PoolInfoProperties(size_hint_bytes=200704))
SLOW = WorkspacePoolInfo("slow_memory", ["c"])
WORKSPACE = WorkspacePoolInfo("global_workspace", ["c"])

# ---- two pools


@I.ir_module
class Mobilenet:
    @T.prim_func
    def cast_subtract(
        Source: T.Buffer((150528,), "uint8"),
        Zero: T.Buffer((1,), "int16"),
        Output: T.Buffer((150528,), "int16"),
    ):
        for i in range(150528):
            Output[i] = T.cast(Source[i], "int16") - Zero[0]

    @T.prim_func
    def conv2d(
        Source: T.Buffer((150528,), "int16"),
        Weight: T.Buffer((64,), "int16"),
        Bias: T.Buffer((64,), "int32"),
        Output: T.Buffer((802816,), "uint8"),
    ):
        PaddedInput_7 = T.alloc_buffer((157323,), "int16")
        for i in range(157323):
            PaddedInput_7[i] = T.if_then_else(i < 150528, Source[i], T.int16(0))
        for row in range(12544):
            Conv2dOutput_7 = T.alloc_buffer((64,), "int32")
            for c in range(64):
                Conv2dOutput_7[c] = T.cast(PaddedInput_7[row * 12] * Weight[c], "int32")
            for c in range(64):
                Output[row * 64 + c] = T.cast(Conv2dOutput_7[c] + Bias[c], "uint8")

    @T.prim_func
    def max_pool2d_cast(Source: T.Buffer((802816,), "uint8"), Output: T.Buffer((200704,), "int16")):
        tensor_2 = T.alloc_buffer((200704,), "uint8")
        for i in range(200704):
            tensor_2[i] = T.max(Source[i * 4], Source[i * 4 + 1])
        for i in range(200704):
            Output[i] = T.cast(tensor_2[i], "int16")

    @T.prim_func
    def __tvm_main__(input: T.handle, output: T.handle):
        sid_9 = T.alloc_buffer((301056,), "int8")
        sid_8 = T.alloc_buffer((802816,), "int8")
        p0 = T.lookup_param("p0")
        T.call_extern("int32", "cast_subtract", input, p0, sid_9.data)
        T.call_extern("int32", "conv2d", sid_9.data, p0, p0, sid_8.data)
        T.call_extern("int32", "max_pool2d_cast", sid_8.data, output)


MOBILENET_PLACES = {
    "sid_9": (SLOW, 1117472),
    "sid_8": (SLOW, 0),
    "PaddedInput_7": (SLOW, 802816),
    "Conv2dOutput_7": (FAST, 0),
    "tensor_2": (FAST, 0),
}


def test_mobilenet_subgraph():
    @I.ir_module
    class MobilenetPlanned:
        @T.prim_func
        def cast_subtract(
            Source: T.Buffer((150528,), "uint8"),
            Zero: T.Buffer((1,), "int16"),
            Output: T.Buffer((150528,), "int16"),
        ):
            for i in range(150528):
                Output[i] = T.cast(Source[i], "int16") - Zero[0]

        @T.prim_func
        def conv2d(
            Source: T.Buffer((150528,), "int16"),
            Weight: T.Buffer((64,), "int16"),
            Bias: T.Buffer((64,), "int32"),
            Output: T.Buffer((802816,), "uint8"),
            fast: T.handle("uint8"),
            slow: T.handle("uint8"),
        ):
            fast_pool = T.decl_buffer((200704,), "uint8", data=fast, align=16)
            slow_pool = T.decl_buffer((1418528,), "uint8", data=slow, align=16)
            PaddedInput_7 = T.decl_buffer((157323,), "int16", data=T.address_of(slow_pool[802816]))
            for i in range(157323):
                PaddedInput_7[i] = T.if_then_else(i < 150528, Source[i], T.int16(0))
            for row in range(12544):
                Conv2dOutput_7 = T.decl_buffer((64,), "int32", data=T.address_of(fast_pool[0]))
                for c in range(64):
                    Conv2dOutput_7[c] = T.cast(PaddedInput_7[row * 12] * Weight[c], "int32")
                for c in range(64):
                    Output[row * 64 + c] = T.cast(Conv2dOutput_7[c] + Bias[c], "uint8")

        @T.prim_func
        def max_pool2d_cast(
            Source: T.Buffer((802816,), "uint8"),
            Output: T.Buffer((200704,), "int16"),
            fast: T.handle("uint8"),
        ):
            fast_pool = T.decl_buffer((200704,), "uint8", data=fast, align=16)
            tensor_2 = T.decl_buffer((200704,), "uint8", data=T.address_of(fast_pool[0]))
            for i in range(200704):
                tensor_2[i] = T.max(Source[i * 4], Source[i * 4 + 1])
            for i in range(200704):
                Output[i] = T.cast(tensor_2[i], "int16")

        @T.prim_func
        def __tvm_main__(
            input: T.handle, output: T.handle, fast: T.handle("uint8"), slow: T.handle("uint8")
        ):
            fast_pool = T.decl_buffer((200704,), "uint8", data=fast, align=16)  # noqa: F841
            slow_pool = T.decl_buffer((1418528,), "uint8", data=slow, align=16)
            sid_9 = T.decl_buffer((301056,), "int8", data=T.address_of(slow_pool[1117472]))
            sid_8 = T.decl_buffer((802816,), "int8", data=T.address_of(slow_pool[0]))
            p0 = T.lookup_param("p0")
            T.call_extern("int32", "cast_subtract", input, p0, sid_9.data)
            T.call_extern("int32", "conv2d", sid_9.data, p0, p0, sid_8.data, fast, slow)
            T.call_extern("int32", "max_pool2d_cast", sid_8.data, output, fast)

    assert_becomes(Mobilenet, MOBILENET_PLACES, MobilenetPlanned)


def test_mobilenet_subgraph_pool_sizes():
    assert pool_args(convert(Mobilenet, MOBILENET_PLACES)) == [
        ("fast_memory", 200704, 0),
        ("slow_memory", 1418528, 1),
    ]


# ---- one pool


def resnet_convolution(padded, blocks, output_type):
    @T.prim_func
    def func(
        Source: T.Buffer((360000,), "int16"),
        Weight: T.Buffer((256,), "int16"),
        Bias: T.Buffer((256,), "int32"),
        Output: T.Buffer((360000 * blocks,), output_type),
    ):
        PaddedInput = T.alloc_buffer((padded,), "int16")
        for i in range(padded):
            PaddedInput[i] = T.if_then_else(i < 360000, Source[i], T.int16(0))
        for row in range(5625):
            Conv2dOutput = T.alloc_buffer((64,), "int32")
            for block in range(blocks):
                for c in range(64):
                    Conv2dOutput[c] = T.cast(PaddedInput[row * 64] * Weight[block + c], "int32")
                for c in range(64):
                    Output[(row * blocks + block) * 64 + c] = T.cast(
                        Conv2dOutput[c] + Bias[c], output_type
                    )

    return func


def resnet_convolution_planned(padded, blocks, output_type, padded_at, output_at):
    @T.prim_func
    def func(
        Source: T.Buffer((360000,), "int16"),
        Weight: T.Buffer((256,), "int16"),
        Bias: T.Buffer((256,), "int32"),
        Output: T.Buffer((360000 * blocks,), output_type),
        workspace: T.handle("uint8"),
    ):
        pool = T.decl_buffer((7920256,), "uint8", data=workspace, align=16)
        PaddedInput = T.decl_buffer((padded,), "int16", data=T.address_of(pool[padded_at]))
        for i in range(padded):
            PaddedInput[i] = T.if_then_else(i < 360000, Source[i], T.int16(0))
        for row in range(5625):
            Conv2dOutput = T.decl_buffer((64,), "int32", data=T.address_of(pool[output_at]))
            for block in range(blocks):
                for c in range(64):
                    Conv2dOutput[c] = T.cast(PaddedInput[row * 64] * Weight[block + c], "int32")
                for c in range(64):
                    Output[(row * blocks + block) * 64 + c] = T.cast(
                        Conv2dOutput[c] + Bias[c], output_type
                    )

    return func


@pytest.mark.slow
def test_resnet_subgraph():
    @T.prim_func
    def resnet_add(
        Source: T.Buffer((360000,), "int16"),
        Weight: T.Buffer((256,), "int16"),
        Residual: T.Buffer((1440000,), "int32"),
        Output: T.Buffer((1440000,), "uint8"),
    ):
        PaddedInput_3 = T.alloc_buffer((360000,), "int16")
        for i in range(360000):
            PaddedInput_3[i] = Source[i]
        for row in range(22500):
            Conv2dOutput_3 = T.alloc_buffer((64,), "int32")
            for c in range(64):
                Conv2dOutput_3[c] = T.cast(PaddedInput_3[row * 16] * Weight[c], "int32")
            for c in range(64):
                Output[row * 64 + c] = T.cast(Conv2dOutput_3[c] + Residual[row * 64 + c], "uint8")

    @T.prim_func
    def resnet_add_planned(
        Source: T.Buffer((360000,), "int16"),
        Weight: T.Buffer((256,), "int16"),
        Residual: T.Buffer((1440000,), "int32"),
        Output: T.Buffer((1440000,), "uint8"),
        workspace: T.handle("uint8"),
    ):
        pool = T.decl_buffer((7920256,), "uint8", data=workspace, align=16)
        PaddedInput_3 = T.decl_buffer((360000,), "int16", data=T.address_of(pool[6480000]))
        for i in range(360000):
            PaddedInput_3[i] = Source[i]
        for row in range(22500):
            Conv2dOutput_3 = T.decl_buffer((64,), "int32", data=T.address_of(pool[7200000]))
            for c in range(64):
                Conv2dOutput_3[c] = T.cast(PaddedInput_3[row * 16] * Weight[c], "int32")
            for c in range(64):
                Output[row * 64 + c] = T.cast(Conv2dOutput_3[c] + Residual[row * 64 + c], "uint8")

    @T.prim_func
    def resnet_main(input: T.handle, output: T.handle):
        sid_2 = T.alloc_buffer((720000,), "int8")
        sid_6 = T.alloc_buffer((5760000,), "int8")
        sid_7 = T.alloc_buffer((720000,), "int8")
        sid_8 = T.alloc_buffer((720000,), "int8")
        p0 = T.lookup_param("p0")
        T.call_extern("int32", "requantize", input, sid_2.data)
        T.call_extern("int32", "conv2d", sid_2.data, p0, p0, sid_8.data)
        T.call_extern("int32", "conv2d_1", sid_8.data, p0, p0, sid_7.data)
        T.call_extern("int32", "conv2d_2", sid_7.data, p0, p0, sid_6.data)
        T.call_extern("int32", "conv2d_add", sid_2.data, p0, sid_6.data, output)

    @T.prim_func
    def resnet_main_planned(input: T.handle, output: T.handle, workspace: T.handle("uint8")):
        pool = T.decl_buffer((7920256,), "uint8", data=workspace, align=16)
        sid_2 = T.decl_buffer((720000,), "int8", data=T.address_of(pool[5760000]))
        sid_6 = T.decl_buffer((5760000,), "int8", data=T.address_of(pool[0]))
        sid_7 = T.decl_buffer((720000,), "int8", data=T.address_of(pool[6480000]))
        sid_8 = T.decl_buffer((720000,), "int8", data=T.address_of(pool[6480000]))
        p0 = T.lookup_param("p0")
        T.call_extern("int32", "requantize", input, sid_2.data)
        T.call_extern("int32", "conv2d", sid_2.data, p0, p0, sid_8.data, workspace)
        T.call_extern("int32", "conv2d_1", sid_8.data, p0, p0, sid_7.data, workspace)
        T.call_extern("int32", "conv2d_2", sid_7.data, p0, p0, sid_6.data, workspace)
        T.call_extern("int32", "conv2d_add", sid_2.data, p0, sid_6.data, output, workspace)

    before = {
        "requantize": copy(360000, "uint8", "int16"),
        "conv2d": resnet_convolution(360000, 1, "int16"),
        "conv2d_1": suffixed(resnet_convolution(379456, 1, "int16"), "_1"),
        "conv2d_2": suffixed(resnet_convolution(360000, 4, "int32"), "_2"),
        "conv2d_add": resnet_add,
    }
    expected = {
        "requantize": copy(360000, "uint8", "int16"),
        "conv2d": resnet_convolution_planned(360000, 1, "int16", 7200000, 7920000),
        "conv2d_1": resnet_convolution_planned(379456, 1, "int16", 0, 7200000),
        "conv2d_2": resnet_convolution_planned(360000, 4, "int32", 7200000, 7920000),
        "conv2d_add": resnet_add_planned,
    }
    offsets = {
        "sid_2": 5760000,
        "sid_6": 0,
        "sid_7": 6480000,
        "sid_8": 6480000,
        "PaddedInput": 7200000,
        "PaddedInput_1": 0,
        "PaddedInput_2": 7200000,
        "PaddedInput_3": 6480000,
        "Conv2dOutput": 7920000,
        "Conv2dOutput_1": 7200000,
        "Conv2dOutput_2": 7920000,
        "Conv2dOutput_3": 7200000,
    }
    places = {name: (WORKSPACE, offset) for name, offset in offsets.items()}
    assert_becomes(module(resnet_main, before), places, module(resnet_main_planned, expected))


def test_tensor_intrin():
    @I.ir_module
    class Before:
        @T.prim_func
        def intrin():
            dense = T.alloc_buffer((10,), "int32")
            T.call_extern(
                "int32",
                "intrin_function",
                T.tvm_access_ptr(T.type_annotation("int32"), dense.data, 0, 1, 2),
            )
            dense[0] = dense[0] * 2

        @T.prim_func
        def __tvm_main__(input: T.handle, output: T.handle):
            T.call_extern("int32", "intrin")

    @I.ir_module
    class Expected:
        @T.prim_func
        def intrin(workspace: T.handle("uint8")):
            pool = T.decl_buffer((40,), "uint8", data=workspace, align=16)
            dense = T.decl_buffer((10,), "int32", data=T.address_of(pool[0]))
            T.call_extern(
                "int32",
                "intrin_function",
                T.tvm_access_ptr(T.type_annotation("int32"), dense.data, 0, 1, 2),
            )
            dense[0] = dense[0] * 2

        @T.prim_func
        def __tvm_main__(input: T.handle, output: T.handle, workspace: T.handle("uint8")):
            pool = T.decl_buffer((40,), "uint8", data=workspace, align=16)  # noqa: F841
            T.call_extern("int32", "intrin", workspace)

    assert_becomes(Before, {"dense": (WORKSPACE, 0)}, Expected)


@T.prim_func
def subroutine(A: T.Buffer((256,), "int8"), B: T.Buffer((256,), "int8")):
    for i in range(256):
        B[i] = A[i]


def test_merge_allocations():
    @T.prim_func
    def before(A: T.Buffer((256,), "int8"), D: T.Buffer((256,), "int8")):
        B = T.alloc_buffer((256,), "int8")
        T.call_extern("int32", "subroutine", A.data, B.data)
        C = T.alloc_buffer((256,), "int8")
        T.call_extern("int32", "subroutine", B.data, C.data)
        T.call_extern("int32", "subroutine", C.data, D.data)

    @T.prim_func
    def expected(
        A: T.Buffer((256,), "int8"), D: T.Buffer((256,), "int8"), workspace: T.handle("uint8")
    ):
        pool = T.decl_buffer((512,), "uint8", data=workspace, align=16)
        B = T.decl_buffer((256,), "int8", data=T.address_of(pool[256]))
        T.call_extern("int32", "subroutine", A.data, B.data)
        C = T.decl_buffer((256,), "int8", data=T.address_of(pool[0]))
        T.call_extern("int32", "subroutine", B.data, C.data)
        T.call_extern("int32", "subroutine", C.data, D.data)

    places = {"B": (WORKSPACE, 256), "C": (WORKSPACE, 0)}
    operators = {"subroutine": subroutine}
    assert_becomes(module(before, operators), places, module(expected, operators))


def test_merge_allocations_with_decl_buffer():
    @T.prim_func
    def before(A: T.Buffer((256,), "int8"), D: T.Buffer((256,), "int8")):
        B_data = T.alloc_buffer((256,), "int8")
        B = T.decl_buffer((256,), "int8", data=B_data.data)
        T.call_extern("int32", "subroutine", A.data, B.data)
        C_data = T.alloc_buffer((256,), "int8")
        C = T.decl_buffer((256,), "int8", data=C_data.data)
        T.call_extern("int32", "subroutine", B.data, C.data)
        T.call_extern("int32", "subroutine", C.data, D.data)

    @T.prim_func
    def expected(
        A: T.Buffer((256,), "int8"), D: T.Buffer((256,), "int8"), workspace: T.handle("uint8")
    ):
        pool = T.decl_buffer((512,), "uint8", data=workspace, align=16)
        B_data = T.decl_buffer((256,), "int8", data=T.address_of(pool[256]))
        B = T.decl_buffer((256,), "int8", data=B_data.data)
        T.call_extern("int32", "subroutine", A.data, B.data)
        C_data = T.decl_buffer((256,), "int8", data=T.address_of(pool[0]))
        C = T.decl_buffer((256,), "int8", data=C_data.data)
        T.call_extern("int32", "subroutine", B.data, C.data)
        T.call_extern("int32", "subroutine", C.data, D.data)

    places = {"B_data": (WORKSPACE, 256), "C_data": (WORKSPACE, 0)}
    operators = {"subroutine": subroutine}
    assert_becomes(module(before, operators), places, module(expected, operators))
