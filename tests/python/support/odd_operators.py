"""Random operators that are hard to understand: several passes, scratch, vectors, odd loops, data
that says what is accessed, calls with views.
"""

from __future__ import annotations

from hypothesis import strategies as st
from tvm import tirx
from tvm.ir import Call, GlobalVar, TupleType

from support.common_operators import DTYPES
from support.operator_builder import Builder, block, cast, loop, nest, store, wide
from support.overlapped_runs import Operator


@st.composite
def permutations(draw: st.DrawFn) -> Operator:
    """Transposes, reversals and rotations; forwards or backwards through the output."""
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    elements = rows * columns
    builder = Builder(draw(st.booleans()))
    dtype = draw(st.sampled_from(DTYPES))
    x, y = builder.input(elements, dtype), builder.output(elements, draw(st.sampled_from(DTYPES)))
    kind = draw(st.sampled_from(["transpose", "reverse", "rows", "rotate", "copy"]))
    shift = draw(st.integers(0, elements))
    backwards = draw(st.booleans())

    def element(i, j):
        target, source = i * columns + j, i * columns + j
        if backwards:
            target = source = elements - 1 - target
        if kind == "transpose":
            source = j * rows + i
        elif kind == "reverse":
            source = elements - 1 - target
        elif kind == "rows":
            source = (rows - 1 - i) * columns + j
        elif kind == "rotate":
            source = tirx.floormod(target + shift, elements)
        return store(y, target, x[source])

    return builder.operator(nest([rows, columns], element))


@st.composite
def gathers(draw: st.DrawFn) -> Operator:
    """Elements that are found, or put, where an index from memory says."""
    count, elements = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    builder = Builder(draw(st.booleans()))
    scatters = draw(st.booleans())
    dtype = draw(st.sampled_from(["int32", "uint8", "int8"]))
    where = builder.input(count, dtype, below=elements)
    x = builder.input(count if scatters else elements)
    y = builder.output(elements if scatters else count)
    bound = draw(st.booleans())

    def element(i):
        index = cast("int32", where[i])
        head: list[tirx.Stmt] = []
        if bound:
            variable = tirx.Var("at", "int32")
            head, index = [tirx.Bind(variable, index)], variable
        return [*head, store(y, index, x[i]) if scatters else store(y, i, x[index])]

    return builder.operator(loop(count, element))


@st.composite
def several_passes(draw: st.DrawFn) -> Operator:
    """Softmax without the exponential: each row is read two or three times, and the last pass
    writes."""
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    builder = Builder(draw(st.booleans()))
    dtype = draw(st.sampled_from(["int8", "float32"]))
    x = builder.input(rows * columns, dtype)
    y = builder.output(rows * columns, draw(st.sampled_from(["int8", "float32"])))
    by_row = draw(st.booleans())
    kept = builder.scratch(
        1 if by_row else rows, "float32", draw(st.sampled_from(["local", "global"]))
    )
    through_output = draw(st.booleans())

    def passes(i):
        slot = 0 if by_row else i

        def at(j):
            return i * columns + j

        first = [
            store(kept, slot, tirx.FloatImm("float32", 0)),
            loop(columns, lambda j: store(kept, slot, kept[slot] + cast("float32", x[at(j)]))),
        ]
        second = [
            loop(columns, lambda j: store(y, at(j), cast("float32", x[at(j)]) - kept[slot])),
        ]
        if through_output:
            second += [loop(columns, lambda j: store(y, at(j), wide(y[at(j)]) + wide(x[at(j)])))]
        return first, second

    if by_row:
        return builder.operator(loop(rows, lambda i: [s for part in passes(i) for s in part]))
    return builder.operator([loop(rows, lambda i, part=part: passes(i)[part]) for part in (0, 1)])


