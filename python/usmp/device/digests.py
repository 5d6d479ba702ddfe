"""Digests that tell whether a device has the model of an archive."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from usmp.runtime.archived.entry import ArchivedEntry, ArchivedTensor
from usmp.runtime.archived.module import ArchivedModule

DIGEST_BYTES = 8


def interface_digest(module: ArchivedModule) -> bytes:
    """Return a digest of the interface: entries, their tensors and their sizes."""
    described = [module.c_prefix, [_entry(entry) for entry in module.entries.values()]]
    return _digest(json.dumps(described).encode())


def code_digest(files: Mapping[str, bytes]) -> bytes:
    """Return a digest of the C and the object files of a model, given by path."""
    digests = [_digest(path.encode()) + _digest(files[path]) for path in sorted(files)]
    return _digest(b"".join(digests))


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:DIGEST_BYTES]


def _entry(entry: ArchivedEntry) -> list[Any]:
    return [
        entry.name,
        [_tensor(tensor) for tensor in entry.inputs.values()],
        [_tensor(tensor) for tensor in entry.results.values()],
        [[size.name, size.lower_bound, size.upper_bound] for size in entry.sizes.values()],
    ]


def _tensor(tensor: ArchivedTensor) -> list[Any]:
    info = tensor.info
    shape = list(tensor.symbolic_shape) or [int(extent) for extent in info.shape]
    return [str(info.name), str(info.dtype), shape, tensor.is_by_rows]
