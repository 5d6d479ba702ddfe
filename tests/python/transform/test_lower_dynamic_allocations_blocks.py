"""Which buffers use the same blocks of the arena, and in which order blocks are allocated."""

from tvm.script import tirx as T

from support.lowered_allocations import allocations, lines, lower, main_of


def test_what_is_used_for_longer_lies_below():
    @T.prim_func
    def main(x: T.handle("int8"), n: T.int32, m: T.int32):
        A = T.decl_buffer((n,), "int8", data=x)
        a = T.alloc_buffer((n,), "int8")
        b = T.alloc_buffer((m,), "int8")
        T.alloc_buffer((n,), "int8")
        T.evaluate(T.call_extern("int32", "both", a.data, b.data))
        A[0] = b[0]
        T.evaluate(T.call_extern("int32", "nothing"))

    after = lower(main_of(main))["__tvm_main__"]
    # Nothing uses the third one.
    assert allocations(after) == ["+b", "+a", "-a", "-b", "return"]


def test_an_address_that_is_kept_may_be_used_to_the_end():
    @T.prim_func
    def main(x: T.handle("int64"), n: T.int32):
        A = T.decl_buffer((n,), "int64", data=x)
        a = T.alloc_buffer((n,), "int8")
        A[0] = T.reinterpret("int64", a.data)
        A[1] = T.int64(1)
        b = T.alloc_buffer((n,), "int8")
        b[0] = T.int8(1)

    assert allocations(lower(main_of(main))["__tvm_main__"]) == ["+a", "+b", "-b", "-a", "return"]


def test_buffers_of_one_size_use_the_same_blocks():
    @T.prim_func
    def main(x: T.handle("int8"), n: T.int32, m: T.int32):
        a = T.alloc_buffer((n * 4,), "int8")
        b = T.alloc_buffer((n * 8,), "int8")
        c = T.alloc_buffer((n * 2,), "int16")
        d = T.alloc_buffer((8 * n,), "int8")
        e = T.alloc_buffer((m * 4,), "int8")
        f = T.alloc_buffer((n,), "int8")
        T.evaluate(T.call_extern("int32", "op", x, a.data))
        T.evaluate(T.call_extern("int32", "op", a.data, b.data))
        T.evaluate(T.call_extern("int32", "op", b.data, c.data))
        T.evaluate(T.call_extern("int32", "op", c.data, d.data))
        T.evaluate(T.call_extern("int32", "op", d.data, e.data))
        T.evaluate(T.call_extern("int32", "op", e.data, f.data))

    # c is as large as a; f fits into the blocks of both, of which that of a is the smaller one.
    assert allocations(lower(main_of(main))["__tvm_main__"]) == [
        *("+a", "+b", "c=a", "d=b", "+e", "f=a", "-e", "-b", "-a", "return")
    ]


def test_a_block_is_as_large_as_the_largest_buffer_in_it():
    @T.prim_func
    def main(x: T.handle("int8"), n: T.int32):
        a = T.alloc_buffer((n,), "int8")
        b = T.alloc_buffer((n * 4,), "int8", align=256)
        T.evaluate(T.call_extern("int32", "op", x, a.data))
        T.evaluate(T.call_extern("int32", "op", x, b.data))
        c = T.alloc_buffer((n * 8,), "int8")
        T.evaluate(T.call_extern("int32", "op", x, c.data))

    after = lower(main_of(main))["__tvm_main__"]
    # The size of c is known only when the block is there.
    assert "b_block = allocate(b_bytes, 256)" in lines(after)
    assert allocations(after) == ["+b", "a=b", "-b", "+c", "-c", "return"]


def test_buffers_whose_sizes_cannot_be_compared_have_blocks_of_their_own():
    # Memory may hold another size at the time when the second of two is declared.
    @T.prim_func
    def of_other_sizes(x: T.handle("int32"), n: T.int32):
        counts = T.decl_buffer((2,), "int32", data=x)
        a = T.alloc_buffer((n + 1,), "int8")
        b = T.alloc_buffer((n,), "int8")
        c = T.alloc_buffer((counts[0],), "int8")
        d = T.alloc_buffer((counts[0],), "int8")
        T.evaluate(T.call_extern("int32", "op", a.data))
        T.evaluate(T.call_extern("int32", "op", b.data))
        T.evaluate(T.call_extern("int32", "op", c.data))
        T.evaluate(T.call_extern("int32", "op", d.data))

    assert allocations(lower(main_of(of_other_sizes))["__tvm_main__"]) == [
        *("+a", "-a", "+b", "-b", "+c", "-c", "+d", "-d", "return")
    ]


def test_a_block_of_n_elements_has_no_room_for_n_squared():
    @T.prim_func
    def main(x: T.handle("int8"), n: T.int32):
        a = T.alloc_buffer((n * 32,), "int8")
        b = T.alloc_buffer((n * n * 4,), "int8")
        T.evaluate(T.call_extern("int32", "op", x, a.data))
        T.evaluate(T.call_extern("int32", "op", x, b.data))

    after = lower(main_of(main))["__tvm_main__"]
    assert allocations(after) == ["+a", "-a", "+b", "-b", "return"]
