"""States: from parameters and results of the Relax main function to buffers that are kept."""

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.ir import GlobalVar, IRModule
from tvm.script import tirx as T

from support.lowered_main import lower_main
from support.state_programs import F4, Graph, program
from usmp.objects import StateInfo


def lines(main: tirx.PrimFunc) -> list[str]:
    """The statements of `__tvm_main__` after the declarations, one a line."""
    return [line for stmt in main.body.seq for line in shown(stmt)]


def shown(stmt: tirx.Stmt) -> list[str]:
    if isinstance(stmt, tirx.IfThenElse):
        assert stmt.else_case is None
        inner = [line for child in tirx.stmt_list(stmt.then_case) for line in shown(child)]
        return [f"if {stmt.condition}", *(f"  {line}" for line in inner)]
    if isinstance(stmt, tirx.Evaluate):
        call = stmt.value
        return [f"{call.op.name_hint}({', '.join(a.args[0].name for a in call.args)})"]
    if isinstance(stmt, tirx.BufferStore):
        return [f"{stmt.buffer.name}[{stmt.indices[0]}] = {stmt.value}"]
    assert isinstance(stmt, tirx.AllocBuffer | tirx.DeclBuffer)
    return []


def allocated(main: tirx.PrimFunc) -> dict[str, list[str]]:
    """The allocations and what they are annotated with."""
    found = [stmt for stmt in main.body.seq if isinstance(stmt, tirx.AllocBuffer)]
    return {stmt.buffer.name: list(stmt.annotations) for stmt in found}


def lowered(build, states, **options) -> tirx.PrimFunc:
    return lower_main(program(build, states, **options))["__tvm_main__"]


def test_a_state_is_no_parameter():
    main = lowered(lambda g: [g.add(g.s, g.x), g.s], {"s": 1})
    assert [param.name for param in main.params] == ["x_ptr", "output_ptr"]
    assert [str(t.name) for t in main.attrs["input_tensors"]] == ["x"]
    assert [str(t.name) for t in main.attrs["output_tensors"]] == ["output"]
    assert allocated(main) == {"s": ["state_tensor"]}
    assert lines(main) == ["add(s, x, output)"]


def test_the_alignment_of_a_state():
    mod = program(lambda g: [g.x, g.s, g.r], {"s": 1, "r": 2})
    infos = [StateInfo("s", 1, ZERO, alignment=256), StateInfo("r", 2, ZERO)]
    mod.update_func(mod.get_global_var("main"), mod["main"].with_attr("states", infos))
    main = lower_main(mod)["__tvm_main__"]
    found = {s.buffer.name: s for s in main.body.seq if isinstance(s, tirx.AllocBuffer)}
    assert int(found["s"].annotations["alignment"]) == 256
    assert list(found["r"].annotations) == ["state_tensor"]


def test_outputs_keep_their_order_and_names():
    mod = program(lambda g: [g.s, g.add(g.x, g.x), g.r, g.x], {"s": 2, "r": 0})
    main = lower_main(mod, ["sum", "same"])["__tvm_main__"]
    assert [str(t.name) for t in main.attrs["output_tensors"]] == ["sum", "same"]
    assert [param.name for param in main.params] == ["x_ptr", "sum_ptr", "same_ptr"]


def test_a_state_that_nothing_assigns_is_left_alone():
    assert lines(lowered(lambda g: [g.x, g.s], {"s": 1})) == ["usmp_copy_0(x, output)"]


def test_the_last_reader_comes_before_the_operator_that_writes_the_state():
    def build(g):
        y = g.add(g.s, g.x)
        return [y, g.add(y, g.x)]

    assert lines(lowered(build, {"s": 1})) == ["add(s, x, output)", "add(output, x, s)"]


def test_the_operator_reads_the_old_value_itself():
    main = lowered(lambda g: [g.add(g.s, g.x)], {"s": 0})
    assert lines(main) == ["add(s, x, add)", "usmp_copy_0(add, s)"]


