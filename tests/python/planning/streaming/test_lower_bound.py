"""What every plan needs is below what any plan takes, and no plan is searched where the pools have
less."""

from __future__ import annotations

import pickle
from dataclasses import replace
from random import Random

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.target import Target

import usmp
from support.random_segments import random_segments
from support.random_streamed_graphs import draw_streamed
from support.relax_models import two_convolutions
from support.state_models_random import StateModel
from support.streamed_graphs import main_function, module, operator
from usmp.algorithms.does_not_fit import DoesNotFitError
from usmp.algorithms.least_need import LeastNeed
from usmp.aot.main_versions import MainVersions
from usmp.objects import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    TensorInfo,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.objects.attributes.annotations import (
    CANDIDATE_MEMORY_POOL_ATTR,
    CONSTANT_DATA_ATTR,
    STATE_TENSOR_ATTR,
)
from usmp.objects.attributes.module_attributes import (
    CONSTANT_MEMORY_POOLS_ATTR,
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    OUTPUT_TENSORS_ATTR,
    STATE_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.planning.main_function import with_main
from usmp.planning.operator_order.graph import OperatorGraph
from usmp.planning.operator_order.read_graph import operator_graph
from usmp.planning.options import PlanningOptions
from usmp.planning.search.stages.order import with_order
from usmp.planning.session import planning_session
from usmp.planning.streaming import segmentation
from usmp.planning.streaming.lower_bound import least_need, with_needs_of_forms
from usmp.transform import StreamOperators
from usmp_solver import Pool

C = Target("c")
OPTIONS = PlanningOptions()
IN_WORKSPACE = PlanningOptions(use_workspace_io=True)


def workspace(name: str, limit: int) -> WorkspacePoolInfo:
    return WorkspacePoolInfo(name, [C], PoolInfoProperties(size_hint_bytes=limit))


def limited(mod: IRModule, *limits: int) -> IRModule:
    pools = [workspace(f"p{index}", limit) for index, limit in enumerate(limits)]
    return mod.with_attr(WORKSPACE_MEMORY_POOLS_ATTR.name, WorkspaceMemoryPools(pools))


def need_of(mod: IRModule, options: PlanningOptions = OPTIONS) -> LeastNeed | None:
    with planning_session() as session:
        return least_need(session, mod, options)


def needed_bytes(mod: IRModule, options: PlanningOptions = OPTIONS) -> int:
    need = need_of(limited(mod, 0), options)
    return 0 if need is None else need.needed_bytes


def peak_of(mod: IRModule, options: PlanningOptions = OPTIONS) -> int:
    with planning_session() as session:
        peaks = session.peaks(limited(mod, 1 << 30), options)
    assert peaks is not None
    return peaks[0]


WINDOW = operator(
    "window",
    [("p", 80, "int8"), ("q", 64, "int8")],
    """
    for i in range(8):
        for j in range(8):
            Q[i * 8 + j] = P[i * 8 + j] + P[i * 8 + j + 8] + P[i * 8 + j + 16]
    """,
)
"""Eight rows of eight bytes, of three rows each: two of them are still to be read after each."""

SPREAD = operator(
    "spread",
    [("p", 80, "int8"), ("q", 80, "int8")],
    """
    for i in range(10):
        for j in range(8):
            Q[i * 8 + j] = P[i * 8 + j]
    """,
)

MAIN = main_function(
    [("x", "int8"), ("y", "int8")], [("a", 80, "int8")], ["spread x a", "window a y"]
)

CHAIN = module(
    SPREAD,
    WINDOW,
    main_function(
        [("x", "int8"), ("y", "int8")], [("a", 80, "int8")], ["spread x a", "window a y"]
    ),
)


def test_rows_between_two_steps():
    """Of ten rows a ring keeps two, whatever runs interleaved."""
    assert need_of(limited(CHAIN, 15)) == LeastNeed(
        16, 15, (Pool("p0", 15),), "the model", largest=("a", 16)
    )
    assert need_of(limited(CHAIN, 16)) is None


def test_one_buffer_lies_in_one_pool():
    need = need_of(limited(CHAIN, 10, 12))
    assert need is not None
    assert (need.needed_bytes, need.available_bytes, need.is_one_buffer) == (16, 12, True)
    assert need.text().splitlines() == [
        "TVM USMP Error: the space available in the provided pools exceeded: the model needs at "
        "least 16 bytes of one pool, but there are 12. The largest buffer is a (at least 16 bytes)",
        '  pool "p0": size_hint_bytes=10',
        '  pool "p1": size_hint_bytes=12',
        "No plan was searched, because none can fit. Please increase the size_hints for memory "
        "pools. To learn how many bytes are enough, compile without size_hints: the summary has "
        "the bytes that each pool needs.",
    ]
    assert need_of(limited(CHAIN, 10, 16)) is None
    assert need_of(limited(CHAIN, 10, -1)) is None


def test_what_is_not_searched_has_no_need():
    """Without streaming, the first plan says what does not fit, and how much is enough."""
    assert need_of(limited(CHAIN, 15), PlanningOptions(streaming=False)) is None
    assert need_of(limited(CHAIN, 15), PlanningOptions(algorithm="no_sharing")) is None
    assert need_of(CHAIN) is None


def annotated(annotations: dict[str, object]) -> IRModule:
    """CHAIN with annotations of its tensor."""

    def annotate(stmt: tirx.Stmt) -> tirx.Stmt:
        if isinstance(stmt, tirx.AllocBuffer):
            return tirx.AllocBuffer(stmt.buffer, annotations)
        return stmt

    main = CHAIN[MAIN_FUNCTION_NAME]
    body = tirx.SeqStmt([annotate(stmt) for stmt in tirx.stmt_list(main.body)])
    return with_main(CHAIN, main.with_body(body))


def test_states_are_whole():
    mod = annotated({STATE_TENSOR_ATTR.name: "a"})
    need = need_of(limited(mod, 70))
    assert need is not None
    assert (need.needed_bytes, need.largest) == (80, ("a", 80))
    assert need_of(limited(mod, 80)) is None


def test_states_in_a_pool_of_their_own():
    mod = annotated({STATE_TENSOR_ATTR.name: "a"})
    apart = limited(mod, 1).with_attr(STATE_MEMORY_POOL_ATTR.name, workspace("kept", 70))
    need = need_of(apart)
    assert need is not None
    assert (need.needed_bytes, need.holds, need.pools) == (80, "the states", (Pool("kept", 70),))


def test_what_the_planner_does_not_place_is_not_needed():
    """Allocations of each iteration of a parallel loop, and states inside operators in a pool of
    their own."""
    inside = """
    for i in {loop}(8):
        t = T.alloc_buffer((64,), "int8"{annotations})
        t[0] = P[i]
        Q[i] = t[0]
    """
    io = [("p", 8, "int8"), ("q", 8, "int8")]
    main = main_function(
        [("x", "int8"), ("y", "int8")], [("a", 8, "int8")], ["inside x a", "inside a y"]
    )

    def mod(loop: str, annotations: str = "") -> IRModule:
        text = inside.format(loop=loop, annotations=annotations)
        return module(operator("inside", io, text), main)

    assert needed_bytes(mod("T.serial")) == 64
    assert needed_bytes(mod("T.parallel")) < 64
    state = f', annotations={{"{STATE_TENSOR_ATTR.name}": "kept"}}'
    apart = mod("T.serial", state).with_attr(STATE_MEMORY_POOL_ATTR.name, workspace("kept", 100))
    assert needed_bytes(apart) < 64


def test_states_in_pools_that_the_module_does_not_list():
    states = {STATE_TENSOR_ATTR.name: "a", CANDIDATE_MEMORY_POOL_ATTR: [workspace("big", 100)]}
    assert need_of(limited(annotated(states), 79)) is None


def test_each_constant_once():
    constant = tvm.runtime.tensor(np.arange(80, dtype=np.int8))
    main = CHAIN[MAIN_FUNCTION_NAME]
    statements = tirx.stmt_list(main.body)
    (allocation,) = [stmt for stmt in statements if isinstance(stmt, tirx.AllocBuffer)]
    twice = [
        tirx.AllocBuffer(tirx.decl_buffer((80,), "int8", name), {CONSTANT_DATA_ATTR.name: constant})
        for name in ("v", "w")
    ]
    mod = with_main(CHAIN, main.with_body(tirx.SeqStmt([*twice, *statements])))
    assert allocation.buffer.name == "a"
    flash = ConstantPoolInfo("flash", [C], None, PoolInfoProperties(size_hint_bytes=70))
    need = need_of(mod.with_attr(CONSTANT_MEMORY_POOLS_ATTR.name, ConstantMemoryPools([flash])))
    assert need is not None
    assert (need.needed_bytes, need.holds, need.largest) == (80, "the constants", ("v", 80))


def test_inputs_are_there_together():
    both = operator(
        "both",
        [("p", 40, "int8"), ("q", 24, "int8"), ("r", 8, "int8")],
        """
        for i in range(8):
            R[i] = P[i * 5] + Q[i * 3]
        """,
    )
    main = main_function([(name, "int8") for name in "xyz"], [], ["both x y z"])
    infos = [TensorInfo(*each, "int8") for each in (("x", [40]), ("y", [24]), ("z", [8]))]
    mod = module(both, main)
    io = {INPUT_TENSORS_ATTR.name: infos[:2], OUTPUT_TENSORS_ATTR.name: infos[2:]}
    mod = with_main(mod, mod[MAIN_FUNCTION_NAME].with_attrs(io))
    assert needed_bytes(mod) == 0
    assert needed_bytes(mod, IN_WORKSPACE) == 64


def random_order(random: Random, graph: OperatorGraph) -> list[int]:
    order: list[int] = []
    while len(order) < len(graph.calls):
        ready = [i for i, call in enumerate(graph.calls) if {*call.after} <= {*order}]
        order.append(random.choice([index for index in ready if index not in order]))
    return order


@pytest.mark.slow
@pytest.mark.property
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5])
def test_no_order_and_no_segments_take_less(seed):
    """A bound of one program holds for all that can be made of it."""
    random = Random(seed)
    mod = draw_streamed(random).mod
    options = random.choice([OPTIONS, IN_WORKSPACE])
    least = needed_bytes(mod, options)
    assert least <= peak_of(mod, options)
    graph = operator_graph(mod, preserve_inputs=False, overlap=True)
    for _ in range(2):
        main = mod[MAIN_FUNCTION_NAME]
        ordered = with_main(mod, with_order(main, random_order(random, graph))) if graph else mod
        segments = random_segments(random, ordered)
        streamed = StreamOperators(segments, random.random() < 0.5)(ordered)
        assert least <= peak_of(streamed, options)