@st.composite
def with_scratch(draw: st.DrawFn) -> Operator:
    """An input that is padded or changed in scratch, from which the output is computed, all at
    once or row by row."""
    rows, columns, pad = (draw(st.integers(1, 4)), draw(st.integers(2, 5)), draw(st.integers(0, 2)))
    width = columns + 2 * pad
    builder = Builder(draw(st.booleans()))
    x, y = (
        builder.input(rows * columns),
        builder.output(rows * columns, draw(st.sampled_from(DTYPES))),
    )
    by_row = draw(st.booleans())
    scratch = builder.scratch(width if by_row else rows * width, draw(st.sampled_from(DTYPES)))
    zero = tirx.IntImm("int32", 0)

    def row(i):
        start = 0 if by_row else i * width
        inside = [
            loop(width, lambda j: store(scratch, start + j, zero)),
            loop(columns, lambda j: store(scratch, start + pad + j, x[i * columns + j])),
        ]

        def element(j):
            value = wide(scratch[start + j])
            for tap in range(1, 2 * pad + 1):
                value = value + wide(scratch[start + j + tap])
            return store(y, i * columns + j, value)

        return inside, [loop(columns, element)]

    if by_row:
        return builder.operator(loop(rows, lambda i: [s for part in row(i) for s in part]))
    return builder.operator([loop(rows, lambda i, part=part: row(i)[part]) for part in (0, 1)])


@st.composite
def vectors(draw: st.DrawFn) -> Operator:
    """Loads and stores of several elements at once, next to each other or with gaps."""
    lanes, count = draw(st.sampled_from([2, 4])), draw(st.integers(1, 4))
    steps = draw(st.sampled_from([(1, 1), (1, 2), (2, 1), (1, 0), (-1, 1)]))
    dtype = draw(st.sampled_from(["int8", "int16", "float32"]))
    builder = Builder(draw(st.booleans()))
    elements = 2 * lanes * count
    x, y = builder.input(elements, dtype), builder.output(elements, dtype)
    backwards = draw(st.booleans())

    def element(i):
        if backwards:
            i = count - 1 - i
        start = i * lanes
        source = start + lanes - 1 if steps[0] < 0 else start * max(steps[0], 1)
        target = start * max(steps[1], 1)
        loaded = x[tirx.Ramp(source, steps[0], lanes)]
        if steps[1] == 0:
            loaded, where = x[source], target
        else:
            where = tirx.Ramp(target, steps[1], lanes)
        return tirx.BufferStore(y, loaded, [where])

    return builder.operator(loop(count, element))


@st.composite
def odd_loops(draw: st.DrawFn) -> Operator:
    """Loops whose bounds depend on other loops, that start or step oddly, or that are left."""
    size = draw(st.integers(1, 6))
    builder = Builder(draw(st.booleans()))
    x, y = builder.input(size * size), builder.output(size * size, draw(st.sampled_from(DTYPES)))
    kind = draw(st.sampled_from(["lower", "upper", "step", "countdown"]))
    by_column = draw(st.booleans())

    def copy(i, j):
        target = j * size + i if by_column else i * size + j
        return store(y, target, x[i * size + j])

    if kind == "lower":
        return builder.operator(loop(size, lambda i: loop(i + 1, lambda j: copy(i, j))))
    if kind == "upper":
        return builder.operator(loop(size, lambda i: loop(size - i, lambda j: copy(i, j), i)))
    if kind == "step":
        start, step = draw(st.integers(0, size - 1)), draw(st.integers(1, 3))
        return builder.operator(
            loop(size, lambda i: loop(size - start, lambda j: copy(i, j), start, step))
        )
    flat = size * size
    at = flat - 1
    return builder.operator(loop(flat, lambda i: store(y, at - i, x[(at - i) if by_column else i])))


