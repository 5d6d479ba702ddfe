"""Live ranges of straight code and branches; errors. Positions stand beside the statements."""

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from support.liveness_views import ranges
from usmp.analysis.memory.facts import analyze_liveness
from usmp.analysis.memory.function_liveness import merge_ranges

# ---- statements


def test_from_the_first_access_to_the_last():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            b = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)  # 0
            a[1] = T.int8(1)  # 1
            b[0] = a[1]  # 2
            b[1] = T.int8(1)  # 3

    assert ranges(Mod) == {"a": [(0, 3)], "b": [(2, 4)]}


def test_never_accessed():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")  # noqa: F841
            T.evaluate(1)

    assert ranges(Mod) == {"a": []}


def test_an_index_that_is_loaded():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            index = T.alloc_buffer((4,), "int32")
            index[0] = 1  # 0
            a[0] = T.int8(1)  # 1
            a[index[0]] = T.int8(1)  # 2

    assert ranges(Mod) == {"a": [(1, 3)], "index": [(0, 3)]}


def test_branches_follow_each_other():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(n: T.int32):
            a = T.alloc_buffer((4,), "int8")
            if n > 0:  # 0
                b = T.alloc_buffer((4,), "int8")
                b[0] = T.int8(1)  # 1
                a[0] = b[0]  # 2
            else:
                c = T.alloc_buffer((4,), "int8")
                c[0] = T.int8(1)  # 3
                a[0] = c[0]  # 4

    assert ranges(Mod) == {"a": [(2, 5)], "b": [(1, 3)], "c": [(3, 5)]}


def test_branch_without_else():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(n: T.int32):
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)  # 0
            if n > 0:  # 1
                a[1] = T.int8(1)  # 2

    assert ranges(Mod) == {"a": [(0, 3)]}


def test_condition_of_a_branch():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)  # 0
            if a[0] > T.int8(0):  # 1
                T.evaluate(1)  # 2

    assert ranges(Mod) == {"a": [(0, 2)]}


def test_condition_of_an_assertion():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)  # 0
            assert a[0] > T.int8(0), "positive"  # 1

    assert ranges(Mod) == {"a": [(0, 2)]}


def test_attributes_are_transparent():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main():
            a = T.alloc_buffer((4,), "int8")
            with T.attr(0, "pragma_scope", 1):  # 0
                a[0] = T.int8(1)  # 1

    assert ranges(Mod) == {"a": [(1, 2)]}


def test_an_early_return_leaves_what_follows_in_place():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(n: T.int32) -> T.int32:
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)  # 0
            if n > 0:  # 1
                return 1  # 2
            a[1] = T.int8(1)  # 3
            return 0  # 4

    assert ranges(Mod) == {"a": [(0, 4)]}


# ---- errors


def test_recursion_is_refused():
    @I.ir_module
    class Mod:
        @T.prim_func
        def even(n: T.int32):
            Mod.odd(n - 1)

        @T.prim_func
        def odd(n: T.int32):
            Mod.even(n - 1)

        @T.prim_func
        def main():
            Mod.even(4)

    with pytest.raises(ValueError) as error:
        analyze_liveness("main", Mod)
    assert str(error.value) == "recursion cannot be planned statically: even -> odd -> even"


def test_blocks_are_refused():
    @I.ir_module
    class Mod:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((4,), "int8")):
            with T.sblock("block"):
                A[0] = T.int8(1)

    with pytest.raises(ValueError, match=r"^main: SBlockRealize found; lower .*LowerToFlatTIR"):
        analyze_liveness("main", Mod)


@pytest.mark.parametrize(
    ("given", "merged"),
    [
        ([], []),
        ([(4, 6), (0, 2)], [(0, 2), (4, 6)]),
        ([(0, 2), (2, 4)], [(0, 4)]),
        ([(0, 6), (2, 4), (5, 7)], [(0, 7)]),
    ],
)
def test_merge_ranges(given, merged):
    assert merge_ranges(given) == merged


def test_ir_is_not_changed():
    @I.ir_module
    class Mod:
        @T.prim_func
        def main(n: T.int32):
            a = T.alloc_buffer((4,), "int8")
            a[0] = T.int8(1)

    before = tvm.ir.load_json(tvm.ir.save_json(Mod))
    analyze_liveness("main", Mod)
    tvm.ir.assert_structural_equal(Mod, before)
