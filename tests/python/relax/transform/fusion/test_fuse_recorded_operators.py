"""Groups of operators are fused, or split where fewer bytes are live then."""

import numpy as np
import pytest
from tvm import relax, te
from tvm.ir.transform import PassContext, Sequential

import usmp
from support.deadlines import OVER
from usmp.objects.attributes.compared import Alternative, Compared, compared_of
from usmp.objects.attributes.module_attributes import NOT_COMPARED_ATTR
from usmp.ops.emit import OPAQUE
from usmp.planning.options import PlanningOptions
from usmp.planning.session import planning_session
from usmp.relax.transform.fusion.fuse_operators import FuseOperators
from usmp.relax.transform.groups.choice import (
    groups_in_pieces,
    groups_to_split,
    with_groups_split,
)
from usmp.relax.transform.groups.split import with_pieces


def grouped(mod):
    """The module when FuseOps made groups, which are not fused yet."""
    step = Sequential(
        [
            relax.transform.CanonicalizeBindings(),
            relax.transform.LegalizeOps(),
            relax.transform.AnnotateTIROpPattern(),
            relax.transform.FuseOps(),
        ]
    )
    return step(mod)


def operators(mod):
    """What `main` calls, in order, and which of its tensors each reads."""
    bindings = [b for block in mod["main"].body.blocks for b in block.bindings]
    numbers = {param: -1 for param in mod["main"].params}
    found = []
    for binding in bindings:
        call = binding.value
        is_group = not hasattr(call.op, "name")
        name = (call.op if is_group else call.args[0]).name_hint
        read = call.args if is_group else call.args[1].fields
        found.append((name, [numbers[a] for a in read if isinstance(a, relax.Var)]))
        numbers[binding.var] = len(found) - 1
    return found


