"""Operators that hand-written TIR may have: interleaved as they are, or not at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule

from support.streamed_graphs import main_function, module, operator
from support.tir_interpreter import Interpreter
from support.tir_memory import Pointer
from usmp.objects import PoolInfoProperties, WorkspacePoolInfo
from usmp.objects.attributes.annotations import CANDIDATE_MEMORY_POOL_ATTR
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.transform import StreamOperators

BOTH = [("p", 32, "int8"), ("q", 32, "int8")]
WINDOW = operator(
    "window",
    BOTH,
    """
    for i in range(8):
        for j in range(4):
            Q[i * 4 + j] = P[i * 4 + j] + T.if_then_else(i > 0, P[(i - 1) * 4 + j], T.int8(0))
    """,
)
STEP = operator(
    "step",
    BOTH,
    """
    for i in range(8):
        for j in range(4):
            Q[i * 4 + j] = P[i * 4 + j] + T.int8(1)
        T.evaluate(7)
    """,
)
CALLS = ["window x a", "step a b", "window b y"]
TENSORS = [("a", 32, "int8"), ("b", 32, "int8")]
INPUT = bytes(range(3, 35))


def chain(second: str, calls: list[str] = CALLS, tensors: list = TENSORS) -> IRModule:
    """An operator between two windows."""
    return module(WINDOW, second, main_function([("x", "int8"), ("y", "int8")], tensors, calls))


def result(mod: IRModule) -> list[int | None]:
    y: list[int | None] = [None] * 32
    Interpreter(mod).call(MAIN_FUNCTION_NAME, [Pointer([*INPUT]), Pointer(y)])
    return y


def test_a_tensor_that_an_operator_is_called_with_and_does_not_read():
    """As where x - x is known to be 0: it has to be there, though in no place of its own."""
    zeros = operator(
        "zeros",
        [("p", 32, "int8"), ("b", 32, "int8"), ("q", 32, "int8")],
        """
    for i in range(8):
        for j in range(4):
            Q[i * 4 + j] = B[i * 4 + j]
    """,
    )
    main = main_function(
        [("x", "int8"), ("y", "int8")], TENSORS, ["window x a", "window a b", "zeros a b y"]
    )
    mod = module(WINDOW, zeros, main)
    streamed = StreamOperators([(0, 2)])(mod)
    assert tirx.analysis.verify_well_formed(streamed)
    assert result(streamed) == result(mod)


def check(mod: IRModule) -> IRModule:
    """Interleave all three, and look whether they compute the same."""
    streamed = StreamOperators([(0, 3)])(mod)
    assert tirx.analysis.verify_well_formed(streamed)
    assert result(streamed) == result(mod)
    return streamed


def refuses(mod: IRModule, segments: list[tuple[int, int]] | None = None) -> None:
    with pytest.raises(ValueError, match="cannot run interleaved"):
        StreamOperators(segments or [(0, 3)])(mod)


def changed(kind: type, change: Callable, name: str = "step") -> IRModule:
    """The chain with other nodes of one kind in one PrimFunc."""
    mod = chain(STEP)
    variable = mod.get_global_var(name)
    body = tvm_ffi.structural_map(mod[variable].body, (kind, change))
    mod.update_func(variable, mod[variable].with_body(body))
    return mod


def in_place_of_seven(stmt: tirx.Stmt) -> IRModule:
    """The chain with a statement at the end of each row of the second operator."""

    def change(node: tirx.Evaluate) -> tirx.Stmt:
        return stmt if isinstance(node.value, tirx.IntImm) else node

    return changed(tirx.Evaluate, change)


def test_a_chain():
    check(chain(STEP))


def test_loops_that_count_in_64_bits():
    body = """
    for i in range(T.int64(8)):
        for j in range(T.int64(4)):
            Q[i * T.int64(4) + j] = P[i * T.int64(4) + j] + T.int8(1)
    """
    check(chain(operator("step", BOTH, body)))


def test_loops_that_count_in_64_bits_and_make_some_rows_at_once():
    body = """
    for i in range(T.int64(32)):
        Q[i] = P[i] + T.int8(1)
    """
    check(chain(operator("step", BOTH, body)))


def test_views_of_scratch_memory():
    body = """
    S = T.alloc_buffer((4,), "int8")
    V = T.decl_buffer((4,), "int8", data=S.data)
    for i in range(8):
        for j in range(4):
            V[j] = P[i * 4 + j] + T.int8(1)
        for j in range(4):
            Q[i * 4 + j] = S[3 - j]
    """
    check(chain(operator("step", BOTH, body)))


@pytest.mark.parametrize("scratch", ["s", "T.address_of(s[8])"], ids=["start", "offset"])
def test_scratch_memory_of_main(scratch):
    body = """
    for i in range(8):
        for j in range(4):
            S[j] = P[i * 4 + j] + T.int8(1)
        for j in range(4):
            Q[i * 4 + j] = S[3 - j]
    """
    second = operator("step", [*BOTH, ("s", 4, "int8")], body)
    calls = ["window x a", f"step a b {scratch}", "window b y"]
    check(chain(second, calls, [*TENSORS, ("s", 16, "int8")]))


def test_two_parts_of_scratch_memory_of_main():
    body = """
    for i in range(8):
        for j in range(4):
            S[j] = P[i * 4 + j] + T.int8(1)
            R[3 - j] = S[j]
        for j in range(4):
            Q[i * 4 + j] = R[j]
    """
    second = operator("step", [*BOTH, ("s", 4, "int8"), ("r", 4, "int8")], body)
    calls = ["window x a", "step a b s T.address_of(s[8])", "window b y"]
    check(chain(second, calls, [*TENSORS, ("s", 16, "int8")]))


def test_a_result_that_is_read_again():
    """Of what a pointer of main leads to, the size is not known."""
    calls = ["window x y", "step y a", "step a b"]
    mod = chain(STEP, calls)
    refuses(mod)
    assert result(StreamOperators([(1, 3)])(mod)) == result(mod)


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_the_longest_loop_accesses_nothing(first):
    """The loop over rows is the one that does most."""
    parts = [
        "for i in range(9):\n    T.evaluate(0)",
        "for i in range(8):\n    for j in range(4):\n        Q[i * 4 + j] = P[i * 4 + j]",
    ]
    check(chain(operator("step", BOTH, "\n".join(parts if first else parts[::-1]))))


def test_loops_with_one_variable():
    """Which of them an access is in, is not known."""
    mod = chain(
        operator(
            "step",
            BOTH,
            """
    S = T.alloc_buffer((32,), "int8")
    for i in range(8):
        for j in range(4):
            S[i * 4 + j] = P[i * 4 + j]
    for i in range(8):
        for j in range(4):
            Q[i * 4 + j] = S[i * 4 + j] + T.int8(1)
    """,
        )
    )
    check(mod)
    variable = mod.get_global_var("step")
    func = mod[variable]
    *others, first, second = tirx.stmt_list(func.body)
    body = tvm_ffi.structural_map(
        second.body,
        (tirx.Var, lambda var: first.loop_var if var.same_as(second.loop_var) else var),
    )
    again = tirx.For(first.loop_var, 0, 8, tirx.ForKind.SERIAL, body)
    mod.update_func(variable, func.with_body(tirx.SeqStmt([*others, first, again])))
    refuses(mod)


JUMPS = {
    "break": tirx.Break(),
    "continue": tirx.Continue(),
    "return": tirx.Return(tirx.IntImm("int32", 0)),
}


@pytest.mark.parametrize("jump", JUMPS)
def test_operators_that_leave_a_loop(jump):
    """What they leave would be the loop of all operators."""
    refuses(in_place_of_seven(JUMPS[jump]))


def test_operators_that_return_at_their_end():
    mod = chain(STEP)
    variable = mod.get_global_var("step")
    statements = [*tirx.stmt_list(mod[variable].body), JUMPS["return"]]
    mod.update_func(variable, mod[variable].with_body(tirx.SeqStmt(statements)))
    refuses(mod)


def test_operators_that_keep_state():
    """Each call would have a state of its own."""
    body = """
    S = T.alloc_buffer((4,), "int8", annotations={"state_tensor": "s"})
    for i in range(8):
        for j in range(4):
            S[j] = P[i * 4 + j]
            Q[i * 4 + j] = P[i * 4 + j] + T.int8(1)
    """
    refuses(chain(operator("step", BOTH, body)))


def test_operators_of_several_targets():
    mod = chain(STEP)
    for name, keys in (("window", ["cpu"]), ("step", ["other", "cpu"])):
        target = tvm.target.Target({"kind": "c", "keys": keys})
        mod.update_func(mod.get_global_var(name), mod[name].with_attr("target", target))
    refuses(mod)


def test_rings_go_to_the_pools_of_their_tensors():
    pools = [
        WorkspacePoolInfo("slow", [tvm.target.Target("c")], PoolInfoProperties(size_hint_bytes=64))
    ]

    def annotate(stmt: tirx.AllocBuffer) -> tirx.AllocBuffer:
        return tirx.AllocBuffer(stmt.buffer, annotations={CANDIDATE_MEMORY_POOL_ATTR: pools})

    mod = changed(tirx.AllocBuffer, annotate, MAIN_FUNCTION_NAME)
    func = check(mod)["window_to_window"]
    rings = [s for s in tirx.stmt_list(func.body) if isinstance(s, tirx.AllocBuffer)]
    assert [str(s.buffer.name) for s in rings] == ["a_ring", "b_ring"]
    assert all(str(s.annotations[CANDIDATE_MEMORY_POOL_ATTR][0].pool_name) == "slow" for s in rings)


def test_a_segment_is_called_by_its_first_and_last_operator():
    streamed = StreamOperators([(0, 2)])(chain(STEP))
    assert "window_to_step" in [str(variable.name_hint) for variable in streamed.functions]


def test_loops_that_count_from_one():
    body = """
    for i in range(1, 9):
        for j in range(4):
            Q[i * 4 + j - 4] = P[i * 4 + j - 4] + T.int8(1)
    """
    refuses(chain(operator("step", BOTH, body)))


def test_parallel_loops():
    outer = """
    for i in T.parallel(8):
        for j in range(4):
            Q[i * 4 + j] = P[i * 4 + j] + T.int8(1)
    """
    inner = """
    for i in range(8):
        for j in T.parallel(4):
            Q[i * 4 + j] = P[i * 4 + j] + T.int8(1)
    """
    refuses(chain(operator("step", BOTH, outer)))
    check(chain(operator("step", BOTH, inner)))


@pytest.mark.parametrize(
    "calls",
    [
        ["window x a", "step a a", "window a y"],
        ["window x a", "window a b", "step x a", "window a y"],
        ["window x a", "step a T.address_of(b[0])", "step x T.address_of(b[0])", "window b y"],
    ],
    ids=["in place", "written again", "written twice"],
)
def test_tensors_that_are_written_again(calls):
    mod = chain(STEP, calls)
    refuses(mod, [(0, len(calls))])
    refuses(mod, [(len(calls) - 2, len(calls))] if "a a" in calls[1] else [(0, 3)])


@pytest.mark.slow
def test_numbers_that_main_reads_from_tensors():
    text = STEP.replace("q: T", "v: T.int8, q: T").replace("T.int8(1)", "v")
    refuses(chain(text, ["window x a", "step a a[0] b", "window b y"]))
    check(chain(text, ["window x a", "step a T.int8(5) b", "window b y"]))


@pytest.mark.parametrize(
    "segments",
    [[(0, 2), (1, 3)], [(0, 9)], [(-1, 2)], [(2, 0)], [(1, 1)]],
    ids=["common", "beyond", "before", "backwards", "empty"],
)
def test_segments_that_there_cannot_be(segments):
    refuses(chain(STEP), segments)


def test_what_follows_a_loop_that_ends_within_a_row():
    """It belongs to the last step, after which the ring of what it reads moves on."""
    body = """
    for e in range(30):
        Q[e] = P[e] + T.int8(1)
    Q[30] = P[29]
    Q[31] = P[29]
    """
    mod = chain(operator("step", BOTH, body))
    streamed = StreamOperators([(0, 2)], by_columns=True)(mod)
    assert result(streamed) == result(mod)
