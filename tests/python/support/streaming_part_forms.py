"""Small TFLite models of which variables keep windows, parts and other shapes of what they read."""

from __future__ import annotations

from collections.abc import Callable

from support.streaming_models import Streaming, X


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


FORMS_OF_PARTS: dict[str, Callable[[Streaming], bytes]] = {
    make.__name__: make
    for make in (
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
