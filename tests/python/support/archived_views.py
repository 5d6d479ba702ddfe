"""Modules of archives made by hand: tensors, entries and pools of any names and sizes."""

from __future__ import annotations

from usmp.plain.buffer_place import BufferInfoKind, BufferPlace
from usmp.plain.entry_size import EntrySize
from usmp.plain.tensor import Tensor
from usmp.runtime.archived.entry import ArchivedEntry, ArchivedTensor
from usmp.runtime.archived.module import ArchivedModule
from usmp.runtime.archived.pool import ArchivedPool

BATCH = EntrySize("n", "n", 1, 4)


def tensor(name, shape=(1, 4), dtype="int8", pool=None, **more):
    """An input or output; `pool` holds it, if it is in the workspace."""
    info = Tensor(name, list(shape), dtype)
    return ArchivedTensor(info, name, pool, None if pool is None else 0, **more)


def entry(inputs=(), outputs=(), name="main", sizes=(), prefix="tvmgen_net", **more):
    """An entry of these tensors and sizes."""
    named = [{t.info.name: t for t in tensors} for tensors in (inputs, outputs)]
    return ArchivedEntry(name, prefix, *named, sizes={size.name: size for size in sizes}, **more)


def pool(name, size_bytes=64, is_constant=False, is_internal=False, state_bytes=0, **more):
    """A pool that holds one buffer, and a state of `state_bytes`, if that is not zero."""
    buffers = [_buffer("b", name, BufferInfoKind.INTERMEDIATE, size_bytes)]
    if state_bytes:
        buffers.append(_buffer("s", name, BufferInfoKind.STATE, state_bytes))
    return ArchivedPool(
        name,
        name,
        is_constant,
        is_internal,
        -1,
        size_bytes,
        16,
        size_bytes,
        size_bytes,
        size_bytes,
        True,
        [],
        buffers,
        **more,
    )


def module(entries, pools=(), name="net", **metadata):
    """A module of these entries and pools."""
    named = {entry.name: entry for entry in entries}
    return ArchivedModule(name, "tvmgen_net", named, list(pools), "auto", 0, None, metadata)


def _buffer(name, pool_name, kind, size_bytes):
    return BufferPlace(name, "f", int(kind), pool_name, 0, size_bytes, 16)
