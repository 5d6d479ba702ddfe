"""First and last bytes of addresses in loops, against all of their values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import IRModule

from support.tir_interpreter import Interpreter
from usmp.analysis.memory.indices.index_values import Bindings, NotKnown
from usmp.analysis.memory.indices.iterations import TracedLoop
from usmp.analysis.memory.indices.linear_addresses import LoopNest
from usmp.analysis.memory.indices.linear_sums import NotLinear
from usmp.analysis.memory.memories import Term

X, Y, Z = (tirx.Var(name, "int32") for name in "xyz")
B = tirx.Var("b", "int32")
BOUND = X + Y
"""What `B` is bound to."""
INTERPRETER = Interpreter(IRModule())


def loop(variable, extent, first=0, step=1):
    trips = -(-extent // step)
    return TracedLoop(
        variable, tirx.IntImm("int32", first), tirx.IntImm("int32", extent), step, trips, True
    )


LOOPS = (loop(X, 4), loop(Y, 5, first=2, step=2), loop(Z, 3))
RANGES = {X: range(4), Y: range(2, 7, 2), Z: range(3)}


def nest(*loops, b=None):
    bindings = Bindings()
    if b is not None:
        bindings[B] = b
    return LoopNest(loops or LOOPS, bindings)


def values_of(expr, variables):
    """The values of an expression, one a lane."""
    return np.atleast_1d(INTERPRETER.value(expr, variables))


def expected(terms, conditions, common):
    """Least and greatest in each iteration of the outer loops, and whether it happens there."""
    shape = [len(values) for values in list(RANGES.values())[:common]]
    least, greatest = np.full(shape, 10**9), np.full(shape, -(10**9))
    for at in product(*(enumerate(values) for values in RANGES.values())):
        values = {variable: value for variable, (_, value) in zip(RANGES, at, strict=True)}
        values[B] = values_of(BOUND, values).item()
        if all((values_of(c, values) == truth).any() for c, truth in conditions):
            total = sum(values_of(term.index, values) * term.unit_bytes for term in terms)
            place = tuple(index for index, _ in at[:common])
            least[place] = min(least[place], total.min())
            greatest[place] = max(greatest[place], total.max())
    return least, greatest, least <= greatest


ADDRESSES = {
    "constant": [Term(tirx.IntImm("int32", 7), 4)],
    "sum": [Term(X * 12 + Y * 3 - Z, 2), Term(tirx.IntImm("int32", 5), 1)],
    "downwards": [Term(20 - Y * 2 - X, 4)],
    "product_on_the_left": [Term(tirx.Mul(tirx.IntImm("int32", 3), Y) + Z, 1)],
    "quotient": [Term(tirx.FloorDiv(X, 2) * 8 + Z, 1)],
    "remainder_of_two": [Term(tirx.FloorMod(X + Y, 3) * 5 - Z * 2, 1)],
    "two_parts": [Term(tirx.FloorDiv(X, 2) - tirx.FloorMod(Y, 4) * 3, 2)],
    "product_of_variables": [Term(X * Y + Z, 1)],
    "maximum": [Term(tirx.Max(X, 2) * 4 + Y, 1)],
    "same_part_twice": [Term(tirx.FloorDiv(X, 3), 4), Term(tirx.FloorDiv(X, 3), 2)],
    "bound": [Term(B * 2 + Z, 1)],
    "cast": [Term(tirx.Cast("int64", X) * tirx.IntImm("int64", 3), 1)],
    "lanes": [Term(tirx.Ramp(X * 4, 1, 4), 1)],
    "lanes_downwards": [Term(tirx.Ramp(Y, -3, 4), 2)],
    "broadcast": [Term(tirx.Broadcast(Y, 4) + tirx.Ramp(Z, 2, 4), 1)],
}
CONDITIONS = {
    "always": [],
    "first": [(X < 2, True)],
    "not_first": [(X < 2, False)],
    "inner": [(Z >= 1, True), (Y < 6, True)],
    "never_for_some": [(X + Z < 4, True)],
    "one": [(Y.equal(4), True), (X < 3, True)],
    "never": [(Z >= 3, True)],
    "bound": [(B < 4, True)],
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_ends_are_those_of_all_iterations(address):
    """For any number of outer loops, and under any condition."""
    terms = tuple(ADDRESSES[address])
    shared = nest(b=BOUND)
    for (name, conditions), common in product(CONDITIONS.items(), range(4)):
        least, greatest, happens = shared.ends(terms, conditions, common)
        low, high, truth = expected(terms, conditions, common)
        found = np.broadcast_to(True if happens is None else happens, truth.shape)
        np.testing.assert_array_equal(found, truth, err_msg=name)
        for values, wanted in ((least, low), (greatest, high)):
            values = np.broadcast_to(values, wanted.shape)
            np.testing.assert_array_equal(values[truth], wanted[truth], err_msg=name)


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_greatest_address(address):
    terms = tuple(ADDRESSES[address])
    assert nest(b=BOUND).greatest(terms) == expected(terms, [], 0)[1].item()


def test_nests_with_the_same_outer_loops_know_the_same():
    bindings = Bindings()
    assert LoopNest.of(LOOPS, bindings) is LoopNest.of(LOOPS, bindings)
    assert LoopNest.of(LOOPS[:2], bindings) is not LoopNest.of(LOOPS, bindings)


@pytest.mark.parametrize(
    "index",
    [
        tirx.Var("unknown", "int32"),
        tirx.decl_buffer((4,), "int32", "data")[X],
        tirx.Cast("int8", X * 100),
        tirx.Cast("uint8", X - 1),
        X * 1000000000,
        tirx.FloorDiv(tirx.Ramp(X, 1, 4), tirx.Broadcast(tirx.IntImm("int32", 2), 4)),
        tirx.Ramp(X, Y, 4),
    ],
    ids=str,
)
def test_other_addresses_take_other_rules(index):
    terms = (Term(index, 1),)
    for _ in range(2):
        with pytest.raises(NotLinear):
            nest().ends(terms, [], 1)
    with pytest.raises(NotLinear):
        nest().greatest(terms)


def test_vectors_of_small_integers_hold_all_of_their_lanes():
    """From 100 to 127, and from -101 to -128."""
    for first, stride, last in ((100, 9, 127), (-101, -9, -128)):
        ramp = tirx.Ramp(tirx.IntImm("int8", first), tirx.IntImm("int8", stride), 4)
        least, greatest, _ = nest().ends((Term(ramp, 1),), [], 0)
        assert {int(least), int(greatest)} == {first, last}
        beyond = tirx.Ramp(tirx.IntImm("int8", first), tirx.IntImm("int8", stride), 5)
        with pytest.raises(NotLinear):
            nest().ends((Term(beyond, 1),), [], 0)


def test_loops_of_one_iteration():
    assert nest(loop(X, 1, first=3), loop(Y, 4)).greatest((Term(X * 10 + Y, 2),)) == 66


def test_sums_that_differ_by_a_factor_or_constant():
    """What is known of one of them is not taken for others with other factors or lanes."""
    found = nest(b=tirx.FloorDiv(X, 2))
    for index, greatest in (
        *((B, 1), (B * 2, 2), (B * 2 + 5, 7), (B + X, 4), (B + X * 2, 7)),
        *((tirx.Ramp(X, 1, 4), 6), (tirx.Ramp(X, 1, 8), 10)),
    ):
        assert found.ends([Term(index, 1)], [], 0)[1].item() == greatest


def test_extents_that_depend_on_other_loops():
    """The last iteration of such a loop is another one in each iteration of the outer loop, and
    where it has none, nothing happens."""
    by_two = TracedLoop(Y, tirx.IntImm("int32", 1), X, 2, 2, True)
    found = nest(loop(X, 5), by_two, loop(Z, 3))
    least, greatest, happens = found.ends([Term(X * 10 - Y * 2 + Z, 1)], [], 1)
    assert happens.tolist() == [False, True, True, True, True]
    assert least.tolist()[1:] == [8, 18, 24, 34]
    assert greatest.tolist()[1:] == [10, 20, 30, 40]
    for needs_all in ([Term(tirx.FloorDiv(Y, 2), 1)], []), ([Term(Z, 1)], [(Y < 2, True)]):
        with pytest.raises(NotLinear):
            found.ends(*needs_all, 1)
    with pytest.raises(NotLinear):
        found.ends([Term(Y, 1)], [], 2)


@pytest.mark.parametrize(
    "irregular",
    [
        TracedLoop(Y, X, tirx.IntImm("int32", 4), 1, 4, True),
        TracedLoop(Y, tirx.IntImm("int32", 0), tirx.IntImm("int32", 4), 1, None, True),
        TracedLoop(Y, tirx.IntImm("int32", 0), tirx.IntImm("int32", 0), 1, 0, True),
        loop(X, 4),
    ],
)
def test_loops_that_take_other_rules(irregular):
    for function in (lambda n, terms: n.ends(terms, [], 1), lambda n, terms: n.greatest(terms)):
        with pytest.raises(NotLinear):
            function(nest(loop(X, 4), irregular), (Term(X, 1),))


def test_addresses_of_too_many_bytes_take_other_rules():
    wide = (Term(tirx.IntImm("int64", 2**40), 2**20),)
    with pytest.raises(NotLinear):
        nest().greatest(wide)
    assert nest().greatest((Term(tirx.IntImm("int64", 2**40 - 1), 2**20),)) == 2**60 - 2**20


def test_too_many_addresses_are_not_known():
    """Each of 2**21 iterations has one of its own; of the inner ones, only the ends count."""
    many = nest(loop(X, 2**11), loop(Y, 2**10))
    terms = (Term(X * 2**10 + Y, 1),)
    with pytest.raises(NotKnown):
        many.ends(terms, [], 2)
    least, greatest, happens = many.ends(terms, [], 1)
    assert happens is None
    assert (least.size, int(greatest.max() - least.min())) == (2**11, 2**21 - 1)
