"""Removal of everything from a `.pt2` file that may run code when PyTorch reads it.

PyTorch unpickles several parts of such a file, evaluates sizes as Python, looks up operators by
name, imports named modules, writes names into Python code that it runs, and loads libraries. Here
an allow-list checks every part. PyTorch then reads a new file with the checked parts only, so that
the two parsers cannot disagree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import Any

from usmp.frontend.pytorch.pt2.archive import damaged, read_members, write_members
from usmp.frontend.pytorch.pt2.json_checks import (
    Check,
    NotAllowedError,
    boolean,
    dict_of,
    one_of,
    record,
    text,
)
from usmp.frontend.pytorch.pt2.program import PATH, PROGRAM, TENSOR_META
from usmp.support.errors import UnsupportedModelError

_PROGRAM = "models/model.json"
_VALUES = {
    "data/weights": ("model_weights_config.json", "weight"),
    "data/constants": ("model_constants_config.json", "tensor"),
}
"""Folder of tensors -> its index file, and the prefix of its other files."""

_NOT_PASSED_ON = (".data/", "data/extra/", "data/sample_inputs/")
"""Prefixes of members that the compiler does not need; sample inputs are a pickle."""

_MARKS = {"archive_format": b"pt2", "archive_version": b"0", "byteorder": b"little"}

_TRUST = (
    "; a .pt2 file can run any code when PyTorch reads it, and only what is known to run none is "
    "read: if you trust who made it, --trust-model (in Python trust=True) reads it all"
)


def checked_archive(content: bytes) -> bytes:
    """Return a `.pt2` file with the parts of `content` that the compiler needs and that are safe.

    Raises
    ------
    UnsupportedModelError
        the content has an unknown part, which may run code, or is damaged.
    """
    members = read_members(content)
    with trust_named():
        return write_members(_checked(members))


@contextmanager
def trust_named() -> Iterator[None]:
    """Add a hint about `--trust-model` to errors raised in the `with` block.

    Raises
    ------
    UnsupportedModelError
        the block raised `NotAllowedError`.
    """
    try:
        yield
    except NotAllowedError as error:
        raise UnsupportedModelError(f"not read without trust: {error}{_TRUST}") from error


def _checked(members: Mapping[str, bytes]) -> dict[str, bytes]:
    remaining = {n: c for n, c in members.items() if n and not n.startswith(_NOT_PASSED_ON)}
    for name, expected in _MARKS.items():
        mark = remaining.pop(name, None)
        if mark != expected:
            raise damaged(f"{name} is {mark!r}, not {expected!r}")
    passed = {_PROGRAM: json.dumps(_read_json(remaining, _PROGRAM, PROGRAM)).encode()}
    for folder, (listed_in, prefix) in _VALUES.items():
        name = f"{folder}/{listed_in}"
        config = _read_json(remaining, name, _values_check(prefix))
        passed[name] = json.dumps(config).encode()
        for path in {f"{folder}/{tensor['path_name']}" for tensor in config["config"].values()}:
            if path not in remaining:
                raise damaged(f"there is no {path}")
            passed[path] = remaining.pop(path)
        _check_bounds(config["config"], folder, passed)
    if remaining:
        raise NotAllowedError(f"it has a member {min(remaining)!r}, which is not known")
    # An empty member replaces the pickle of the sample inputs.
    return {**passed, "data/sample_inputs/model.pt": b""}


def _values_check(prefix: str) -> Check:
    payload = record(
        {
            "path_name": text(f"{prefix}_[0-9]+"),
            "is_param": boolean,
            "use_pickle": one_of(False),
            "tensor_meta": TENSOR_META,
        }
    )
    return record({"config": dict_of(PATH, payload)})


def _read_json(members: dict[str, bytes], name: str, check: Check) -> Any:
    """Return the checked content of a member, and remove the member from the dictionary."""
    if name not in members:
        raise damaged(f"there is no {name}; export the model again with PyTorch 2.13 or newer")
    try:
        value = json.loads(members.pop(name).decode())
    except (ValueError, RecursionError) as error:
        raise damaged(f"{name} is not JSON") from error
    try:
        return check(value, name)
    except RecursionError as error:
        raise damaged(f"{name} is nested too deeply") from error


def _check_bounds(
    config: Mapping[str, dict[str, Any]], folder: str, members: Mapping[str, bytes]
) -> None:
    """Check that every tensor lies inside the bytes of its member.

    Raises
    ------
    UnsupportedModelError
        a tensor exceeds its member.
    """
    import torch
    from torch._export.serde.serialize import _SERIALIZE_TO_TORCH_DTYPE

    kinds: dict[str, int] = {}
    for name, payload in config.items():
        meta, path = payload["tensor_meta"], payload["path_name"]
        try:
            sizes, strides, (offset,) = (
                [extent["as_int"] for extent in extents]
                for extents in (meta["sizes"], meta["strides"], [meta["storage_offset"]])
            )
            dtype = _SERIALIZE_TO_TORCH_DTYPE[meta["dtype"]]
            item_bytes = torch.empty(0, dtype=dtype).element_size()
        except KeyError as error:
            raise damaged(f"the shape or type of {name} is not known") from error
        if len(sizes) != len(strides) or min([0, offset, *sizes, *strides]) < 0:
            raise damaged(f"{name} has shape {sizes} and strides {strides}, from {offset}")
        if kinds.setdefault(path, meta["dtype"]) != meta["dtype"]:
            raise damaged(f"{folder}/{path} is of two types")
        last = offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
        needed = (last + 1) * item_bytes if prod(sizes) else 0
        stored = len(members[f"{folder}/{path}"])
        if needed > stored or stored % item_bytes:
            raise damaged(
                f"{name} of shape {sizes} takes {needed} bytes of {folder}/{path}, "
                f"which has {stored}"
            )