@pytest.fixture
def terms(model, random_array):
    """A sum of six tensors, each times a number; all have 64 float32, 256 bytes."""
    weights = [random_array(64) for _ in range(6)]

    def spread(data, weight):
        return te.compute((1, 64), lambda i, j: data[i, j // 16] * weight[j], name="spread")

    def body(b, x):
        def tensor(weight):
            # Nothing is fused with these.
            return b.emit_te(spread, x, weight, primfunc_attrs={"op_pattern": OPAQUE})

        tensors = [tensor(relax.const(weight)) for weight in weights]
        factors = [relax.const(np.float32(0.1 + index)) for index in range(6)]
        terms = [b.emit(relax.op.multiply(*pair)) for pair in zip(tensors, factors, strict=True)]
        total = terms[0]
        for term in terms[1:]:
            total = b.emit(relax.op.add(total, term))
        return total

    return model(body, ("x", (1, 4), "float32"))


def test_a_sum_is_split_so_that_each_piece_reads_two_tensors(terms):
    mod = grouped(terms)
    mod = with_groups_split(mod, groups_to_split(mod, PlanningOptions()))
    # Each piece directly after what it reads last.
    assert operators(mod) == [
        *[("spread", [-1]), ("spread", [-1]), ("fused_multiply_multiply1_add", [0, 1])],
        *[("spread", [-1]), ("fused_multiply2_add", [3, 2])],
        *[("spread", [-1]), ("fused_multiply3_add", [5, 4])],
        *[("spread", [-1]), ("fused_multiply4_add", [7, 6])],
        *[("spread", [-1]), ("fused_multiply5_add", [9, 8])],
    ]


def groups_of(factory) -> list[Compared]:
    """What was compared of groups."""
    return [line for line in compared_of(factory.ir_mod) if line.stage == "groups"]


def test_without_passes_to_compare_by_everything_is_fused(terms):
    mod = FuseOperators()(terms)
    assert operators(mod)[-1][1] == [0, 1, 2, 3, 4, 5]
    assert compared_of(mod) == []


@pytest.mark.slow
@pytest.mark.cc
def test_the_smaller_plan_is_taken_and_gives_the_same_bits(terms, random_array):
    x = random_array(1, 4)
    built = {}
    with planning_session():
        for goal in ("ram", "balanced", "speed"):
            with PassContext(config={"tir.usmp.optimize": goal}, disabled_pass=["StreamOperators"]):
                built[goal] = usmp.build(terms)
    lines = {goal: groups_of(made) for goal, made in built.items()}
    split = Compared("groups", "split", 512, (Alternative("fused", "larger", 1536),))
    fused = Compared("groups", "fused", 1536, (Alternative("split", "slower", 512),))
    assert lines == {"ram": [split], "balanced": [split], "speed": [fused]}
    # With 16 bytes of input and 256 of output.
    ram_bytes = {goal: made.ram_bytes for goal, made in built.items()}
    assert ram_bytes == {"ram": 784, "balanced": 784, "speed": 1808}
    (split,), (fused,) = (built[goal].run({"x": x}).values() for goal in ("ram", "speed"))
    assert split.tobytes() == fused.tobytes()


@pytest.mark.slow
def test_without_time_everything_is_fused(terms):
    with PassContext(disabled_pass=["StreamOperators"]), planning_session(OVER):
        made = usmp.build(terms)
    assert groups_of(made) == []
    assert list(made.ir_mod.attrs[NOT_COMPARED_ATTR.name]) == ["groups", "order"]
    assert made.ram_bytes == 1808


def test_what_is_live_anyway_splits_nothing(model):
    """All that is read is also read afterwards."""

    def body(b, *tensors):
        total = b.emit(relax.op.add(tensors[0], tensors[1]))
        total = b.emit(relax.op.add(total, tensors[2]))
        return b.emit(relax.Tuple([total, *(relax.op.exp(tensor) for tensor in tensors)]))

    inputs = [(name, (64,), "float32") for name in "xyz"]
    mod = grouped(model(body, *inputs))
    options = PlanningOptions(use_workspace_io=True, preserve_inputs=True)
    assert groups_to_split(mod, options) == ()


def sum_of_inputs(model, dtype, change=lambda b, total: total):
    """A sum of four inputs of 64 elements, which is changed before the last one is added."""

    def body(b, *tensors):
        total = tensors[0]
        for tensor in tensors[1:-1]:
            total = b.emit(relax.op.add(total, tensor))
        return b.emit(relax.op.add(change(b, total), tensors[-1]))

    return grouped(model(body, *((name, (64,), dtype) for name in "abcd")))


def test_what_an_operator_computes_in_more_digits_is_not_stored(model):
    options = PlanningOptions(use_workspace_io=True)
    counts = {
        dtype: len(operators(with_pieces(mod, groups_in_pieces(mod))))
        for dtype in ("int8", "int32", "float64", "float32", "float16", "bfloat16")
        for mod in [sum_of_inputs(model, dtype)]
    }
    split = dict.fromkeys(("int8", "int32", "float64", "float32"), 3)
    assert counts == {**split, "float16": 1, "bfloat16": 1}
    mod = sum_of_inputs(model, "float16")
    assert groups_to_split(mod, options) == ()


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (relax.op.tanh, ["add", "fused_add_tir_tanh", "add"]),
        (lambda x: relax.op.multiply(x, x), ["add", "fused_add_multiply_add"]),
        (lambda x: relax.op.divide(x, relax.const(2.0)), ["add", "fused_add_divide_add"]),
        (lambda x: relax.op.power(x, relax.const(2.0)), ["add", "fused_add_power_add"]),
    ],
    ids=["tanh", "multiply", "divide", "power"],
)
def test_a_product_is_not_stored_before_it_is_a_term(model, change, names):
    """Compilers may compute both with one rounding."""
    mod = sum_of_inputs(model, "float32", lambda b, total: b.emit(change(total)))
    assert [name for name, _ in operators(with_pieces(mod, groups_in_pieces(mod)))] == names


def test_a_product_with_two_readers_is_not_split(model):
    def body(b, *tensors):
        product = b.emit(relax.op.multiply(tensors[0], tensors[1]))
        first = b.emit(relax.op.add(product, tensors[2]))
        second = b.emit(relax.op.add(product, tensors[3]))
        return b.emit(relax.op.add(b.emit(relax.op.exp(first)), second))

    mod = grouped(model(body, *((name, (64,), "float32") for name in "abcd")))
    assert groups_in_pieces(mod) == {}


@pytest.mark.slow
def test_entries_are_split_if_all_of_them_need_less(terms, model):
    """Another entry that needs more bytes makes a split useless."""

    def built(elements):
        def body(b, x):
            def repeat(data):
                return te.compute((1, elements), lambda i, j: data[i, j % 4], name="repeat")

            tensor = b.emit_te(repeat, x, primfunc_attrs={"op_pattern": OPAQUE})
            return b.emit(relax.op.sum(tensor))

        with PassContext(disabled_pass=["StreamOperators"]):
            other = model(body, ("x", (1, 4), "float32"))
            made = usmp.build({"terms": terms, "other": other})
        names = [str(v.name_hint) for v in made.ir_mod.functions]
        return sum("multiply" in name for name in names), made.ram_bytes

    assert [built(elements) for elements in (16, 1024)] == [(5, 784), (1, 4368)]
