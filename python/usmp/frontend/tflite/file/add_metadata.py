"""Adding metadata to a TFLite file, whose bytes stay unchanged behind a new root table.

The file is a flatbuffer: tables refer to other tables by distance, and only forward. So a new root
table goes before the old file. It has the fields of the old root, but its lists of buffers and of
metadata are longer by one. https://flatbuffers.dev/internals/ says how tables, lists and texts are
stored.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import tflite

from usmp.frontend.tflite.file.read import READER_ERRORS
from usmp.support.errors import UnsupportedModelError

_IDENTIFIER = b"TFL3"
_ALIGNMENT = 16
"""Bytes; the largest alignment that the schema requires, for the data of buffers."""
_LARGEST_BYTES = 2**31 - 1
"""Most bytes of a flatbuffer."""
_OFFSET_BYTES = 4
_VERSION, _BUFFERS, _METADATA = 0, 4, 6
"""Fields of the root, by their numbers in the schema."""
_NAME, _BUFFER = 0, 1
"""Fields of an entry of the metadata."""
_DATA = 0
"""Field of a buffer."""
_KNOWN_FIELDS = 10
"""The number of fields in the root's schema; all but the version are distances."""


def with_metadata(content: bytes, name: str, data: bytes) -> bytes:
    """Return the model with `data` as metadata `name`, which replaces older ones of this name.

    Parameters
    ----------
    content
        the bytes of a file that `check_tflite` accepts.

    Raises
    ------
    UnsupportedModelError
        the root of the model has unknown fields, its metadata is damaged, or the file would be too
        large.
    """
    root = tflite.Model.GetRootAsModel(content, 0)
    names = metadata_names(root)
    metadata = [e for e, n in zip(_elements(root, _METADATA), names, strict=True) if n != name]
    buffers = _elements(root, _BUFFERS)
    fields = _fields(root)
    front = _Front()
    root_fields = front.add_table([*{**fields, _BUFFERS: 0, _METADATA: 0}], at=0)
    buffer_places = front.add_list(root_fields[_BUFFERS], len(buffers) + 1)
    metadata_places = front.add_list(root_fields[_METADATA], len(metadata) + 1)
    entry = front.add_table([_NAME, _BUFFER], metadata_places[-1])
    front.add_bytes(entry[_NAME], name.encode(), alignment=_OFFSET_BYTES)
    front.put(entry[_BUFFER], len(buffers))
    buffer = front.add_table([_DATA], buffer_places[-1])
    front.add_bytes(buffer[_DATA], data, alignment=_ALIGNMENT)
    front.pad(_ALIGNMENT)
    shift = len(front.content)
    if shift + len(content) > _LARGEST_BYTES:
        raise UnsupportedModelError(
            f"with the metadata the file would have {shift + len(content)} bytes; a .tflite file "
            f"has at most {_LARGEST_BYTES}"
        )
    old = dict(zip(buffer_places, buffers, strict=False))
    old |= dict(zip(metadata_places, metadata, strict=False))
    old |= {
        root_fields[number]: place
        for number, place in fields.items()
        if number not in (_VERSION, _BUFFERS, _METADATA)
    }
    for place, target in old.items():
        front.refer(place, shift + target)
    if _VERSION in fields:
        front.put(root_fields[_VERSION], root.Version())
    return bytes(front.content) + content


def metadata_names(model: tflite.Model) -> list[str]:
    """Return the names of a model's metadata.

    Raises
    ------
    UnsupportedModelError
        the metadata is damaged.
    """
    try:
        count, size = model.MetadataLength(), len(model._tab.Bytes)
        if count * _OFFSET_BYTES > size:
            raise UnsupportedModelError(f"the file is damaged: {count} metadata in {size} bytes")
        return [
            (model.Metadata(number).Name() or b"").decode("utf-8", errors="replace")
            for number in range(count)
        ]
    except UnsupportedModelError:
        raise
    except READER_ERRORS as error:
        raise UnsupportedModelError(
            "the file is damaged: an entry of its metadata points outside it"
        ) from error


@dataclass
class _Front:
    """The bytes before the old file; an offset is written once its target has a position.

    Parameters
    ----------
    content
        the bytes written; initially space for the distance to the root, and the identifier.
    """

    content: bytearray = field(default_factory=lambda: bytearray(4) + _IDENTIFIER)

    def add_table(self, fields: Sequence[int], at: int) -> dict[int, int]:
        """Add a table with these fields, each of four bytes, and refer to it at `at`.

        Returns
        -------
        dict[int, int]
            The position of each field.
        """
        places = {number: 4 * (1 + order) for order, number in enumerate(sorted(fields))}
        slots = [places.get(number, 0) for number in range(max(fields) + 1)]
        vtable = struct.pack(
            f"<{2 + len(slots)}H", 4 + 2 * len(slots), 4 * (1 + len(places)), *slots
        )
        self.pad(_OFFSET_BYTES)
        start = len(self.content)
        self.content += vtable
        self.pad(_OFFSET_BYTES)
        table = len(self.content)
        self.content += struct.pack("<i", table - start) + bytes(4 * len(places))
        self.refer(at, table)
        return {number: table + place for number, place in places.items()}

    def add_list(self, at: int, count: int) -> list[int]:
        """Add a list of `count` offsets, refer to it at `at`, and return the offsets' positions."""
        self.pad(_OFFSET_BYTES)
        self.refer(at, len(self.content))
        self.content += struct.pack("<I", count)
        first = len(self.content)
        self.content += bytes(_OFFSET_BYTES * count)
        return [first + _OFFSET_BYTES * number for number in range(count)]

    def add_bytes(self, at: int, data: bytes, alignment: int) -> None:
        """Add a vector (length, bytes, a zero that ends strings), and refer to it at `at`."""
        self.pad(alignment, before=_OFFSET_BYTES)
        self.refer(at, len(self.content))
        self.content += struct.pack("<I", len(data)) + data + b"\0"

    def pad(self, alignment: int, before: int = 0) -> None:
        """Add zeros until the position `before` bytes later is aligned."""
        self.content += bytes(-(len(self.content) + before) % alignment)

    def put(self, place: int, number: int) -> None:
        """Write an unsigned 32-bit number at `place`."""
        struct.pack_into("<I", self.content, place, number)

    def refer(self, place: int, target: int) -> None:
        """Write the distance from `place` to `target`, in bytes, at `place`."""
        self.put(place, target - place)


def _fields(root: tflite.Model) -> dict[int, int]:
    """Return the fields that the root has, and the position in the file that each refers to."""
    table = root._tab
    (to_vtable,) = struct.unpack_from("<i", table.Bytes, table.Pos)
    (size,) = struct.unpack_from("<H", table.Bytes, table.Pos - to_vtable)
    slots = {number: table.Offset(4 + 2 * number) for number in range((size - 4) // 2)}
    present = [number for number, slot in slots.items() if slot]
    if present and present[-1] >= _KNOWN_FIELDS:
        raise UnsupportedModelError(
            f"the model has field {present[-1]} of a newer schema; fields up to "
            f"{_KNOWN_FIELDS - 1} are known"
        )
    return {number: int(table.Indirect(table.Pos + slots[number])) for number in present}


def _elements(root: tflite.Model, number: int) -> list[int]:
    """Return the positions in the file of a list's tables."""
    table = root._tab
    slot = table.Offset(4 + 2 * number)
    if not slot:
        return []
    first, count = table.Vector(slot), table.VectorLen(slot)
    return [int(table.Indirect(first + _OFFSET_BYTES * index)) for index in range(count)]
