"""Copies of objects: by pickle as other processes get them, and by `copy`."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
import tvm_ffi
from tvm_ffi.serialization import to_json_graph_str

from usmp.objects import BufferInfo, BufferInfoAnalysis

SCALARS = (str, bytes, int, float, bool, type(None), Enum, type)


def copies(value: Any) -> Iterator[Any]:
    """By pickle, once and twice, with the oldest and the newest protocol, and by `copy`."""
    yield pickle.loads(pickle.dumps(value))
    yield pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(value, 2))))
    yield copy.copy(value)
    yield copy.deepcopy(value)


def content(value: Any, seen: tuple[int, ...] = ()) -> Any:
    """What an object is made of, to be compared with `==`."""
    if isinstance(value, SCALARS):
        return value
    if id(value) in seen:
        return "again"
    seen = (*seen, id(value))
    kind = type(value).__qualname__
    if isinstance(value, np.ndarray):
        return kind, str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, BufferInfo):
        others = [
            sorted(str(b.name_hint) for b in value.conflicts),
            sorted((str(b.name_hint), n) for b, n in value.overlaps.items()),
        ]
        ranges = [(live.start, live.stop) for live in value.live_ranges]
        pools = [to_json_graph_str(pool) for pool in value.pool_candidates]
        numbers = (value.size_bytes, value.alignment, value.kind, value.fixed_offset)
        return kind, value.name_hint, numbers, pools, ranges, others
    if isinstance(value, BufferInfoAnalysis):
        stmts = [(content(buffer), str(stmt)) for buffer, stmt in value.buffer_info_stmts.items()]
        return kind, stmts, value.memory_pressure, dict(value.pool_memory_pressure.items())
    if isinstance(value, tvm_ffi.Object):
        return kind, to_json_graph_str(value)
    if isinstance(value, BaseException):
        # An OSError lists an attribute that it may lack.
        names = [name for name in dir(value) if not name.startswith("_") and hasattr(value, name)]
        public = {name: getattr(value, name) for name in names}
        return kind, str(value), {k: content(v, seen) for k, v in public.items() if not callable(v)}
    if isinstance(value, Mapping):
        items = [(content(key, seen), content(each, seen)) for key, each in value.items()]
        return kind, items, content(_state(value), seen)
    if isinstance(value, list | tuple | set | frozenset):
        return kind, [content(each, seen) for each in value], content(_state(value), seen)
    return kind, content(_state(value), seen)


def _state(value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass, but not what it keeps of what it computed; or all attributes that
    a copy should have."""
    if "__getstate__" in vars(type(value)) and not isinstance(value, tvm_ffi.Object):
        state: dict[str, Any] = value.__getstate__()
        return state
    if is_dataclass(value):
        return {each.name: getattr(value, each.name, None) for each in fields(value)}
    state = dict(getattr(value, "__dict__", {}))
    for slot in getattr(type(value), "__slots__", ()):
        state[slot] = getattr(value, slot, None)
    return state or None


def parts(value: Any, known: dict[int, Any] | None = None) -> list[Any]:
    """The object, and all objects that it refers to."""
    known = {} if known is None else known
    unread = [value]
    while unread:
        one = unread.pop()
        if isinstance(one, (*SCALARS, np.ndarray)) or id(one) in known:
            continue
        known[id(one)] = one
        if isinstance(one, Mapping | tvm_ffi.Map | tvm_ffi.Dict):
            unread += [each for item in one.items() for each in item]
        elif isinstance(one, list | tuple | set | frozenset | tvm_ffi.Array | tvm_ffi.List):
            unread += list(one)
        unread += list((_state(one) or {}).values())
        if isinstance(one, tvm_ffi.Object) and type(one).__module__.startswith("usmp."):
            unread += [getattr(one, name) for name in type(one).__annotations__]
    return list(known.values())