@st.composite
def odd_exits(draw: st.DrawFn) -> Operator:
    """Loops that what is in memory ends, or goes on with."""
    elements = draw(st.integers(1, 20))
    builder = Builder(draw(st.booleans()))
    x, y = builder.input(elements), builder.output(elements, draw(st.sampled_from(DTYPES)))
    kind = draw(st.sampled_from(["while", "break", "continue", "return"]))
    backwards = draw(st.booleans())
    if kind == "while":
        count = builder.scratch(1, "int32", draw(st.sampled_from(["local", "global"])))
        source = elements - 1 - count[0] if backwards else count[0]
        body = block([store(y, count[0], x[source]), store(count, 0, count[0] + 1)])
        start = store(count, 0, tirx.IntImm("int32", 0))
        return builder.operator([start, tirx.While(count[0] < elements, body)])
    leave = {"break": tirx.Break, "continue": tirx.Continue}.get(
        kind, lambda: tirx.Return(tirx.IntImm("int32", 0))
    )
    limit = tirx.IntImm("int8", draw(st.integers(-100, 100)))

    def element(i):
        at = elements - 1 - i if backwards else i
        return [
            tirx.IfThenElse(x[at] > limit, leave(), None),
            store(y, at, x[elements - 1 - at]),
        ]

    return builder.operator(loop(elements, element))


@st.composite
def calls(draw: st.DrawFn, ways: tuple[str, ...] = ("address", "view")) -> Operator:
    """A PrimFunc that is called on views of the buffers, row by row, in some order."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    inner = Builder(by_handle=True)
    dtype = draw(st.sampled_from(["int8", "int8", "int16"]))
    a, b = inner.input(columns, dtype), inner.input(columns, dtype)
    c = inner.output(columns, dtype)
    reverses = draw(st.booleans())
    keeps = inner.scratch(columns, dtype) if draw(st.booleans()) else None

    def element(j):
        source = columns - 1 - j if reverses else j
        return store(keeps if keeps is not None else c, j, wide(a[source]) + wide(b[j]))

    body: list[tirx.Stmt] = [loop(columns, element)]
    if keeps is not None:
        body.append(loop(columns, lambda j: store(c, j, keeps[j])))
    callee = GlobalVar("inner")
    outer = Builder(draw(st.booleans()))
    outer_dtype = draw(st.sampled_from([dtype, "int8"]))
    factor = 2 if dtype != outer_dtype else 1
    x = outer.input(2 * rows * columns * factor, outer_dtype)
    y = outer.output(rows * columns * factor, outer_dtype)
    outer.alignment = max(outer.alignment, inner.alignment)
    same = draw(st.booleans())
    backwards = draw(st.booleans())
    way = draw(st.sampled_from(ways))

    def pointer(buffer, at):
        at = at * factor
        if way == "access":
            return tirx.tvm_access_ptr(outer_dtype, buffer.data, at, columns * factor, 3)
        if way == "offset":
            return tirx.handle_add_byte_offset(
                buffer.data, at * (1 if outer_dtype == "int8" else 2)
            )
        return tirx.address_of(buffer[at])

    def call(i):
        i = rows - 1 - i if backwards else i
        first = pointer(x, i * columns)
        second = first if same else pointer(x, (rows + i) * columns)
        head: list[tirx.Stmt] = []
        third = pointer(y, i * columns)
        if way == "view":
            view = tirx.decl_buffer((columns,), dtype, "view")
            head, third = [tirx.DeclBuffer(view, data=third)], view.data
        return [*head, tirx.Evaluate(Call(callee, [first, second, third], ret_ty=TupleType([])))]

    return outer.operator(loop(rows, call), {callee: inner.func(body)})


EXACT = {
    "permutation": permutations(),
    "several_passes": several_passes(),
    "with_scratch": with_scratch(),
    "vector": vectors(),
    "odd_loop": odd_loops(),
    "call": calls(),
}
"""Here the text tells all that is accessed."""

BOUNDED = {
    "gather": gathers(),
    "odd_exit": odd_exits(),
    "pointer": calls(("access", "offset")),
}
"""Here it does not, or goes ways that are not followed."""