def test_a_later_operator_reads_the_old_value():
    def build(g):
        y = g.add(g.x, g.x)
        z = g.add(y, g.s)
        return [g.add(z, y), y]

    assert lines(lowered(build, {"s": 1})) == [
        "add(x, x, add)",
        "add(add, s, add_1)",
        "usmp_copy_0(add, s)",
        "add(add_1, add, output)",
    ]


def test_the_old_value_is_an_output():
    main = lowered(lambda g: [g.s, g.add(g.x, g.x)], {"s": 1})
    assert lines(main) == ["add(x, x, add)", "usmp_copy_0(s, output)", "usmp_copy_0(add, s)"]


def test_the_new_value_is_an_output_too():
    def build(g):
        y = g.add(g.x, g.x)
        return [y, y]

    assert lines(lowered(build, {"s": 1})) == ["add(x, x, s)", "usmp_copy_0(s, output)"]


def test_a_view_of_the_old_value_is_the_old_value():
    def build(g):
        view = g.reshape(g.s)
        y = g.add(g.x, g.x)
        return [g.add(view, y), y]

    assert lines(lowered(build, {"s": 1})) == [
        "add(x, x, add)",
        "add(s, add, output)",
        "usmp_copy_0(add, s)",
    ]


def test_an_input_becomes_the_state_as_early_as_possible():
    def build(g):
        y = g.add(g.s, g.x)
        return [g.add(y, g.x), g.x]

    assert lines(lowered(build, {"s": 1})) == [
        "add(s, x, add)",
        "usmp_copy_0(x, s)",
        "add(add, x, output)",
    ]


def test_a_constant_becomes_the_state():
    main = lowered(lambda g: [g.add(g.s, g.x), g.constant(5)], {"s": 1})
    assert lines(main) == ["add(s, x, output)", "usmp_copy_0(constant_1, s)"]
    assert allocated(main) == {"s": ["state_tensor"], "constant_1": ["constant_data"]}


def test_two_states_of_one_value():
    def build(g):
        y = g.add(g.x, g.x)
        return [y, y]

    assert lines(lowered(build, {"s": 0, "r": 1})) == ["add(x, x, s)", "usmp_copy_0(s, r)"]


def test_a_delay_line_is_moved_from_its_end():
    main = lowered(lambda g: [g.x, g.s, g.r, g.q], {"s": 0, "r": 1, "q": 2})
    assert lines(main)[:3] == ["usmp_copy_0(q, output)", "usmp_copy_0(r, q)", "usmp_copy_0(s, r)"]
    assert lines(main)[3:] == ["usmp_copy_0(x, s)"]


def test_states_that_change_places():
    main = lowered(lambda g: [g.x, g.r, g.q, g.s], {"s": 1, "r": 2, "q": 3})
    assert lines(main) == [
        "usmp_copy_0(s, s_copy)",
        "usmp_copy_0(r, s)",
        "usmp_copy_0(q, r)",
        "usmp_copy_0(s_copy, q)",
        "usmp_copy_0(x, output)",
    ]


def test_an_operator_that_updates_the_state_in_place():
    main = lowered(lambda g: [g.accumulate(g.s, g.x)], {"s": 0})
    assert lines(main) == ["accumulate(s, x)"]
    assert allocated(main) == {"s": ["state_tensor"]}


def test_a_result_in_place_and_one_of_its_own():
    def build(g):
        total, before = g.exchange(g.s, g.x)
        return [g.add(before, g.x), total]

    assert lines(lowered(build, {"s": 1})) == [
        "exchange(s, x, exchange)",
        "add(exchange, x, output)",
    ]


def test_the_old_value_is_read_after_the_update_in_place():
    def build(g):
        y = g.accumulate(g.s, g.x)
        return [g.add(g.s, g.x), y]

    assert lines(lowered(build, {"s": 1})) == [
        "usmp_copy_0(s, accumulate_copy)",
        "accumulate(accumulate_copy, x)",
        "add(s, x, output)",
        "usmp_copy_0(accumulate_copy, s)",
    ]


