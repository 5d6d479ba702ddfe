"""Random main functions of operators that read and write rows.

Operators of all shapes: windows, upsampling, pads, slices, reductions, sums that run on, with
statements before and after their loops, with rows of their own, in reverse order, several rows a
step or several steps a row, and in place. The results of all are small, so that nothing overflows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from support.streamed_graphs import Tensor, main_function, operator, program_of
from support.tir_programs import Program


def draw_streamed(random: Random, counted: bool = True) -> Program:
    """A random program of two to seven operators.

    Parameters
    ----------
    counted
        whether each element goes through a function, so that a `Counting` interpreter sees it.
    """
    return _Draw(random, counted).program()


@dataclass
class _Draw:
    random: Random
    counted: bool
    functions: list[str] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    known: dict[tuple[str, ...], str] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)

    def program(self) -> Program:
        dtype = self.random.choice(["int8", "int8", "int32", "float32"])
        rows, width = self.random.randint(3, 9), self.random.randint(1, 4)
        count = self.random.choice([1, 1, 2])
        inputs = [Tensor(f"x{i}", rows, width, dtype) for i in range(count)]
        self.tensors += inputs
        for _ in range(self.random.randint(2, 7)):
            newest = self.tensors[-1]
            source = newest if self.random.random() < 0.7 else self.random.choice(self.tensors)
            self.random.choice(_KINDS)(self, source)
        made = self.tensors[len(inputs) :]
        outputs = [t for t in made if t.name not in self.read or self.random.random() < 0.15]
        between = [t for t in made if t not in outputs]
        params = [(t.name, t.dtype) for t in (*inputs, *outputs)]
        main = main_function(params, [(t.name, t.size, t.dtype) for t in between], self.calls)
        return program_of([*self.functions, main], inputs, outputs, self.random)

    def value(self, name: str, terms: Sequence[str], dtype: str) -> str:
        """An element: small numbers, whatever is summed."""
        calculation = "float32" if dtype == "float32" else "int32"
        number = self.random.randint(-3, 3)
        total = " + ".join(
            term if calculation == dtype else f'T.Cast("int32", {term})' for term in terms
        )
        if calculation == "float32":
            found = f"({total}) * T.float32(0.375) + T.float32({number})"
        else:
            found = f"T.truncmod({total} + {number}, 101)"
        if self.counted:
            found = f'T.call_pure_extern("{calculation}", "made_by_{name}", {found})'
        return found if calculation == dtype else f'T.Cast("{dtype}", {found})'

    def apply(
        self,
        kind: str,
        inputs: Sequence[Tensor],
        outputs: Sequence[tuple[int, int]],
        body: Callable[[str], str],
    ) -> None:
        """Append a call of an operator, which is a known one now and then.

        Parameters
        ----------
        kind
            all that decides what the body is, beside the shapes.
        outputs
            rows and widths.
        body
            by the name of the operator; reads A, B, ... and writes Y, Z.
        """
        dtype = inputs[0].dtype
        shapes = [f"{t.rows}x{t.width}" for t in inputs] + [f"{r}x{w}" for r, w in outputs]
        key = (kind, dtype, *shapes)
        made = [
            Tensor(f"t{len(self.tensors) + i}", *shape, dtype) for i, shape in enumerate(outputs)
        ]
        if key not in self.known or self.random.random() < 0.3:
            name = f"f{len(self.functions)}_{kind.split()[0]}"
            params = [("abc"[i], t.size, dtype) for i, t in enumerate(inputs)]
            params += [("yz"[i], t.size, dtype) for i, t in enumerate(made)]
            self.functions.append(operator(name, params, body(name)))
            self.known[key] = name
        self.tensors += made
        self.read |= {t.name for t in inputs}
        arguments = [t.name for t in (*inputs, *made)]
        self.calls.append(" ".join([self.known[key], *arguments]))


def _zero(dtype: str) -> str:
    return f"T.{dtype}(0)"


def _window(draw: _Draw, x: Tensor) -> None:
    """Of rows, and perhaps of columns, with anything outside of the image as zero."""
    random = draw.random
    stride, dilation = random.choice([1, 1, 2, 3]), random.choice([1, 1, 2])
    taps, pad = random.choice([1, 2, 3, 3]), random.choice([0, 1, 1, 2])
    columns = random.choice([1, 1, 3])
    rows = (x.rows + 2 * pad - (taps - 1) * dilation - 1) // stride + 1
    if rows < 1:
        return _elementwise(draw, x)
    w = x.width

    def body(name: str) -> str:
        row, column = f"i * {stride} + k * {dilation} - {pad}", f"j + l - {columns // 2}"
        inside = f"0 <= {row} and {row} < {x.rows} and 0 <= {column} and {column} < {w}"
        term = f"T.if_then_else({inside}, A[({row}) * {w} + {column}], {_zero(x.dtype)})"
        return f"""
