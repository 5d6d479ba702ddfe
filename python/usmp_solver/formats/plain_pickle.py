"""A reader of pickles of plain data. Python's own unpickler would run code from the file.

It knows the opcodes of `pickletools` for dicts, lists, tuples, strings, bytes, numbers, booleans
and None, as protocols 2 to 5 write them. None of them calls or imports anything, and the memory of
the result is at most a multiple of the file size.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias


class _Reader:
    """The stack machine of the opcodes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[Any] = []
        # Stack heights at which items of a list, tuple or dict begin.
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def refuse(self, words: str) -> NoReturn:
        raise ValueError(f"byte {self.at - 1} of the pickle: {words}")

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        end = self.at + count
        if end > len(self.data):
            raise ValueError(f"the pickle ends after {len(self.data)} bytes, in the middle")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def number(self, count: int) -> int:
        """Return the next bytes as an unsigned number."""
        return int.from_bytes(self.take(count), "little")

    def pop(self) -> Any:
        """Remove and return the topmost object."""
        self.need_object()
        return self.stack.pop()

    def need_object(self) -> None:
        """Refuse the opcode if there is no object above the topmost mark."""
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            self.refuse("there is no object that the opcode could take")

    def pop_to_mark(self) -> list[Any]:
        """Remove and return the objects above the topmost mark."""
        if not self.marks:
            self.refuse("there is no mark below the items")
        mark = self.marks.pop()
        items = self.stack[mark:]
        del self.stack[mark:]
        return items

    def top(self, kind: type) -> Any:
        """Return the topmost object, which must have this type."""
        self.need_object()
        if type(self.stack[-1]) is not kind:
            self.refuse(f"there is no {kind.__name__} that items could be put into")
        return self.stack[-1]

    def text(self, count: int) -> None:
        """Push the next bytes as text."""
        try:
            self.stack.append(str(self.take(count), "utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            self.refuse("a string is no UTF-8 text")

    def remember(self, number: int) -> None:
        """Store the topmost object under a memo number."""
        self.need_object()
        self.memo[number] = self.stack[-1]

    def recall(self, number: int) -> None:
        """Push the object of a memo number."""
        if number not in self.memo:
            self.refuse(f"object {number} is not there")
        self.stack.append(self.memo[number])

    def push_tuple(self, count: int) -> None:
        """Replace the topmost objects by a tuple of them."""
        items = [self.pop() for _ in range(count)]
        self.stack.append(tuple(reversed(items)))

    def push_items(self, items: list[Any]) -> None:
        """Add alternating keys and values to the dict below."""
        target = self.top(dict)
        if len(items) % 2:
            self.refuse("a key has no value")
        keys = items[::2]
        # Keys of other types may be slow to hash, or have colliding hashes.
        if not all(type(key) is str for key in keys):
            self.refuse("a key is no string")
        target.update(zip(keys, items[1::2], strict=True))


_OpcodeHandler: TypeAlias = Callable[[_Reader], object]


def _append(reader: _Reader) -> None:
    item = reader.pop()
    reader.top(list).append(item)


def _appends(reader: _Reader) -> None:
    items = reader.pop_to_mark()
    reader.top(list).extend(items)


def _set_item(reader: _Reader) -> None:
    value, key = reader.pop(), reader.pop()
    reader.push_items([key, value])


def _protocol(reader: _Reader) -> None:
    protocol = reader.number(1)
    if not 2 <= protocol <= 5:
        reader.refuse(f"protocol {protocol} is not read; 2 to 5 are")


def _signed(count: int) -> _OpcodeHandler:
    return lambda reader: reader.stack.append(
        int.from_bytes(reader.take(count), "little", signed=True)
    )


def _one_byte(reader: _Reader) -> None:
    # Inlined `number`, because this is the most frequent opcode of a snapshot.
    reader.stack.append(reader.take(1)[0])


def _pushes(make: Callable[[_Reader], object]) -> _OpcodeHandler:
    return lambda reader: reader.stack.append(make(reader))


_HANDLERS: dict[bytes, _OpcodeHandler] = {
    pickle.PROTO: _protocol,
    pickle.FRAME: lambda reader: reader.take(8),
    pickle.MARK: lambda reader: reader.marks.append(len(reader.stack)),
    pickle.POP: _Reader.pop,
    pickle.POP_MARK: _Reader.pop_to_mark,
    pickle.NONE: _pushes(lambda _: None),
    pickle.NEWTRUE: _pushes(lambda _: True),
    pickle.NEWFALSE: _pushes(lambda _: False),
    pickle.BININT: _signed(4),
    pickle.BININT1: _one_byte,
    pickle.BININT2: _pushes(lambda reader: reader.number(2)),
    pickle.LONG1: lambda reader: _signed(reader.number(1))(reader),
    pickle.BINFLOAT: _pushes(lambda reader: struct.unpack(">d", reader.take(8))[0]),
    pickle.SHORT_BINUNICODE: lambda reader: reader.text(reader.number(1)),
    pickle.BINUNICODE: lambda reader: reader.text(reader.number(4)),
    pickle.BINUNICODE8: lambda reader: reader.text(reader.number(8)),
    pickle.SHORT_BINBYTES: _pushes(lambda reader: reader.take(reader.number(1))),
    pickle.BINBYTES: _pushes(lambda reader: reader.take(reader.number(4))),
    pickle.BINBYTES8: _pushes(lambda reader: reader.take(reader.number(8))),
    pickle.EMPTY_DICT: _pushes(lambda _: {}),
    pickle.EMPTY_LIST: _pushes(lambda _: []),
    pickle.EMPTY_TUPLE: _pushes(lambda _: ()),
    pickle.TUPLE: _pushes(lambda reader: tuple(reader.pop_to_mark())),
    pickle.TUPLE1: lambda reader: reader.push_tuple(1),
    pickle.TUPLE2: lambda reader: reader.push_tuple(2),
    pickle.TUPLE3: lambda reader: reader.push_tuple(3),
    pickle.APPEND: _append,
    pickle.APPENDS: _appends,
    pickle.SETITEM: _set_item,
    pickle.SETITEMS: lambda reader: reader.push_items(reader.pop_to_mark()),
    pickle.MEMOIZE: lambda reader: reader.remember(len(reader.memo)),
    pickle.BINPUT: lambda reader: reader.remember(reader.number(1)),
    pickle.LONG_BINPUT: lambda reader: reader.remember(reader.number(4)),
    pickle.BINGET: lambda reader: reader.recall(reader.number(1)),
    pickle.LONG_BINGET: lambda reader: reader.recall(reader.number(4)),
}
_BY_NUMBER = [_HANDLERS.get(bytes([code])) for code in range(256)]
_STOP = pickle.STOP[0]


def plain_loads(data: bytes) -> Any:
    """Return the pickled data, which must be plain.

    Plain are dicts with text keys, lists, tuples, strings, bytes, numbers, booleans and None.
    An object may appear several times, even inside itself. So callers must limit how deep they
    read.

    Raises
    ------
    ValueError
        The pickle is truncated, malformed, or has other objects; the message names the byte.
    """
    reader = _Reader(data)
    steps, length = _BY_NUMBER, len(data)
    while reader.at < length:
        code = data[reader.at]
        reader.at += 1
        if code == _STOP:
            if len(reader.stack) != 1 or reader.marks:
                reader.refuse("the pickle ends with more or less than one object")
            return reader.pop()
        step = steps[code]
        if step is None:
            reader.refuse(
                f"the opcode {_name(code)} is not read: only plain data is (dicts, lists, tuples, "
                "strings, numbers)"
            )
        step(reader)
    raise ValueError(f"the pickle ends after {length} bytes, in the middle")


def _name(code: int) -> str:
    import pickletools  # Its import is slower than the whole package.

    names = [opcode.name for opcode in pickletools.opcodes if ord(opcode.code) == code]
    return names[0] if names else f"0x{code:02x}"