@pytest.mark.property
@pytest.mark.parametrize("seed", range(12))
def test_no_choice_of_copies_takes_less(seed):
    """The bound of each choice of copies is that of all, with states too."""
    random = Random(seed)
    states = ["s", "r"][: random.randint(0, 2)]
    initial = {name: np.int8(random.choice([0, -5])) for name in states}
    updated = [name for name in states if random.random() < 0.4]
    versions = MainVersions(StateModel(random, states, initial, False, updated).build())
    count = len(versions.version()[1])
    some = [index for index in range(count) if random.random() < 0.5]
    options = random.choice([OPTIONS, IN_WORKSPACE])
    bind = tirx.transform.BindTarget(C)
    modules = [bind(versions.version(wanted)[0]) for wanted in (None, (), range(count), some)]
    (least,) = {needed_bytes(mod, options) for mod in modules}
    assert all(least <= peak_of(mod, options) for mod in modules)


@pytest.mark.slow
def test_the_informative_bounds_are_many():
    """Else the tests above would show nothing."""
    found = [needed_bytes(draw_streamed(Random(seed)).mod) for seed in range(4)]
    assert sum(map(bool, found)) >= 3


def test_of_forms_the_one_that_needs_least():
    longer = WINDOW.replace("+ P[i * 8 + j + 16]", "+ P[i * 8 + j + 24]").replace("(8)", "(7)", 1)
    larger, smaller = limited(module(SPREAD, longer, MAIN), 15), limited(CHAIN, 15)
    with planning_session() as session:

        def need(taken: IRModule, *forms: IRModule) -> LeastNeed | None:
            return least_need(session, with_needs_of_forms(session, taken, forms, OPTIONS), OPTIONS)

        alone = least_need(session, larger, OPTIONS)
        assert alone is not None
        assert (alone.needed_bytes, alone.largest) == (24, ("a", 24))
        assert need(larger, larger) == alone
        both = need(larger, larger, smaller)
        assert both is not None
        assert (both.needed_bytes, both.largest) == (16, None)
        # A form may fit, or other pools are too small for it; or not all pairs were compared.
        again = with_needs_of_forms(session, larger, [larger], OPTIONS)
        for known in (
            need(larger, larger, limited(CHAIN, 16)),
            need(larger, larger, limited(CHAIN, 10, 5)),
            need(again, again),
        ):
            assert known == replace(alone, is_of_all_forms=False)
            assert "the model, in the form that was taken, needs at least 24 bytes" in known.text()