def test_a_view_of_the_old_value_is_read_after_the_update_in_place():
    def build(g):
        view = g.reshape(g.s)
        y = g.accumulate(g.s, g.x)
        return [g.add(view, g.x), y]

    assert lines(lowered(build, {"s": 1}))[0] == "usmp_copy_0(s, accumulate_copy)"


def test_a_state_as_scratch():
    """In place on a state whose value is kept."""
    main = lowered(lambda g: [g.accumulate(g.s, g.x), g.s], {"s": 1})
    assert lines(main) == [
        "usmp_copy_0(s, output)",
        "accumulate(output, x)",
    ]


@pytest.mark.parametrize("what", ["x", "constant"])
def test_in_place_on_what_may_not_be_written(what):
    def build(g):
        return [g.accumulate(g.x if what == "x" else g.constant(1), g.s), g.s]

    source = {"x": "x", "constant": "accumulate_constant_0"}[what]
    assert lines(lowered(build, {"s": 1})) == [
        f"usmp_copy_0({source}, output)",
        "accumulate(output, s)",
    ]


def test_in_place_on_a_tensor_that_is_free():
    def build(g):
        return [g.accumulate(g.add(g.x, g.x), g.x), g.s]

    assert lines(lowered(build, {"s": 1})) == ["add(x, x, output)", "accumulate(output, x)"]


def test_in_place_on_an_argument_that_is_passed_twice():
    main = lowered(lambda g: [g.accumulate(g.s, g.s)], {"s": 0})
    assert lines(main) == [
        "usmp_copy_0(s, accumulate_copy)",
        "accumulate(accumulate_copy, s)",
        "usmp_copy_0(accumulate_copy, s)",
    ]


def test_in_place_twice():
    main = lowered(lambda g: [g.accumulate(g.accumulate(g.s, g.x), g.x)], {"s": 0})
    assert lines(main) == ["accumulate(s, x)", "accumulate(s, x)"]


# ---- initial values


def test_zeros_need_nothing():
    for zeros in (np.int8(0), np.zeros(4, np.int8)):
        main = lowered(lambda g: [g.x, g.s], {"s": 1}, initial={"s": zeros})
        assert lines(main) == ["usmp_copy_0(x, output)"]
        assert allocated(main) == {"s": ["state_tensor"]}


@pytest.mark.parametrize("value", [np.int8(-128), np.full(4, -128, np.int8)], ids=["one", "all"])
def test_equal_elements_are_filled(value):
    mod = lower_main(program(lambda g: [g.x, g.s], {"s": 1}, initial={"s": value}))
    main = mod["__tvm_main__"]
    assert allocated(main) == {"s": ["state_tensor"], "states_are_set": ["state_tensor"]}
    assert lines(main) == [
        "if states_are_set == T.uint8(0)",
        "  usmp_fill_0(s)",
        "  states_are_set[0] = T.uint8(1)",
        "usmp_copy_0(x, output)",
    ]

    @T.prim_func(private=True)
    def fill(to_ptr: T.handle("int8")):
        to = T.decl_buffer((4,), "int8", data=to_ptr)
        for i in range(4):
            to[i] = T.int8(-128)

    tvm.ir.assert_structural_equal(mod["usmp_fill_0"], fill)


def test_other_values_are_copied_from_a_constant():
    initial = {"s": np.arange(4, dtype=np.int8), "r": np.int8(0), "q": np.int8(7)}
    main = lowered(lambda g: [g.q, g.r, g.s], {"s": 2, "r": 1, "q": 0}, initial=initial)
    assert lines(main) == [
        "if states_are_set == T.uint8(0)",
        "  usmp_copy_0(s_initial, s)",
        "  usmp_fill_0(q)",
        "  states_are_set[0] = T.uint8(1)",
    ]
    (data,) = (s for s in main.body.seq if getattr(s, "annotations", {}).get("constant_data"))
    assert data.annotations["constant_data"].numpy().tolist() == [0, 1, 2, 3]