for i in range({rows}):
    for j in range({w}):
        Y[i * {w} + j] = {_zero(x.dtype)}
        for k in range({taps}):
            for l in range({columns}):
                Y[i * {w} + j] = {draw.value(name, [f"Y[i * {w} + j]", term], x.dtype)}
"""

    def with_sum(name: str) -> str:
        changed = body(name).replace(f"Y[i * {w} + j]", "S[0]")
        lines = changed.strip().split("\n")
        return "\n".join(
            [f'S = T.alloc_buffer((1,), "{x.dtype}")', *lines, f"        Y[i * {w} + j] = S[0]"]
        )

    # What reads its own result is not streamed; a sum of its own is as most operators have it.
    made = with_sum if random.random() < 0.85 else body
    kind = f"window {stride} {dilation} {taps} {pad} {columns} {made.__name__}"
    draw.apply(kind, [x], [(rows, w)], made)


def _elementwise(draw: _Draw, x: Tensor) -> None:
    """Each row by itself; some rows a step, or some steps a row."""
    flat = draw.random.choice([1, 1, 2, x.width])
    size = x.size
    per_step = x.width * 2 if flat == 2 and x.rows % 2 == 0 else (1 if flat != 1 else x.width)

    def body(name: str) -> str:
        return f"""
for i in range({size // per_step}):
    for j in range({per_step}):
        Y[i * {per_step} + j] = {draw.value(name, [f"A[i * {per_step} + j]"], x.dtype)}
"""

    draw.apply(f"map {per_step}", [x], [(x.rows, x.width)], body)


def _add(draw: _Draw, x: Tensor) -> None:
    """Two tensors, or one twice."""
    alike = [t for t in draw.tensors if (t.rows, t.width, t.dtype) == (x.rows, x.width, x.dtype)]
    other, w = draw.random.choice(alike), x.width

    def body(name: str) -> str:
        terms = [f"A[i * {w} + j]", f"B[i * {w} + j]"]
        return f"""
for i in range({x.rows}):
    for j in range({w}):
        Y[i * {w} + j] = {draw.value(name, terms, x.dtype)}
"""

    draw.apply("add", [x, other], [(x.rows, w)], body)


def _upsample(draw: _Draw, x: Tensor) -> None:
    if x.rows > 6:
        return _window(draw, x)
    w = x.width

    def body(name: str) -> str:
        return f"""
for i in range({2 * x.rows}):
    for j in range({w}):
        Y[i * {w} + j] = {draw.value(name, [f"A[i // 2 * {w} + j]"], x.dtype)}
"""

    draw.apply("upsample", [x], [(2 * x.rows, w)], body)


def _pad(draw: _Draw, x: Tensor) -> None:
    """By a condition, or rows before and after the loop."""
    above, below = draw.random.randint(0, 2), draw.random.randint(0, 2)
    rows, w = x.rows + above + below, x.width
    if rows > 12:
        return _slice(draw, x)

    def by_condition(name: str) -> str:
        inside = f"{above} <= i and i < {above + x.rows}"
        read = f"T.if_then_else({inside}, A[(i - {above}) * {w} + j], {_zero(x.dtype)})"
        return f"""
for i in range({rows}):
    for j in range({w}):
        Y[i * {w} + j] = {draw.value(name, [read], x.dtype)}
"""

    def by_loops(name: str) -> str:
        parts = []
        if above:
            parts.append(f"for e in range({above * w}):\n    Y[e] = {_zero(x.dtype)}")
        parts.append(
            f"for i in range({x.rows}):\n    for j in range({w}):\n        "
            f"Y[(i + {above}) * {w} + j] = {draw.value(name, [f'A[i * {w} + j]'], x.dtype)}"
        )
        if below:
            start = (above + x.rows) * w
            parts.append(f"for e in range({below * w}):\n    Y[e + {start}] = {_zero(x.dtype)}")
        return "\n".join(parts)

    made = draw.random.choice([by_condition, by_loops])
    draw.apply(f"pad {above} {made.__name__}", [x], [(rows, w)], made)


def _slice(draw: _Draw, x: Tensor) -> None:
    """Some rows, or each second one; or in reverse order, read or written."""
    w, first = x.width, draw.random.randint(0, x.rows - 1)
    step = draw.random.choice([1, 1, 2])
    rows = (x.rows - first - 1) // step + 1
    how = draw.random.choice(["rows", "rows", "backwards", "written"])
    last = first + (rows - 1) * step
    source = f"{last} - i * {step}" if how == "backwards" else f"i * {step} + {first}"
    target = f"({rows - 1} - i)" if how == "written" else "i"

    def body(name: str) -> str:
        return f"""
for i in range({rows}):
    for j in range({w}):
        Y[{target} * {w} + j] = {draw.value(name, [f"A[({source}) * {w} + j]"], x.dtype)}
"""

    draw.apply(f"slice {first} {step} {how}", [x], [(rows, w)], body)


def _running(draw: _Draw, x: Tensor) -> None:
    """A row of sums that runs on: begun before the loop, and perhaps the result after it."""
    w = x.width
    only_end = draw.random.random() < 0.4
    rows = 1 if only_end else x.rows
    after = f"for j in range({w}):\n    Y[j] = S[j]"

    def body(name: str) -> str:
        store = "" if only_end else f"        Y[i * {w} + j] = S[j]\n"
        return f"""
S = T.alloc_buffer(({w},), "{x.dtype}")
for j in range({w}):
    S[j] = {_zero(x.dtype)}
for i in range({x.rows}):
    for j in range({w}):
        S[j] = {draw.value(name, ["S[j]", f"A[i * {w} + j]"], x.dtype)}
{store}{after if only_end else ""}
"""

    draw.apply(f"running {only_end}", [x], [(rows, w)], body)


def _split(draw: _Draw, x: Tensor) -> None:
    """Two results, of each second column and of pairs of rows."""
    w = x.width

    def body(name: str) -> str:
        return f"""
for i in range({x.rows}):
    for j in range({w}):
        Y[i * {w} + j] = {draw.value(name, [f"A[i * {w} + j]"], x.dtype)}
    Z[i] = {draw.value(name, [f"A[i * {w} + {w - 1}]"], x.dtype)}
"""

    draw.apply("split", [x], [(x.rows, w), (x.rows, 1)], body)


def _row_buffer(draw: _Draw, x: Tensor) -> None:
    """The rows are copied to scratch memory, and turned around; the last one is used again."""
    w = x.width

    def body(name: str) -> str:
        terms = [f"S[{w - 1} - j]", f"S[{w} + j]"]
        return f"""
S = T.alloc_buffer(({2 * w},), "{x.dtype}")
for j in range({w}):
    S[{w} + j] = {_zero(x.dtype)}
for i in range({x.rows}):
    for j in range({w}):
        S[j] = A[i * {w} + j]
    for j in range({w}):
        Y[i * {w} + j] = {draw.value(name, terms, x.dtype)}
    for j in range({w}):
        S[{w} + j] = S[j]
"""

    draw.apply("buffered", [x], [(x.rows, w)], body)


def _columns(draw: _Draw, x: Tensor) -> None:
    """Another width: pairs of columns, or each column twice."""
    wide = draw.random.random() < 0.5 or x.width < 2
    w, v = x.width, x.width * 2 if wide else x.width // 2
    if v > 8:
        return _elementwise(draw, x)
    column = "j // 2" if wide else "j * 2"

    def body(name: str) -> str:
        return f"""
for i in range({x.rows}):
    for j in range({v}):
        Y[i * {v} + j] = {draw.value(name, [f"A[i * {w} + {column}]"], x.dtype)}
"""

    draw.apply(f"columns {wide}", [x], [(x.rows, v)], body)


def _turn(draw: _Draw, x: Tensor) -> None:
    """Rows become columns: all is read before the second row is there."""
    if x.rows > 6:
        return _window(draw, x)

    def body(name: str) -> str:
        read = f"A[j * {x.width} + i]"
        return f"""
for i in range({x.width}):
    for j in range({x.rows}):
        Y[i * {x.rows} + j] = {draw.value(name, [read], x.dtype)}
"""

    draw.apply("turn", [x], [(x.width, x.rows)], body)


_KINDS: tuple[Callable[[_Draw, Tensor], None], ...] = (
    *[_window] * 7,
    *[_elementwise] * 3,
    *[_add] * 4,
    *[_upsample] * 2,
    *[_pad] * 2,
    *[_slice] * 2,
    *[_running] * 2,
    _split,
    _row_buffer,
    _row_buffer,
    _columns,
    _turn,
)
