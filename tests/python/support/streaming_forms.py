"""Small TFLite models that keep variables, one for each way in which converters and people write
such models: what is read, assigned and set before the first run, and when.

Each has an input x of shape (1, 2, 3); `FORMS` has these and those of parts by name.
"""

from __future__ import annotations

from collections.abc import Callable

from support.streaming_models import Streaming
from support.streaming_part_forms import FORMS_OF_PARTS


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
    )
} | FORMS_OF_PARTS
