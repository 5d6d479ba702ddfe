"""Constant pools of ConvertPoolAllocationsToOffsets: which bytes are where."""

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from support.pool_conversion import assert_becomes, convert, pool_args
from usmp.objects import ConstantPoolInfo, WorkspacePoolInfo
from usmp.objects.attributes.module_attributes import POOL_ARGS_ATTR

FIRST = tvm.runtime.tensor(np.array([1, 2, 3, 4], "int8"))
SECOND = tvm.runtime.tensor(np.array([5, 6, 7, 8], "int8"))
FAST = WorkspacePoolInfo("fast", ["c"])
FLASH = ConstantPoolInfo("flash", ["c"])


def test_constants_become_content_of_their_pool():
    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__():
            late = T.alloc_buffer((4,), "int8", annotations={"constant_data": FIRST})
            early = T.alloc_buffer((4,), "int8", annotations={"constant_data": SECOND})
            a = T.alloc_buffer((4,), "int8")
            a[0] = late[0] + early[0]

    @I.ir_module
    class Expected:
        @T.prim_func
        def __tvm_main__(fast: T.handle("uint8"), flash: T.handle("uint8")):
            fast_pool = T.decl_buffer((4,), "uint8", data=fast, align=16)
            flash_pool = T.decl_buffer((20,), "uint8", data=flash, align=16)
            late = T.decl_buffer((4,), "int8", data=T.address_of(flash_pool[16]))
            early = T.decl_buffer((4,), "int8", data=T.address_of(flash_pool[0]))
            a = T.decl_buffer((4,), "int8", data=T.address_of(fast_pool[0]))
            a[0] = late[0] + early[0]

    places = {"late": (FLASH, 16), "early": (FLASH, 0), "a": (FAST, 0)}
    assert_becomes(Before, places, Expected)
    fast, flash = convert(Before, places).attrs[POOL_ARGS_ATTR.name]
    assert isinstance(fast.pool_info, WorkspacePoolInfo)
    assert [
        (constant.name_hint, constant.byte_offset, constant.data.numpy().tolist())
        for constant in flash.pool_info.constant_info_array
    ] == [("early", 0, [5, 6, 7, 8]), ("late", 16, [1, 2, 3, 4])]


@I.ir_module
class TwoConstants:
    """`same` has the content of `first`, `other` has not."""

    @T.prim_func
    def op():
        same = T.alloc_buffer((4,), "int8", annotations={"constant_data": FIRST})
        other = T.alloc_buffer((4,), "int8", annotations={"constant_data": SECOND})
        T.evaluate(T.call_extern("int32", "f", same[0], other[0]))

    @T.prim_func
    def __tvm_main__():
        first = T.alloc_buffer((4,), "int8", annotations={"constant_data": FIRST})
        T.evaluate(T.call_extern("int32", "f", first[0]))
        TwoConstants.op()


def content(mod):
    (flash,) = mod.attrs[POOL_ARGS_ATTR.name]
    return [(c.name_hint, c.byte_offset) for c in flash.pool_info.constant_info_array]


def test_identical_constants_in_the_same_bytes_are_listed_once():
    after = convert(TwoConstants, {"first": (FLASH, 0), "same": (FLASH, 0), "other": (FLASH, 16)})
    assert len(content(after)) == 2
    assert {offset for _, offset in content(after)} == {0, 16}
    assert pool_args(after) == [("flash", 20, 0)]


@pytest.mark.parametrize(
    ("name", "offset", "where"), [("same", 2, 'byte 0 and "same"'), ("other", 0, '"other"')]
)
def test_different_content_in_the_same_bytes(name, offset, where):
    places = {"first": (FLASH, 0), "same": (FLASH, 16), "other": (FLASH, 32)}
    with pytest.raises(ValueError) as error:
        convert(TwoConstants, places | {name: (FLASH, offset)})
    message = str(error.value).partition("\n")[0]
    assert message.endswith('of pool "flash" share bytes, but their content differs')
    assert {'"first"' in message, f'"{name}"' in message} == {True}


def test_constants_of_several_pools():
    rom = ConstantPoolInfo("rom", ["c"])
    after = convert(TwoConstants, {"first": (FLASH, 0), "same": (rom, 0), "other": (rom, 16)})
    flash, in_rom = after.attrs[POOL_ARGS_ATTR.name]
    assert [c.name_hint for c in flash.pool_info.constant_info_array] == ["first"]
    assert [c.name_hint for c in in_rom.pool_info.constant_info_array] == ["same", "other"]
    assert pool_args(after["op"]) == [("rom", 20, 1)]
    assert pool_args(after["__tvm_main__"]) == [("flash", 4, 0), ("rom", 20, 1)]


def test_a_constant_of_no_bytes_between_identical_ones():
    empty = tvm.runtime.tensor(np.zeros(0, "int8"))

    @I.ir_module
    class Before:
        @T.prim_func
        def __tvm_main__():
            a = T.alloc_buffer((4,), "int8", annotations={"constant_data": FIRST})
            none = T.alloc_buffer((0,), "int8", annotations={"constant_data": empty})  # noqa: F841
            b = T.alloc_buffer((4,), "int8", annotations={"constant_data": FIRST})
            T.evaluate(T.call_extern("int32", "f", a[0], b[0]))

    after = convert(Before, {"a": (FLASH, 0), "none": (FLASH, 0), "b": (FLASH, 0)})
    assert content(after) == [("a", 0), ("none", 0)]
