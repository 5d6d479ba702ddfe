"""The main function as it grows: values, constants, copies, operators that work in place."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.ir import GlobalVar, TupleType

from usmp.aot.main_builder import MainBuilder
from usmp.objects.state_info import StateInfo
from usmp.objects.tensor_info import TensorInfo
from usmp.support.errors import UnsupportedModelError
from usmp.tir.model_operator import model_operator, operators_in
from usmp.tir.spans import with_span

TY = relax.TensorType((2, 4), "int8")
F = GlobalVar("f")


def variable(name: str, ty=TY) -> relax.Var:
    return relax.Var(name, ty)


def constant(*values: int, dtype: str = "int8") -> relax.Constant:
    return relax.const(np.array(values, dtype), dtype)


def calls(builder: MainBuilder) -> list[tuple]:
    """What is called, with names of arguments; views as what they lie in and where."""

    def name(buffer) -> str:
        root, offset = builder.calls.root(buffer)
        return str(root.name) if root is buffer else f"{root.name}+{offset}"

    return [
        (
            str(call.operator.name_hint) if call.operator else "copy",
            *(name(argument) for argument in call.arguments),
        )
        for call in builder.calls.calls
    ]


class Main:
    """A builder with a parameter `x`, a state `s`, and an operator's own tensor `t`."""

    def __init__(self, last_uses=None, output: int = 0) -> None:
        self.vars = {name: variable(name) for name in ("x", "s", "t")}
        uses = {self.vars[name]: position for name, position in (last_uses or {}).items()}
        self.builder = builder = MainBuilder(uses)
        self.x = builder.parameter(TensorInfo("x", [2, 4], "int8"), TY)
        self.info = StateInfo("s", output, tvm.runtime.tensor(np.int8(3)), 16)
        self.s = builder.state("s", TY, self.info)
        self.t = builder.allocate_tensor("t", TY)
        for name, buffer in (("x", self.x), ("s", self.s), ("t", self.t)):
            builder.values[self.vars[name]] = buffer

    def lower(self, expr, name: str = "y", position: int = 5, ty=TY):
        var = variable(name, ty)
        return self.builder.lower(expr, var, position)


def test_parameters_are_pointers_and_states_are_allocated():
    main = Main()
    builder = main.builder
    assert [(p.name, str(p.ty.element_type.dtype)) for p in builder.params] == [("x_ptr", "int8")]
    (declared,) = builder.declarations
    assert declared.buffer.same_as(main.x) and declared.data.same_as(builder.params[0])
    assert (main.x.shape[0], str(main.x.dtype)) == (8, "int8")
    notes = dict(builder.allocations[main.s].annotations)
    assert notes == {"state_tensor": "s", "alignment": 16}
    assert builder.states[main.s].same_as(main.info)
    assert [str(tensor.name) for tensor in builder.kept_tensors] == ["s"]
    assert builder.own() == {main.t}


def test_a_state_of_any_alignment_has_no_annotation_of_it():
    builder = MainBuilder({})
    info = StateInfo("s", 0, tvm.runtime.tensor(np.int8(3)))
    buffer = builder.state("s", TY, info)
    assert dict(builder.allocations[buffer].annotations) == {"state_tensor": "s"}


def test_equal_constants_are_stored_once():
    builder = MainBuilder({})
    first, again = (builder.value_of(constant(1, 2)) for _ in range(2))
    others = [
        builder.value_of(each, "c")
        for each in (constant(1, 3), constant(1, 2, dtype="uint8"), constant(1, dtype="int16"))
    ]
    assert first is again
    assert len({first, *others}) == 4
    assert [b.name for b in builder.allocations] == ["constant", "c", "c_1", "c_2"]
    assert builder.own() == set()


def test_values_of_tuples():
    main = Main()
    builder = main.builder
    pair = relax.Tuple([main.vars["x"], relax.Tuple([main.vars["s"], constant(5)])])
    first, (second, number) = builder.value_of(pair, "p")
    assert (first, second, number.name) == (main.x, main.s, "p_1_1")
    inner = relax.TupleGetItem(relax.TupleGetItem(pair, 1), 0)
    assert builder.value_of(inner) is main.s
    with pytest.raises(UnsupportedModelError, match="no static C"):
        builder.value_of(variable("unknown"))


