"""Small TFLite models that keep variables, one for each way in which converters and people write
such models.

All but one have an input x of shape (1, 2, 3) and outputs of any shape; `FORMS` has them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from support.quantized_models.model import Spec, add_input, add_tensor, int32, random_constant
from support.tflite_builder import Graph, options, write_model
from support.tflite_signatures import assign, call_once, handle

X = (1, 2, 3)


@dataclass
class Streaming:
    """A main graph of tensors of one type, and a graph that sets variables before the first run."""

    spec: Spec
    main: Graph = field(default_factory=Graph)
    once: Graph = field(default_factory=lambda: Graph("once"))
    once_number: int = 1

    def input(self, *shape: int) -> int:
        """A tensor that the caller fills."""
        return add_input(self.main, self.spec(*(shape or X)))

    def initialize(self) -> None:
        """Set the variables here, if this is the first run."""
        call_once(self.main, self.once_number)

    def start(self, name: str, *shape: int, number: int = 0) -> int:
        """A variable that the graph of the first run sets to random numbers."""
        spec = self.spec(*(shape or X))
        if spec.dtype == "float32":
            data = np.random.default_rng(number).standard_normal(spec.shape).astype(np.float32)
        else:
            data = np.roll(random_constant(spec).data, number)
        constant = self.once.constant(data, spec.quantization)
        assign(self.once, handle(self.once, name), constant)
        return handle(self.main, name)

    def variable(self, name: str) -> int:
        """One that nothing sets before the first run."""
        return handle(self.main, name)

    def read(self, variable: int, *shape: int) -> int:
        """The content of a variable at this point."""
        value = self._tensor(shape or X)
        table = options("ReadVariableOptions")
        self.main.operator("READ_VARIABLE", [variable], [value], table)
        return value

    def assign(self, variable: int, value: int) -> None:
        """Give a variable another content."""
        assign(self.main, variable, value)

    def add(self, one: int, other: int, shape: Sequence[int] = X) -> int:
        """The sum of two tensors."""
        return self._operator("ADD", [one, other], shape, options("AddOptions"))

    def concat(self, values: Sequence[int], axis: int, *shape: int) -> int:
        """Tensors side by side."""
        table = options("ConcatenationOptions", axis=axis)
        return self._operator("CONCATENATION", values, shape, table)

    def part(
        self,
        value: int,
        begin: Sequence[int],
        end: Sequence[int],
        *shape: int,
        strides: Sequence[int] | None = None,
    ) -> int:
        """A range of each axis, or every second element of it."""
        bounds = [begin, end, strides or [1] * len(begin)]
        numbers = [add_input(self.main, int32(*bound)) for bound in bounds]
        table = options("StridedSliceOptions")
        return self._operator("STRIDED_SLICE", [value, *numbers], shape, table)

    def split(self, value: int, axis: int, count: int, *shape: int) -> list[int]:
        """Equal parts along an axis."""
        where = self.main.constant(np.array(axis, np.int32))
        parts = [self._tensor(shape) for _ in range(count)]
        table = options("SplitOptions", num_splits=count)
        self.main.operator("SPLIT", [where, value], parts, table)
        return parts

    def split_by(self, value: int, sizes: Sequence[int], axis: int, *shape: int) -> list[int]:
        """Parts of different sizes along an axis; `shape` is that of the value."""
        numbers = [
            add_input(self.main, int32(*sizes)),
            self.main.constant(np.array(axis, np.int32)),
        ]
        shapes = [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]
        parts = [self._tensor(part) for part in shapes]
        table = options("SplitVOptions", num_splits=len(sizes))
        self.main.operator("SPLIT_V", [value, *numbers], parts, table)
        return parts

    def transpose(self, value: int, order: Sequence[int], *shape: int) -> int:
        """Axes in another order."""
        numbers = add_input(self.main, int32(*order))
        return self._operator("TRANSPOSE", [value, numbers], shape, options("TransposeOptions"))

    def reshape(self, value: int, *shape: int) -> int:
        """Another shape."""
        numbers = add_input(self.main, int32(*shape))
        table = options("ReshapeOptions", new_shape=list(shape))
        return self._operator("RESHAPE", [value, numbers], shape, table)

    def pad(self, value: int, amounts: Sequence[Sequence[int]], *shape: int) -> int:
        """Zeros around it."""
        numbers = self.main.constant(np.array(amounts, np.int32))
        return self._operator("PAD", [value, numbers], shape, options("PadOptions"))

    def constant(self) -> int:
        """Random numbers in the main graph."""
        if self.spec.dtype == "float32":
            return self.main.constant(np.full(X, 0.25, np.float32))
        return add_input(self.main, random_constant(self.spec(*X)))

    def finish(self, *outputs: int) -> bytes:
        """The file."""
        self.main.output(*outputs)
        return write_model(self.main, self.once)

    def _tensor(self, shape: Sequence[int]) -> int:
        return add_tensor(self.main, self.spec(*shape))

    def _operator(self, code: str, inputs: Sequence[int], shape: Sequence[int], table) -> int:
        value = self._tensor(shape)
        self.main.operator(code, inputs, [value], table)
        return value


def read_is_output(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v")
    before = m.read(v)
    m.assign(v, x)
    return m.finish(before)


def read_after_assign_is_output(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v")
    m.assign(v, m.add(m.read(v), x))
    return m.finish(m.read(v))


def reads_before_and_after_are_outputs(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v")
    before = m.read(v)
    m.assign(v, x)
    return m.finish(m.read(v), before, x)


def read_twice(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v")
    one, two = m.read(v), m.read(v)
    y = m.add(one, x)
    m.assign(v, y)
    return m.finish(m.add(two, y), one)


def read_by_two_handles(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v")
    again = m.variable("v")
    one = m.read(v)
    m.assign(again, x)
    return m.finish(m.add(one, m.read(v)))


def assigned_twice(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v")
    m.assign(v, m.add(m.read(v), x))
    middle = m.read(v)
    m.assign(v, m.add(middle, x))
    return m.finish(middle)


def assigned_twice_unread(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v")
    before = m.read(v)
    m.assign(v, before)
    m.assign(v, x)
    return m.finish(m.add(before, x))


def assigned_first(m: Streaming) -> bytes:
    """What the variable was before the run does not matter."""
    m.initialize()
    x, v = m.input(), m.start("v")
    m.assign(v, m.add(x, x))
    return m.finish(m.add(m.read(v), x))


def assigned_a_constant(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v")
    y = m.add(m.read(v), x)
    m.assign(v, m.constant())
    return m.finish(y)


def never_assigned(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v")
    return m.finish(m.add(m.read(v), x), m.read(v))


def assigned_itself(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v")
    before = m.read(v)
    m.assign(v, before)
    return m.finish(m.add(before, x))


def one_value_to_two(m: Streaming) -> bytes:
    m.initialize()
    x, v, w = m.input(), m.start("v"), m.start("w", number=1)
    y = m.add(m.read(v), x)
    z = m.add(m.read(w), x)
    m.assign(v, y)
    m.assign(w, y)
    return m.finish(z)


def exchanged(m: Streaming) -> bytes:
    m.initialize()
    x, v, w = m.input(), m.start("v"), m.start("w", number=1)
    one, two = m.read(v), m.read(w)
    m.assign(v, two)
    m.assign(w, m.add(one, x))
    return m.finish(one)


def rotated(m: Streaming) -> bytes:
    m.initialize()
    x = m.input()
    variables = [m.start(f"v{i}", number=i) for i in range(3)]
    values = [m.read(v) for v in variables]
    for variable, value in zip(variables, [*values[1:], values[0]], strict=True):
        m.assign(variable, value)
    return m.finish(m.add(values[0], x))


def handles_in_the_end(m: Streaming) -> bytes:
    """Each handle where it is used, and the initialization just before."""
    x = m.input()
    y = m.add(x, x)
    m.initialize()
    v = m.start("v")
    z = m.add(m.read(v), y)
    m.assign(m.variable("v"), z)
    return m.finish(z)


def initialized_twice(m: Streaming) -> bytes:
    x = m.input()
    m.initialize()
    m.initialize()
    v = m.start("v")
    m.assign(v, m.add(m.read(v), x))
    return m.finish(m.read(v))


def initialized_in_the_end(m: Streaming) -> bytes:
    """One variable is used before another one is set."""
    x = m.input()
    w = m.variable("w")
    before = m.read(w)
    m.assign(w, x)
    m.initialize()
    v = m.start("v")
    y = m.add(m.read(v), before)
    m.assign(v, y)
    return m.finish(y)


def initialized_after_use(m: Streaming) -> bytes:
    """The first run reads one value before the initialization, and another one after it."""
    x, v = m.input(), m.start("v")
    before = m.read(v)
    m.assign(v, m.add(before, x))
    m.initialize()
    y = m.add(m.read(v), x)
    m.assign(v, y)
    return m.finish(before, y)


def read_before_initialization(m: Streaming) -> bytes:
    """Only the initialization changes the variable."""
    x, v = m.input(), m.start("v")
    before = m.read(v)
    m.initialize()
    return m.finish(m.add(before, x), m.read(v))


def assigned_before_initialization(m: Streaming) -> bytes:
    x, v = m.input(), m.start("v")
    m.assign(v, x)
    w = m.start("w", number=1)
    m.initialize()
    y = m.add(m.read(v), m.read(w))
    m.assign(w, y)
    return m.finish(y)


def never_initialized(m: Streaming) -> bytes:
    x, v = m.input(), m.variable("v")
    before = m.read(v)
    y = m.add(before, x)
    m.assign(v, y)
    return m.finish(y, before)


def shifted(axis: int, new: int, kept: int) -> Callable[[Streaming], bytes]:
    """The new rows behind those that are kept: their last ones are kept."""

    def make(m: Streaming) -> bytes:
        shapes = [[2, 3, 4] for _ in range(3)]
        for shape, rows in zip(shapes, (new, kept, new + kept), strict=True):
            shape[axis] = rows
        m.initialize()
        x, v = m.input(*shapes[0]), m.start("v", *shapes[1])
        joined = m.concat([m.read(v, *shapes[1]), x], axis, *shapes[2])
        begin = [0, 0, 0]
        begin[axis] = new
        m.assign(v, m.part(joined, begin, shapes[2], *shapes[1]))
        return m.finish(m.add(joined, joined, shapes[2]))

    return make


def joined_is_output(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v", 1, 4, 3)
    joined = m.concat([m.read(v, 1, 4, 3), x], 1, 1, 6, 3)
    m.assign(v, m.part(joined, [0, 2, 0], [1, 6, 3], 1, 4, 3))
    return m.finish(joined)


def new_rows_in_front(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v", 1, 4, 3)
    joined = m.concat([x, m.read(v, 1, 4, 3)], 1, 1, 6, 3)
    m.assign(v, m.part(joined, [0, 0, 0], [1, 4, 3], 1, 4, 3))
    return m.finish(m.add(joined, joined, (1, 6, 3)))


def every_second_row(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v", 1, 3, 3)
    joined = m.concat([m.read(v, 1, 3, 3), x], 1, 1, 5, 3)
    kept = m.part(joined, [0, 0, 0], [1, 5, 3], 1, 3, 3, strides=[1, 2, 1])
    m.assign(v, kept)
    return m.finish(m.add(kept, kept, (1, 3, 3)))


def kept_backwards(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v")
    before = m.read(v)
    back = m.part(before, [0, 1, 0], [1, -3, 3], 1, 2, 3, strides=[1, -1, 1])
    m.assign(v, m.add(back, x))
    return m.finish(before)


def two_windows_of_one_input(m: Streaming) -> bytes:
    """Channels are split, and each part is kept for another number of rows."""
    m.initialize()
    x = m.input(1, 1, 4)
    outputs = []
    for number, (part, rows) in enumerate(zip(m.split(x, 2, 2, 1, 1, 2), (2, 5), strict=True)):
        v = m.start(f"v{number}", 1, rows, 2, number=number)
        joined = m.concat([m.read(v, 1, rows, 2), part], 1, 1, rows + 1, 2)
        m.assign(v, m.part(joined, [0, 1, 0], [1, rows + 1, 2], 1, rows, 2))
        outputs.append(m.part(joined, [0, rows - 1, 0], [1, rows + 1, 2], 1, 2, 2))
    return m.finish(m.concat(outputs, 2, 1, 2, 4))


def two_readers_of_a_window(m: Streaming) -> bytes:
    """A long and a short window of what is kept, as of kernels of two sizes."""
    m.initialize()
    x, v = m.input(1, 1, 3), m.start("v", 1, 4, 3)
    joined = m.concat([m.read(v, 1, 4, 3), x], 1, 1, 5, 3)
    m.assign(v, m.part(joined, [0, 1, 0], [1, 5, 3], 1, 4, 3))
    short = m.part(joined, [0, 3, 0], [1, 5, 3], 1, 2, 3)
    return m.finish(m.add(short, short), m.add(joined, joined, (1, 5, 3)))


def assigned_a_part_of_the_input(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(1, 4, 3), m.start("v")
    before = m.read(v)
    m.assign(v, m.part(x, [0, 2, 0], [1, 4, 3], 1, 2, 3))
    return m.finish(m.concat([before, x], 1, 1, 6, 3))


def assigned_a_half(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(1, 4, 3), m.start("v")
    before = m.read(v)
    first, second = m.split(x, 1, 2, 1, 2, 3)
    m.assign(v, second)
    return m.finish(m.add(before, first))


def halves_to_two(m: Streaming) -> bytes:
    m.initialize()
    x, v, w = m.input(1, 4, 3), m.start("v"), m.start("w", number=1)
    one, two = m.read(v), m.read(w)
    first, second = m.split(m.concat([two, one], 1, 1, 4, 3), 1, 2, 1, 2, 3)
    m.assign(v, first)
    m.assign(w, second)
    return m.finish(m.add(m.concat([one, two], 1, 1, 4, 3), x, (1, 4, 3)))


def parts_of_different_sizes(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(1, 2, 4), m.start("v", 1, 2, 3)
    before = m.read(v, 1, 2, 3)
    first, second = m.split_by(x, [1, 3], 2, 1, 2, 4)
    m.assign(v, second)
    return m.finish(m.concat([before, first], 2, 1, 2, 4))


def assigned_a_joined_value(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v", 1, 4, 3)
    before = m.read(v, 1, 4, 3)
    first, _ = m.split(before, 1, 2, 1, 2, 3)
    m.assign(v, m.concat([x, m.add(first, x)], 1, 1, 4, 3))
    return m.finish(before)


def transposed(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v", 1, 3, 2)
    before = m.transpose(m.read(v, 1, 3, 2), [0, 2, 1], *X)
    m.assign(v, m.transpose(m.add(before, x), [0, 2, 1], 1, 3, 2))
    return m.finish(before)


def transposed_square(m: Streaming) -> bytes:
    """The new value is the old one, its axes exchanged."""
    m.initialize()
    x, v = m.input(1, 3, 3), m.start("v", 1, 3, 3)
    before = m.read(v, 1, 3, 3)
    m.assign(v, m.transpose(before, [0, 2, 1], 1, 3, 3))
    return m.finish(m.add(before, x, (1, 3, 3)))


def reshaped(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v", 6)
    before = m.reshape(m.read(v, 6), *X)
    m.assign(v, m.reshape(m.add(before, x), 6))
    return m.finish(before)


def reshaped_input(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v", 3, 2)
    before = m.read(v, 3, 2)
    m.assign(v, m.reshape(x, 3, 2))
    return m.finish(m.reshape(before, 1, 6))


def padded(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(), m.start("v", 1, 4, 3)
    before = m.read(v, 1, 4, 3)
    m.assign(v, m.pad(x, [[0, 0], [1, 1], [0, 0]], 1, 4, 3))
    return m.finish(before)


def one_element(m: Streaming) -> bytes:
    m.initialize()
    x, v = m.input(1), m.start("v", 1)
    y = m.add(m.read(v, 1), x, (1,))
    m.assign(v, y)
    return m.finish(y)


FORMS: dict[str, Callable[[Streaming], bytes]] = {
    make.__name__: make
    for make in (
        read_is_output,
        read_after_assign_is_output,
        reads_before_and_after_are_outputs,
        read_twice,
        read_by_two_handles,
        assigned_twice,
        assigned_twice_unread,
        assigned_first,
        assigned_a_constant,
        never_assigned,
        assigned_itself,
        one_value_to_two,
        exchanged,
        rotated,
        handles_in_the_end,
        initialized_twice,
        initialized_in_the_end,
        initialized_after_use,
        read_before_initialization,
        assigned_before_initialization,
        never_initialized,
        joined_is_output,
        new_rows_in_front,
        every_second_row,
        kept_backwards,
        two_windows_of_one_input,
        two_readers_of_a_window,
        assigned_a_part_of_the_input,
        assigned_a_half,
        halves_to_two,
        parts_of_different_sizes,
        assigned_a_joined_value,
        transposed,
        transposed_square,
        reshaped,
        reshaped_input,
        padded,
        one_element,
    )
} | {
    f"shifted_axis_{axis}_{new}_behind_{kept}": shifted(axis, new, kept)
    for axis in range(3)
    for new, kept in ((1, 1), (1, 4), (3, 2))
}
