"""Calls of a `__tvm_main__` while it is put together."""

from __future__ import annotations

from tvm import tirx
from tvm.ir import GlobalVar

from usmp.aot.main_calls import MainCalls
from usmp.tir.model_operator import label_in

F = GlobalVar("f")


def flat(name: str) -> tirx.Buffer:
    return tirx.decl_buffer((8,), "int8", name)


def test_calls_that_take_and_write_a_tensor():
    """Through views too, and beside other tensors that a call writes."""
    calls = MainCalls()
    x, y, z, unused = (flat(name) for name in ("x", "y", "z", "unused"))
    part = calls.part("part", y, 4, z)
    of_part = calls.part("of_part", part, 2, z)
    assert calls.root(of_part) == (y, 6)
    assert calls.root(x) == (x, 0)
    calls.append(F, [x, y, z], [y, z])
    calls.append(F, [z, of_part, x], [of_part, x])
    calls.append(F, [y, z], [z])
    of_all = [x, y, part, z, unused]
    assert [calls.mentions(buffer) for buffer in of_all] == [
        [0, 1],
        [0, 1, 2],
        [0, 1, 2],
        [0, 1, 2],
        [],
    ]
    assert [calls.last_mention(buffer) for buffer in of_all] == [1, 2, 2, 2, -1]
    assert [calls.last_write(buffer) for buffer in of_all] == [1, 1, 1, 2, -1]
    assert calls.first_mention(x) == 0


def test_renamed_tensors():
    """In arguments, in what is written, and under views."""
    calls = MainCalls()
    x, y, other = (flat(name) for name in ("x", "y", "other"))
    view = calls.part("view", y, 3, x)
    calls.append(F, [x, y, view], [y])
    calls.rename(y, other)
    (call,) = calls.calls
    assert (call.arguments, call.written) == ([x, other, view], {other})
    assert calls.root(view) == (other, 3)


def test_a_version_is_changed_by_itself():
    """A function that both need is one."""
    calls = MainCalls()
    x, y = flat("x"), flat("y")
    calls.append(F, [x, y], [y])
    version = calls.version()
    version.rename(y, x)
    version.copy(x, y, 0)
    assert [(call.operator, call.arguments) for call in calls.calls] == [(F, [x, y])]
    assert [call.arguments for call in version.calls] == [[x, y], [x, x]]
    assert calls.functions == {}
    first, second = version.copy_function(x), calls.copy_function(y)
    assert version.functions[first].same_as(calls.functions[second])


def test_copies_are_labeled_with_the_tensor_that_they_copy():
    calls = MainCalls()
    x, y, state = flat("x"), flat("y"), flat("state")
    view = calls.part("view", x, 0, y)
    calls.tensor_names[y] = "y of the file"
    for source, destination in ((view, y), (y, x), (y, state)):
        calls.copy(source, destination)
    calls.append(F, [x, y], [y])
    labels = [label_in(statement.value.span) for statement in calls.statements({state})]
    assert labels == ["copy of x", "copy of y of the file", "copy to state", ""]