def test_equal_copies_and_fills_are_one_function():
    initial = {"s": np.int8(1), "r": np.int8(1), "q": np.int8(2)}
    mod = program(lambda g: [g.s, g.r, g.q, g.x, g.x], {"s": 0, "r": 1, "q": 2}, initial=initial)
    names = {v.name_hint for v in lower_main(mod).functions}
    assert {name for name in names if name.startswith("usmp")} == {
        "usmp_copy_0",
        "usmp_fill_0",
        "usmp_fill_1",
    }


def test_negative_zero_is_not_zero():
    param = relax.Var("s", relax.TensorType((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [param]):
        builder.emit_func_output(relax.Tuple([param]))
    state = StateInfo("s", 0, tvm.runtime.tensor(np.float32(-0.0)))
    mod = builder.get()
    mod = IRModule({GlobalVar("main"): mod["main"].with_attr("states", [state])})
    assert "  usmp_fill_0(s)" in lines(lower_main(mod)["__tvm_main__"])


# ---- what is refused


def message_of(states) -> str:
    main = Graph().finish(lambda g: [g.x, g.reshape(g.s)])["main"].with_attr("states", states)
    mod = IRModule({GlobalVar("main"): main})
    with pytest.raises(ValueError) as error:
        lower_main(mod)
    return str(error.value)


ZERO = tvm.runtime.tensor(np.int8(0))


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([3], 'the attribute "states" of main must be a list of StateInfo'),
        ("s", 'the attribute "states" of main must be a list of StateInfo'),
        (
            [StateInfo("t", 0, ZERO)],
            'state "t" must be the name of one parameter of main; these are x, s, r, q',
        ),
        (
            [StateInfo("s", 0, ZERO), StateInfo("s", 1, ZERO)],
            'state "s" must be the name of one parameter of main; these are x, s, r, q',
        ),
        (
            [StateInfo("s", 2, ZERO)],
            'state "s" must have a result of main of its own, 0 to 1, or -1 if main only '
            "reads it, but has 2",
        ),
        (
            [StateInfo("s", -2, ZERO)],
            'state "s" must have a result of main of its own, 0 to 1, or -1 if main only '
            "reads it, but has -2",
        ),
        (
            [StateInfo("r", 0, ZERO), StateInfo("s", 0, ZERO)],
            'state "s" must have a result of main of its own, 0 to 1, or -1 if main only '
            "reads it, but has 0",
        ),
        (
            [StateInfo("s", 1, ZERO)],
            'state "s" is int8[4] before a run, but result 1 of main is '
            'R.Tensor((2, 2), dtype="int8")',
        ),
        (
            [StateInfo("s", 0, tvm.runtime.tensor(np.zeros(3, np.int8)))],
            'state "s" is int8[4], but its initial value is int8[3]',
        ),
        (
            [StateInfo("s", 0, tvm.runtime.tensor(np.float32(0)))],
            'state "s" is int8[4], but its initial value is float32[]',
        ),
        (
            [StateInfo("s", 1, ZERO, 24)],
            'the alignment of state "s" must be a power of two (bytes), or 0, not 24',
        ),
    ],
    ids=range(11),
)
def test_states_that_are_refused(states, message):
    assert message_of(states) == message


def test_parameters_of_one_name():
    params = [relax.Var("s", relax.TensorType(F4, "int8")) for _ in range(2)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(relax.Tuple(params))
    main = builder.get()["main"].with_attr("states", [StateInfo("s", 0, ZERO)])
    with pytest.raises(ValueError, match=r'^state "s" must be the name of one parameter of main'):
        lower_main(IRModule({GlobalVar("main"): main}))


def test_a_state_that_waits_for_another_one_was_written_before():
    main = lowered(lambda g: [g.accumulate(g.s, g.x), g.r, g.x], {"s": 1, "r": 0})
    assert lines(main)[:-1] == [
        "accumulate(s, x)",
        "usmp_copy_0(s, s_copy)",
        "usmp_copy_0(r, s)",
        "usmp_copy_0(s_copy, r)",
    ]