def test_bytes_of_one_pool_are_not_compared_with_bytes_of_all():
    of_one, of_all = limited(CHAIN, 8, 10), limited(annotated({STATE_TENSOR_ATTR.name: "a"}), 8, 10)
    with planning_session() as session:
        mod = with_needs_of_forms(session, of_all, [of_one, of_all], OPTIONS)
        need = least_need(session, mod, OPTIONS)
    assert need is not None
    assert (need.needed_bytes, need.is_one_buffer, need.is_of_all_forms) == (80, False, False)


def refusal(mod: object, limit: int, **arguments: object) -> LeastNeed:
    pools = WorkspaceMemoryPools([workspace("sram", limit)])
    with pytest.raises(DoesNotFitError) as refused:
        usmp.build(mod, workspace_memory_pools=pools, **arguments)
    need = refused.value.does_not_fit
    assert isinstance(need, LeastNeed)
    assert str(refused.value) == need.text()
    assert pickle.loads(pickle.dumps(need)) == need
    return need


@pytest.fixture
def no_search(monkeypatch):
    def search(*_: object) -> None:
        raise AssertionError("segments are searched, but none can fit")

    monkeypatch.setattr(segmentation, "_choice", search)


@pytest.mark.slow
def test_layouts_are_lowered_and_not_searched(no_search):
    """The need is that of the layout that needs less."""
    need = refusal(two_convolutions(), 100)
    # Two rows of ten pixels of eight channels; with channels first it is the whole image.
    assert (need.needed_bytes, need.available_bytes) == (2 * 10 * 8 * 4, 100)
    assert need.largest is None