def test_operators_write_tensors_of_their_own():
    main = Main()
    arguments = relax.Tuple([main.vars["x"], constant(1, 2)])
    result = main.lower(relax.call_tir(F, arguments, TY))
    assert (result.name, int(result.shape[0])) == ("f", 8)
    pair = TupleType([TY, relax.TensorType((3,), "int16")])
    results = main.lower(relax.call_tir(F, arguments, list(pair.fields)), ty=pair)
    assert [(b.name, int(b.shape[0]), str(b.dtype)) for b in results] == [
        ("f_0", 8, "int8"),
        ("f_1", 3, "int16"),
    ]
    assert calls(main.builder) == [
        ("f", "x", "f_constant_1", "f"),
        ("f", "x", "f_constant_1", "f_0", "f_1"),
    ]
    assert main.builder.calls.calls[1].written == set(results)


def test_nothing_runs_for_other_names_and_shapes():
    main = Main()
    assert main.lower(main.vars["t"]) is main.t
    assert main.lower(relax.op.reshape(main.vars["t"], (8,))) is main.t
    assert calls(main.builder) == []


def test_other_operators_are_refused():
    main = Main()
    with pytest.raises(UnsupportedModelError, match=r"operator relax.add \(result y: .* lowered"):
        main.lower(relax.op.add(main.vars["x"], main.vars["s"]))


def normalized(expr):
    return relax.BlockBuilder().normalize(expr)


def test_concatenations_are_copies_of_parts():
    main = Main()
    call = normalized(relax.op.concat([main.vars["x"], main.vars["t"]], 0))
    result = main.lower(call, ty=call.ty)
    assert int(result.shape[0]) == 16
    assert calls(main.builder) == [("copy", "x", "concat+0"), ("copy", "t", "concat+8")]
    assert {each.group for each in main.builder.calls.calls} == {5}


def test_slices_and_splits_are_copies_of_parts():
    main = Main()
    call = normalized(relax.op.strided_slice(main.vars["x"], [0], [1], [2]))
    main.lower(call, ty=call.ty)
    call = normalized(relax.op.split(main.vars["t"], 2, 0))
    parts = main.lower(call, ty=call.ty)
    assert [int(part.shape[0]) for part in parts] == [4, 4]
    assert calls(main.builder) == [
        ("copy", "x+4", "strided_slice"),
        ("copy", "t+0", "split_0"),
        ("copy", "t+4", "split_1"),
    ]


def test_parts_with_gaps_are_refused():
    main = Main()
    call = normalized(relax.op.concat([main.vars["x"], main.vars["t"]], 1))
    with pytest.raises(UnsupportedModelError, match="moves parts with gaps; legalize it first"):
        main.lower(call, ty=call.ty)


@pytest.mark.parametrize(
    ("name", "last_uses", "output", "expected"),
    [
        ("t", {}, 0, True),
        ("t", {"t": 5}, 0, True),
        # Something reads it later.
        ("t", {"t": 6}, 0, False),
        ("t", {"s": 6}, 0, True),
        # The caller owns inputs; the next run needs a state that no result replaces.
        ("x", {}, 0, False),
        ("s", {}, 0, True),
        ("s", {"s": 6}, 0, False),
        ("s", {}, -1, False),
    ],
)
def test_tensors_that_operators_may_write_over(name, last_uses, output, expected):
    main = Main(last_uses, output)
    assert main.builder.is_free(getattr(main, name), 5) == expected
    constant_buffer = main.builder.value_of(constant(1))
    assert not main.builder.is_free(constant_buffer, 5)


def in_place(main: Main, arguments, indices, ty=TY, position: int = 5):
    call = relax.op.call_tir_inplace(F, relax.Tuple(arguments), indices, ty)
    return main.lower(call, ty=ty if not isinstance(ty, list) else TupleType(ty), position=position)


def test_results_are_written_over_arguments():
    main = Main()
    t, x, s = main.vars["t"], main.vars["x"], main.vars["s"]
    assert in_place(main, [t, x], [0]) is main.t
    results = in_place(main, [t, s, x], [1, -1], [TY, TY])
    assert [b.name for b in results] == ["s", "f"]
    assert calls(main.builder) == [("f", "t", "x"), ("f", "t", "s", "x", "f")]
    assert [call.written for call in main.builder.calls.calls] == [{main.t}, set(results)]


