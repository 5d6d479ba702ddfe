"""About how many bytes a chain of operators takes, in strips or in one."""

from __future__ import annotations

import pytest
from tvm import relax
from tvm.ir import IRModule

from usmp.ops.form import AxisRead
from usmp.relax.transform.strips.strip_chain import StripChain, StripMain, Tensor
from usmp.relax.transform.strips.strip_costs import ChainBytes, ChainCosts, operator_bytes
from usmp.relax.transform.strips.strip_operator import StripOperator


def window(kernel: int, stride: int = 1, dilation: int = 1, padding: int = 0) -> AxisRead:
    return AxisRead(0, stride, -padding, (kernel - 1) * dilation + 1)


ONE = window(1)


class Main:
    """Operators of images of (1, rows, columns, channels) bytes, by the names of their results.

    `x` is the input; each operator reads tensors by name, and moves over rows and columns alike.
    """

    def __init__(self, x: tuple[int, int, int], **operators: tuple) -> None:
        shapes = {"x": x, **{name: shape for name, (shape, *_) in operators.items()}}
        self.vars = {
            name: relax.Var(name, relax.TensorType((1, *shape), "int8"))
            for name, shape in shapes.items()
        }
        names = list(operators)
        last = {name: -1 for name in self.vars}
        made = []
        for index, (_, reads, *taps) in enumerate(operators.values()):
            for read in reads:
                last[read] = index
            rows, columns = (taps * 2)[:2] if taps else (None, None)
            operands = [self.vars[read] for read in reads]
            sides = ([(operand, side) for operand in operands] for side in (rows, columns))
            made.append(rows and StripOperator(*sides, 1))
        last[names[-1]] = len(names)
        self.tensors = {
            var: Tensor(
                var.ty.shape[1].value * var.ty.shape[2].value * var.ty.shape[3].value,
                names.index(name) if name in names else -1,
                last[name],
                False,
            )
            for name, var in self.vars.items()
        }
        variables = [self.vars[name] for name in names]
        self.main = StripMain(IRModule({}), variables, names, made, self.tensors, {}, frozenset())

    def of_application(self, name: str) -> None:
        var = self.vars[name]
        known = self.tensors[var]
        self.tensors[var] = Tensor(known.size_bytes, known.made, known.last, True)

    def costs(self, *strips: dict[str, int], start: int = 0, stop: int | None = None) -> ChainBytes:
        """Of strips of so many columns."""
        stop = len(self.main.operators) if stop is None else stop
        ranges = [{self.vars[name]: (0, width) for name, width in each.items()} for each in strips]
        return ChainCosts(self.main, start, stop).of(StripChain(start, stop, ranges, 0, 0))


def chain(**taps: AxisRead) -> Main:
    """Three operators that keep the shape of 10 rows, 8 columns and 2 channels."""
    shape = (10, 8, 2)
    kinds = [taps.get(name, ONE) for name in "abc"]
    return Main(
        shape,
        a=(shape, ["x"], kinds[0]),
        b=(shape, ["a"], kinds[1]),
        c=(shape, ["b"], kinds[2]),
    )


WHOLE = dict.fromkeys("abc", 8)


@pytest.mark.parametrize(
    ("taps", "by_rows", "by_columns"),
    [
        # A row of a and of b; or a pixel of each.
        ({}, 16 + 16, 2 + 2),
        ({"b": window(3, 1, 1, 1)}, 3 * 16 + 16, 2 * 16 + 3 * 2 + 2),
        ({"c": window(3, 1, 1, 1)}, 16 + 3 * 16, 2 + 2 * 16 + 3 * 2),
        ({"b": window(2, 1, 3, 1)}, 4 * 16 + 16, 3 * 16 + 4 * 2 + 2),
        # What the first operator reads is there anyway.
        ({"a": window(3, 1, 1, 1)}, 16 + 16, 2 + 2),
        # No more rows or columns than there are.
        ({"b": window(30, 1, 1, 15)}, 10 * 16 + 16, 9 * 16 + 8 * 2 + 2),
    ],
)
def test_rings_hold_the_rows_that_an_operator_reads(taps, by_rows, by_columns):
    found = chain(**taps).costs(WHOLE)
    # In one, what dies and what is made lie over each other.
    assert found == ChainBytes(160 + by_rows, 160 + by_columns)


