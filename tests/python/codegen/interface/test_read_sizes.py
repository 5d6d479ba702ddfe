"""Symbolic sizes of entries are read of a planned module, or refused where C cannot take them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tvm import tirx
from tvm.ir import IRModule

from support.interface_views import entry, placed, tensor
from usmp.codegen.interface.read_sizes import with_sizes
from usmp.objects import Executor
from usmp.objects.attributes.module_attributes import BOARD_ATTR, SYMBOLIC_SIZES_ATTR
from usmp.objects.input_window import InputWindow
from usmp.objects.symbolic_size import SymbolicSize

AOT = Executor("aot")
PACKED = Executor("aot", {"interface-api": "packed"})
N, M = tirx.Var("n", "int64"), tirx.Var("m", "int64")
SIZE = SymbolicSize("n", 2, 8)
OPEN = SymbolicSize("m", 3, None)


def main(sizes=(SIZE,), params=("x", "n"), dtype="int32"):
    """A PrimFunc with parameters of these names, of which all but "x" and "y" are sizes."""
    variables = [tirx.Var(name, "handle" if name in "xy" else dtype) for name in params]
    func = tirx.PrimFunc(variables, tirx.Evaluate(0))
    return func.with_attr(SYMBOLIC_SIZES_ATTR.name, list(sizes)) if sizes else func


def shaped(shape, symbolic, name="x", **more):
    return tensor(name, shape, symbolic_shape=[_extent(each) for each in symbolic], **more)


def _extent(value):
    return tirx.IntImm("int64", value) if isinstance(value, int) else value


X = shaped((8, 4), [N, 4])


def sizes_of(func=None, inputs=(X,), outputs=(), executor=AOT, **attrs):
    one = entry("main", inputs, outputs)
    mod = IRModule({"__tvm_main__": func or main()})
    (found,) = with_sizes(mod.with_attrs(attrs) if attrs else mod, [one], executor)
    assert (found.inputs, found.outputs) == (list(inputs), list(outputs))
    return [(s.name, s.c_name, s.lower_bound, s.upper_bound) for s in found.sizes]


def refusal(*arguments, **known):
    with pytest.raises(ValueError) as error:
        sizes_of(*arguments, **known)
    return str(error.value)


def test_sizes_follow_the_tensors_of_the_main_function():
    assert sizes_of() == [("n", "n", 2, 8)]
    assert sizes_of(main((), ("x",)), [tensor("x")]) == []
    both = main((SIZE, OPEN), ("x", "y", "n", "m"))
    expected = [("n", "n", 2, 8), ("m", "m", 3, None)]
    assert sizes_of(both, [X], [shaped((3,), [M], "y")]) == expected
    # A member of the struct has the name.
    assert (
        sizes_of(inputs=[shaped((8, 4), [N, 4], "n")], func=main(params=("n0", "n")))[0][0] == "n"
    )


def test_tensors_in_the_workspace_are_no_parameters():
    own = placed("x", shape=(8,), symbolic_shape=[N])
    assert sizes_of(main(params=("n",)), [own]) == [("n", "n", 2, 8)]
    message = refusal(main(params=("x", "n")), [own])
    assert message.startswith('parameter 0 of the main function must be the int32 "n", not ')


def test_entries_have_sizes_of_their_own():
    funcs = {"__tvm_a__": main(), "__tvm_b__": main((), ("x",))}
    entries = [entry("a", [X]), entry("b", [tensor("x")])]
    found = with_sizes(IRModule(funcs), entries, AOT)
    assert [[size.name for size in each.sizes] for each in found] == [["n"], []]


@pytest.mark.parametrize(
    ("func", "expected"),
    [
        (
            main(params=("x",)),
            'parameter 1 of the main function must be the int32 "n", not missing',
        ),
        (
            main(params=("x", "k")),
            'parameter 1 of the main function must be the int32 "n", not int32 k',
        ),
        (
            main(dtype="int64"),
            'parameter 1 of the main function must be the int32 "n", not int64 n',
        ),
        (
            main((SIZE, OPEN), ("x", "m", "n")),
            'parameter 1 of the main function must be the int32 "n", not int32 m',
        ),
        (
            main((SIZE, OPEN), ("x", "n")),
            'parameter 2 of the main function must be the int32 "m", not missing',
        ),
        (
            main((SIZE, SIZE), ("x", "n", "n")),
            'the main function has size "n" twice; rename one',
        ),
    ],
)
def test_a_main_function_without_its_sizes_is_refused(func, expected):
    assert refusal(func) == expected


def test_ways_without_sizes_are_refused():
    assert refusal(executor=PACKED).startswith("the packed interface has fixed shapes only")
    rows = [tensor("x", is_by_rows=True)]
    assert refusal(inputs=rows).startswith('"x" is given or taken by rows, which models')
    func = main(params=("x", "y", "n"))
    message = refusal(func, [X], [tensor("y", is_by_rows=True)])
    assert message.startswith('"y" is given or taken by rows')
    window = [replace(tensor("x"), window=InputWindow(1, 4))]
    assert refusal(inputs=window).startswith('"x" is given or taken as a window of time')
    # Without sizes all of them are taken.
    plain = main((), ("x",))
    for inputs in (rows, window):
        assert sizes_of(plain, inputs) == []
    assert sizes_of(plain, [tensor("x")], executor=PACKED) == []


def test_a_size_without_a_bound_needs_memory_of_the_application():
    func = main((OPEN,), ("x", "m"))
    x = shaped((3,), [M])
    assert sizes_of(func, [x]) == [("m", "m", 3, None)]
    message = refusal(func, [x], **{BOARD_ATTR.name: "mps2-an385"})
    assert message.startswith('size "m" has no upper bound, but programs for boards have arrays of')
    own = placed("x", shape=(3,), symbolic_shape=[M])
    message = refusal(main((OPEN,), ("m",)), [own])
    assert "inputs and outputs in the workspace have the largest size" in message
    # With bounds both are possible.
    assert sizes_of(**{BOARD_ATTR.name: "mps2-an385"}) == [("n", "n", 2, 8)]
    both = main((SIZE, OPEN), ("x", "n", "m"))
    assert refusal(both, [x], **{BOARD_ATTR.name: "mps2-an385"}).startswith('size "m" has no upper')


@pytest.mark.parametrize(
    ("shape", "symbolic", "expected"),
    [
        ((8,), [M], 'depends on "m", which is no size of the model: "n"'),
        ((7,), [N], "is [8] at the largest sizes, not [7]"),
        ((9,), [N], "is [8] at the largest sizes, not [9]"),
        ((2,), [10 - N], "may be larger than [2], which it is at the largest sizes"),
        ((2**31,), [N * 2**28], "may leave 32 bits"),
        # A part of the expression does.
        ((2,), [N * 2**28 // 2**30], "may leave 32 bits"),
        ((0,), [(N - 9) * 2**29 // 2**30 + 1], "may leave 32 bits"),
    ],
)
def test_a_shape_that_cannot_be_computed_is_refused(shape, symbolic, expected):
    message = refusal(inputs=[shaped(shape, symbolic)])
    assert 'tensor "x"' in message and expected in message


@pytest.mark.parametrize(
    ("shape", "symbolic"),
    [
        ((8, 3), [N, 3]),
        ((2**31 - 8,), [N * (2**28 - 1)]),
        ((2**31 - 1,), [N + (2**31 - 9)]),
        # The least number of 32 bits, too.
        ((0,), [(N - 10) * 2**28 + 2**29]),
    ],
)
def test_shapes_of_32_bits_are_taken(shape, symbolic):
    assert sizes_of(inputs=[shaped(shape, symbolic)]) == [("n", "n", 2, 8)]


def test_shapes_without_a_bound_have_64_bits():
    func = main((OPEN,), ("x", "m"))
    assert sizes_of(func, [shaped((3 * 2**31,), [M * 2**31])]) == [("m", "m", 3, None)]
    # An `int32_t` holds the size.
    most = (4 * 2**32 - 1,), [M * 2**32 + (2**32 - 1)]
    for shape, symbolic in (most, ((0,), [(M - 1000) // 1000 + 1])):
        assert sizes_of(func, [shaped(shape, symbolic)]) == [("m", "m", 3, None)]
    message = refusal(func, [shaped((4 * 2**32,), [M * 2**32 + 2**32])])
    assert "may leave 64 bits" in message
    # A shape of the bounded size has 32 bits beside it.
    both = main((SIZE, OPEN), ("x", "y", "n", "m"))
    inputs = [shaped((3,), [M]), shaped((2**31,), [N * 2**28], "y")]
    assert "may leave 32 bits" in refusal(both, inputs)


def test_outputs_are_checked_as_inputs_are():
    func = main(params=("x", "y", "n"))
    message = refusal(func, [X], [shaped((7,), [N], "y")])
    assert message.startswith('tensor "y" of shape [n] is [8] at the largest sizes')