@pytest.mark.parametrize(
    ("names", "last_uses", "expected"),
    [
        # What others own, or read later, is copied first; as is what the call takes twice.
        (["x", "t"], {}, [("copy", "x", "f_copy"), ("f", "f_copy", "t")]),
        (["t", "x"], {"t": 9}, [("copy", "t", "f_copy"), ("f", "f_copy", "x")]),
        (["t", "t"], {}, [("copy", "t", "f_copy"), ("f", "f_copy", "t")]),
        (["t", "x"], {"t": 5, "x": 9}, [("f", "t", "x")]),
    ],
)
def test_arguments_that_are_needed_are_copied(names, last_uses, expected):
    main = Main(last_uses)
    result = in_place(main, [main.vars[name] for name in names], [0])
    assert calls(main.builder) == expected
    assert main.builder.calls.calls[-1].written == {result}


def finished(main: Main, results, names, new_values=None) -> list[str]:
    infos = [(TensorInfo(name, [2, 4], "int8"), TY) for name in names]
    func = main.builder.finish(results, infos, new_values or {}, [None] * len(names))
    assert [p.name for p in func.params] == ["x_ptr", *(f"{name}_ptr" for name in names)]
    return [b.name for s in func.body.seq if isinstance(s, tirx.AllocBuffer) for b in [s.buffer]]


def test_results_are_written_where_they_belong():
    main = Main()
    y = in_place(main, [main.vars["t"], main.vars["x"]], [0])
    assert "t" not in finished(main, [y], ["output"], {main.s: main.s})
    assert calls(main.builder)[-1] == ("f", "output", "x")


def test_results_of_other_owners_are_copied():
    """An input, and what is returned twice."""
    main = Main()
    y = in_place(main, [main.vars["t"], main.vars["x"]], [0])
    finished(main, [y, main.x, y], ["a", "b", "c"], {main.s: main.s})
    assert calls(main.builder) == [("f", "a", "x"), ("copy", "x", "b"), ("copy", "a", "c")]


def test_states_get_their_new_values():
    main = Main()
    y = in_place(main, [main.vars["s"], main.vars["x"]], [0])
    finished(main, [], [], {main.s: y})
    assert ("f", "s", "x") in calls(main.builder)
    other = Main()
    finished(other, [], [], {other.s: other.x})
    assert ("copy", "x", "s") in calls(other.builder)


def span(index: int):
    return model_operator(index, "OP", [], []).as_span()


def indices(call) -> list[int]:
    return [operator.index for operator in operators_in(call.span)]


def test_what_nothing_runs_for_belongs_to_what_reads_it_or_writes_its_source():
    main = Main()
    builder, t = main.builder, main.vars["t"]
    for position in (1, 2):
        in_place(main, [t, main.vars["x"]], [0], position=position)
    reshaped = variable("r", relax.TensorType((8,), "int8"))
    view = with_span(relax.op.reshape(t, (8,)), span(3))
    builder.values[reshaped] = builder.lower(view, reshaped, 3)
    builder.give_back([variable("unknown"), reshaped])
    assert [indices(call) for call in builder.calls.calls] == [[], [3]]
    builder.lower(relax.call_tir(F, relax.Tuple([reshaped]), TY), variable("y"), 4)
    assert indices(builder.calls.calls[-1]) == [3]


def test_states_are_set_at_the_first_run_unless_they_are_zeros():
    for value, is_set in ((3, True), (0, False)):
        main = Main()
        main.builder.states[main.s] = StateInfo("s", 0, tvm.runtime.tensor(np.int8(value)))
        main.builder.flags = {"states_are_set": ["s"]}
        tensors = finished(main, [], [], {main.s: main.s})
        assert ("states_are_set" in tensors) == is_set


def test_each_flag_marks_states_of_its_own():
    main = Main()
    for name in ("t", "u"):
        info = StateInfo(name, -1, tvm.runtime.tensor(np.int8(3)))
        main.builder.state(name, relax.TensorType((4,), "int8"), info)
    main.builder.flags = {"first": ["t"], "second": ["u"]}
    setting = main.builder.set_states()
    assert len(setting) == 2
    assert [str(tensor.name) for tensor in main.builder.kept_tensors[-2:]] == ["first", "second"]


def test_a_version_is_changed_by_itself():
    main = Main()
    version = main.builder.version()
    buffer = version.allocate_tensor("t", TY)
    version.kept(version.kept_tensors[0])
    version.constant("c", tvm.runtime.tensor(np.int8(1)))
    version.parameter(TensorInfo("z", [2, 4], "int8"), TY)
    version.values.clear()
    builder = main.builder
    assert buffer.name == "t_1"
    assert builder.allocate_tensor("t", TY).name == "t_1"
    assert len(builder.params) == len(builder.declarations) == len(builder.kept_tensors) == 1
    assert buffer not in builder.allocations and not builder.constants
    assert len(builder.values) == 3