def test_strips_hold_fewer_columns_and_all_that_they_read_and_write():
    main = chain(b=window(3, 1, 1, 1))
    narrow, wide = {"a": 4, "b": 3, "c": 2}, {"a": 6, "b": 6, "c": 6}
    by_rows = (3 * 6 + 6) * 2 + 6 * 2
    by_columns = (2 * 6 + 3 + 1) * 2 + 2
    assert main.costs(narrow, wide) == ChainBytes(320 + by_rows, 320 + by_columns)
    assert main.costs(wide, narrow) == ChainBytes(320 + by_rows, 320 + by_columns)


def test_columns_are_no_more_than_rows():
    """Of one column, a pixel of the output is as much as its row."""
    main = chain()
    one = dict.fromkeys("abc", 1)
    assert main.costs(one, one) == ChainBytes(320 + 3 * 2, 320 + 3 * 2)


@pytest.mark.parametrize(
    ("start", "stop", "one", "strips"),
    [
        # x dies, c is made.
        (0, 3, 160, 320),
        (0, 1, 160, 320),
        (1, 2, 160, 320),
        (2, 3, 160, 320),
    ],
)
def test_tensors_beside_the_rings(start, stop, one, strips):
    main = chain()
    rings = sum(16 for name in "abc"[start : stop - 1])
    assert main.costs(WHOLE, start=start, stop=stop).by_rows == one + rings
    assert main.costs(WHOLE, WHOLE, start=start, stop=stop).by_rows == strips + rings + 16
    assert operator_bytes(main.main, start) == 320


def residual() -> Main:
    """`d` reads what is left of x beside c."""
    shape, half = (10, 8, 2), (10, 8, 1)
    return Main(
        shape,
        a=(half, ["x"], ONE),
        b=(half, ["a"], window(3, 1, 1, 1)),
        c=(shape, ["b"], window(3, 1, 1, 1)),
        d=(shape, ["c", "x"], ONE),
    )


def test_what_is_read_behind_the_chain_is_kept():
    main = residual()
    # x stays, c is made.
    assert main.costs(dict.fromkeys("abc", 8), stop=3).by_rows == 160 + 160 + 3 * 8 + 3 * 8
    # What the application has takes nothing.
    main.of_application("x")
    assert main.costs(dict.fromkeys("abc", 8), stop=3).by_rows == 160 + 3 * 8 + 3 * 8
    assert operator_bytes(main.main, 3) == 160 + 160
    assert operator_bytes(main.main, 1) == 80 + 80


def test_a_tensor_with_two_readers_waits_for_the_slower_one():
    """`a` is read by a sum, too, which is three rows behind the convolutions."""
    shape, taps = (12, 8, 1), window(3, 1, 1, 1)
    main = Main(
        shape,
        a=(shape, ["x"], ONE),
        b=(shape, ["a"], taps),
        c=(shape, ["b"], taps),
        d=(shape, ["c"], taps),
        e=(shape, ["d", "a"], ONE),
    )
    found = main.costs(dict.fromkeys("abcde", 8))
    rows = {"a": 4, "b": 3, "c": 3, "d": 1}
    assert found.by_rows == 96 + sum(rows.values()) * 8


def test_strides_read_more_rows_at_once():
    main = Main(
        (16, 8, 1),
        a=((16, 8, 1), ["x"], ONE),
        b=((8, 4, 1), ["a"], window(2, 2)),
        c=((4, 2, 1), ["b"], window(3, 2, 1, 1)),
    )
    found = main.costs({"a": 8, "b": 4, "c": 2})
    assert found == ChainBytes(128 + 2 * 8 + 3 * 4, 128 + (8 + 2) + (2 * 4 + 3))


def test_operators_that_are_not_known_have_no_rings():
    main = Main((4, 4, 1), a=((4, 4, 1), ["x"], ONE), b=((4, 4, 1), ["a"]))
    assert operator_bytes(main.main, 1) == 32