@pytest.mark.slow
@pytest.mark.property
def test_a_build_takes_no_less():
    mod = two_convolutions()
    peak = usmp.build(mod).interface.workspace_size_bytes
    need = refusal(mod, peak // 10)
    assert peak // 10 < need.needed_bytes <= peak
    pools = WorkspaceMemoryPools([workspace("sram", peak)])
    assert usmp.build(mod, workspace_memory_pools=pools).interface.workspace_size_bytes == peak


@pytest.mark.slow
def test_of_several_entries_the_one_that_needs_most(no_search):
    """Of layouts of several entries not all pairs are compared."""
    need = refusal({"small": two_convolutions(4), "large": two_convolutions(8)}, 100)
    assert (need.needed_bytes, need.is_of_all_forms) == (12 * 10 * 8 * 4, False)


@pytest.mark.slow
def test_a_board_that_is_too_small(no_search):
    properties = PoolInfoProperties(size_hint_bytes=100)
    pools = WorkspaceMemoryPools([WorkspacePoolInfo("sram", ["c"], properties)])
    with pytest.raises(ValueError) as refused:
        usmp.build(two_convolutions(), board="mps2-an385", workspace_memory_pools=pools)
    assert str(refused.value) == (
        "the model does not fit board mps2-an385: the model needs at least 1440 bytes, but there "
        "are 100\nsram (4194304 bytes at 0x20000000) has 100 bytes for pools, at least 1340 too "
        "few\nChoose other memories or a smaller model. To learn how many bytes are enough, "
        "compile without a board"
    )
