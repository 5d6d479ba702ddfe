"""Which copies of joined and cut tensors are left in `__tvm_main__`, and where tensors lie."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.ir.transform import PassContext

import usmp
from support.lowered_main import lower_main
from support.main_calls import called, views
from support.poison import poisoned
from support.state_programs import program
from usmp.aot.main_versions import MainVersions
from usmp.aot_pipeline import lower_to_aot
from usmp.objects.attributes.annotations import CONSTANT_DATA_ATTR
from usmp.runtime import HostModule

pytestmark = pytest.mark.cc

X = ("x", (4, 6), "float32")
Y = ("y", (2, 6), "float32")


def softmax(b, value):
    """An operator that nothing is fused with."""
    return b.emit(relax.op.nn.softmax(value))


def part(b, value, begin, end):
    return b.emit(relax.op.strided_slice(value, [0], [begin], [end]))


def join(b, *values, axis=0):
    return b.emit(relax.op.concat(list(values), axis))


def allocated(main):
    """The elements of each tensor that is allocated, without constants."""
    return {
        str(statement.buffer.name): int(statement.buffer.shape[0])
        for statement in main.body.seq
        if isinstance(statement, tirx.AllocBuffer)
        and CONSTANT_DATA_ATTR.name not in statement.annotations
    }


def assert_computes(mod, expected, random_array):
    """As TVM computes it, when everything that is dead is overwritten."""
    # In the order in which copies are looked at below; that a plan is the least is not the subject.
    with PassContext(disabled_pass=["OrderOperators", "StreamOperators"]):
        factory = poisoned(usmp.build(mod))
    tensors = [tensor.info for tensor in factory.interface.inputs]
    inputs = [random_array(*t.shape, dtype=str(t.dtype)) for t in tensors]
    named = dict(zip((str(t.name) for t in tensors), inputs, strict=True))
    module = factory.metadata["modules"]["default"]
    outputs = HostModule(factory.files(), module, ["-O0"]).run(named).values()
    for actual, wanted in zip(outputs, expected(mod, *inputs), strict=True):
        assert actual.tobytes() == wanted.tobytes()


@pytest.fixture
def check(model, expected, random_array):
    def main_of(body, *inputs):
        mod = model(body, *inputs)
        assert_computes(mod, expected, random_array)
        return lower_to_aot(mod)["__tvm_main__"]

    return main_of


@pytest.mark.slow
def test_inputs_of_a_concat_are_written_to_their_places(check):
    main = check(lambda b, x, y: softmax(b, join(b, softmax(b, x), softmax(b, y))), X, Y)
    assert called(main) == ["softmax", "softmax1", "softmax2"]
    assert views(main) == {"softmax": ("concat", 0), "softmax1": ("concat", 24)}
    assert set(allocated(main).values()) == {36}


@pytest.mark.slow
def test_a_concat_that_is_returned_is_written_where_the_caller_wants_it(check):
    main = check(lambda b, x, y: join(b, softmax(b, x), softmax(b, y)), X, Y)
    assert called(main) == ["softmax", "softmax1"]
    assert views(main) == {"softmax": ("output", 0), "softmax1": ("output", 24)}
    assert allocated(main) == {}


@pytest.mark.slow
def test_a_concat_of_a_concat(check):
    def body(b, x, y):
        first = join(b, softmax(b, x), softmax(b, y))
        second = join(b, softmax(b, first), first)
        return softmax(b, second)

    main = check(body, X, Y)
    assert called(main) == ["softmax", "softmax1", "softmax2", "softmax3"]
    assert views(main) == {
        "concat": ("concat_1", 36),
        "softmax": ("concat_1", 36),
        "softmax1": ("concat_1", 60),
        "softmax2": ("concat_1", 0),
    }
    assert allocated(main) == {"concat_1": 72}


@pytest.mark.slow
def test_parts_of_a_split_are_read_where_they_are(check):
    def body(b, x):
        parts = b.emit(relax.op.split(softmax(b, x), [1, 3], 0))
        return relax.Tuple([softmax(b, b.emit(parts[index])) for index in (0, 1, 2)])

    main = check(body, X)
    assert called(main)[0] == "softmax"
    assert len(called(main)) == 4
    assert views(main) == {
        "strided_slice": ("softmax", 0),
        "strided_slice_1": ("softmax", 6),
        "strided_slice_2": ("softmax", 18),
    }
    assert allocated(main) == {"softmax": 24}


@pytest.mark.slow
def test_a_slice_of_an_input_is_read_there(check):
    main = check(lambda b, x: softmax(b, part(b, x, -3, 4)), X)
    assert called(main) == ["softmax"]
    assert views(main) == {"strided_slice": ("x", 6)}
    assert allocated(main) == {}


@pytest.mark.slow
def test_a_slice_of_a_constant_is_read_there(check):
    constant = relax.const(np.arange(24, dtype="float32").reshape(4, 6))
    main = check(lambda b, y: b.emit(relax.op.add(softmax(b, y), part(b, constant, 1, 3))), Y)
    assert "usmp_copy_0" not in called(main)


def test_a_slice_of_a_slice(check):
    main = check(lambda b, x: softmax(b, part(b, part(b, softmax(b, x), 1, 4), 1, 2)), X)
    assert called(main) == ["softmax", "softmax1"]
    assert views(main) == {"strided_slice_1": ("softmax", 12)}


@pytest.mark.slow
def test_one_row_of_one_image(check):
    """The first axes have one element; the slice begins and ends in the third."""

    def body(b, x):
        row = b.emit(relax.op.strided_slice(softmax(b, x), [0, 1, 2], [1, 2, 1], [2, 3, 3]))
        return softmax(b, row)

    main = check(body, ("x", (2, 3, 4, 5), "float32"))
    assert views(main) == {"strided_slice": ("softmax", 60 + 40 + 5)}


@pytest.mark.parametrize(
    "axes",
    [
        ([1], [0], [3], [1]),
        ([0], [3], [0], [-1]),
        ([0], [0], [4], [2]),
        ([0, 1], [0, 0], [2, 3], [1, 1]),
    ],
    ids=["inner_axis", "backwards", "every_other", "two_axes"],
)
def test_slices_with_gaps_are_computed(check, axes):
    main = check(lambda b, x: softmax(b, b.emit(relax.op.strided_slice(x, *axes))), X)
    assert called(main) == ["strided_slice", "softmax"]
    assert views(main) == {}


@pytest.mark.slow
def test_joining_an_inner_axis_is_computed(check):
    body = lambda b, x: softmax(b, join(b, softmax(b, x), softmax(b, x), axis=1))  # noqa: E731
    main = check(body, X)
    assert views(main) == {}


@pytest.mark.slow
def test_an_axis_after_axes_of_one_element_is_the_outermost(check):
    def body(b, x, y):
        return softmax(b, join(b, softmax(b, x), softmax(b, y), axis=-2))

    main = check(body, ("x", (1, 1, 2, 3), "float32"), ("y", (1, 1, 5, 3), "float32"))
    assert views(main) == {"softmax": ("concat", 0), "softmax1": ("concat", 6)}
    assert len(called(main)) == 3


@pytest.mark.slow
def test_inputs_that_are_not_computed_are_copied(check):
    def body(b, x, y):
        constant = relax.const(np.ones((1, 6), "float32"))
        return softmax(b, join(b, x, softmax(b, y), constant))

    main = check(body, X, Y)
    assert called(main) == ["softmax", "usmp_copy_0", "usmp_copy_1", "softmax1"]
    assert views(main) == {
        "concat_part": ("concat", 0),
        "concat_part_2": ("concat", 36),
        "softmax": ("concat", 24),
    }


def test_inputs_none_of_which_is_computed_are_read_by_the_reader(check):
    main = check(lambda b, x, y: b.emit(relax.op.exp(join(b, x, y))), X, Y)
    assert len(called(main)) == 1
    assert allocated(main) == {}


@pytest.mark.slow
def test_a_tensor_that_is_joined_twice_is_copied_once(check):
    def body(b, x):
        value = softmax(b, x)
        return softmax(b, join(b, value, value))

    main = check(body, X)
    assert called(main) == ["softmax", "usmp_copy_0", "softmax1"]
    assert set(allocated(main).values()) == {48}


@pytest.mark.slow
def test_a_joined_tensor_may_have_other_readers(check):
    def body(b, x, y):
        value = softmax(b, x)
        joined = softmax(b, join(b, value, softmax(b, y)))
        return relax.Tuple([joined, softmax(b, value)])

    main = check(body, X, Y)
    assert "usmp_copy_0" not in called(main)
    assert set(allocated(main).values()) == {36}


@pytest.mark.slow
def test_what_is_returned_itself_is_copied_to_the_concat(check):
    def body(b, x, y):
        value = softmax(b, x)
        return relax.Tuple([value, softmax(b, join(b, value, softmax(b, y)))])

    main = check(body, X, Y)
    assert called(main).count("usmp_copy_0") == 1
    assert set(allocated(main).values()) == {36}


def test_a_slice_that_is_returned_is_copied_to_the_caller(check):
    main = check(lambda b, x: relax.Tuple([part(b, softmax(b, x), 1, 2)]), X)
    assert called(main) == ["softmax", "usmp_copy_0"]
    assert allocated(main) == {"softmax": 24}


@pytest.mark.parametrize("wanted", [None, [0, 1, 2]])
def test_what_the_caller_wants_becomes_no_part_of_another_tensor(wanted):
    """Not even where the copy that makes it is asked to be elided."""

    def body(graph):
        both = graph.builder.emit(relax.op.concat([graph.add(graph.x, graph.x), graph.x], 0))
        return [graph.s, graph.cut(both, 0)]

    mod, copies = MainVersions(program(body, {"s": 0})).version(wanted)
    main = mod["__tvm_main__"]
    assert called(main) == ["add", "usmp_copy_0", "usmp_copy_0"]
    assert [copy.is_elided for copy in copies] == [True, False, False]


@pytest.mark.slow
def test_a_copy_that_keeps_less_alive_is_made(check):
    """One row is kept over an operator on tensors that are as large as what it is a row of."""

    def body(b, x):
        large = softmax(b, b.emit(relax.op.concat([softmax(b, x)] * 5, 1)))
        row = part(b, large, 0, 1)
        narrow = b.emit(relax.op.sum(softmax(b, softmax(b, large)), [0], keepdims=True))
        return softmax(b, b.emit(relax.op.add(softmax(b, row), narrow)))

    main = check(body, X)
    assert "strided_slice" not in views(main)
    assert "usmp_copy_0" in called(main)


def test_what_is_overwritten_in_place_is_not_shared():
    """The state is changed in place, so what was cut off it before must have been copied."""

    def body(graph):
        before = graph.cut(graph.s, 0)
        after = graph.accumulate(graph.s, graph.x)
        return [after, graph.add(before, graph.x)]

    main = lower_main(program(body, {"s": 0}))["__tvm_main__"]
    assert "usmp_copy_0" in called(main)
    assert "strided_slice" not in views(main)


def test_a_cut_that_is_changed_in_place_is_not_shared():
    def body(graph):
        total = graph.add(graph.x, graph.x)
        changed = graph.accumulate(graph.cut(total, 0), graph.x)
        return [graph.s, graph.add(changed, total)]

    main = lower_main(program(body, {"s": 0}))["__tvm_main__"]
    assert "usmp_copy_0" in called(main)


def test_parts_with_gaps_must_be_legalized_first():
    def body(graph):
        wide = graph.builder.emit(relax.op.reshape(graph.x, (2, 2)))
        return [graph.s, graph.builder.emit(relax.op.concat([wide, wide], 1))]

    with pytest.raises(usmp.UnsupportedModelError) as error:
        lower_main(program(body, {"s": 0}))
    assert str(error.value) == (
        'operator relax.concat (result gv1: R.Tensor((2, 4), dtype="int8")) moves parts with gaps; '
        "legalize it first"
    )


@pytest.mark.slow
def test_an_input_that_waits_long_need_not_be_copied_if_what_follows_overlaps_it(check):
    def body(b, x):
        skipped = softmax(b, x)
        wide = softmax(b, b.emit(relax.op.concat([skipped] * 5, 1)))
        late = b.emit(relax.op.sum(wide, [1], keepdims=True))
        return softmax(b, join(b, b.emit(relax.op.reshape(skipped, (24, 1))), late))

    main = check(body, X)
    assert called(main) == ["softmax", "concatenate", "softmax1", "sum", "softmax2"]
    assert views(main) == {"softmax": ("concat", 0), "sum": ("concat", 24)}


@pytest.mark.slow
def test_inputs_that_only_pay_off_together(check):
    def body(b, x, y):
        first = b.emit(relax.op.sum(y, [1], keepdims=True))
        second = b.emit(relax.op.sum(softmax(b, x), [1], keepdims=True))
        return softmax(b, join(b, first, second))

    main = check(body, ("x", (8, 30), "float32"), ("y", (8, 3), "float32"))
    assert called(main) == ["sum", "softmax", "sum1", "softmax1"]
    assert views(main) == {"sum": ("concat", 0), "sum1": ("concat", 8)}


@pytest.mark.slow
def test_what_is_returned_lives_on_anyway(check):
    def body(b, x):
        returned = softmax(b, x)
        row = part(b, returned, 1, 2)
        wide = softmax(b, b.emit(relax.op.concat([returned] * 5, 1)))
        wider = softmax(b, b.emit(relax.op.concat([wide] * 2, 1)))
        narrow = b.emit(relax.op.sum(wider, [0], keepdims=True))
        return relax.Tuple([returned, softmax(b, row), softmax(b, narrow)])

    main = check(body, X)
    assert "usmp_copy_0" not in called(main)
    assert views(main) == {"strided_slice": ("output0", 6)}


def test_a_slice_of_what_is_computed_for_it_alone_is_computed_alone(check):
    main = check(lambda b, x: softmax(b, part(b, b.emit(relax.op.nn.relu(x)), 1, 3)), X)
    assert called(main) == ["fused_relu_strided_slice", "softmax"]
    assert set(allocated(main).values()) == {12}


@pytest.mark.slow
def test_slices_of_slices_with_gaps_are_one(check):
    def body(b, x):
        columns = b.emit(relax.op.strided_slice(x, [1], [1], [4]))
        return softmax(b, part(b, part(b, columns, 1, 4), 0, 2))

    main = check(body, X)
    assert len(called(main)) == 2
    assert views(main) == {}
    assert set(allocated(main).values()) == {6}


@pytest.mark.slow
def test_a_slice_of_what_others_read_too_is_read_there(check):
    def body(b, x):
        value = b.emit(relax.op.nn.relu(x))
        return relax.Tuple([softmax(b, part(b, value, 1, 3)), softmax(b, value)])

    main = check(body, X)
    assert called(main) == ["relu", "softmax", "softmax1"]
    assert views(main) == {"strided_slice": ("relu", 6)}
