"""Digests of PrimFuncs."""

from __future__ import annotations

from hashlib import sha256

from tvm import tirx
from tvm.ir import save_json


def written_out(func: tirx.PrimFunc) -> bytes:
    """Return a digest of statements, names, attributes and spans of a PrimFunc.

    Functions with the same digest differ in their addresses only.
    """
    return sha256(save_json(func).encode()).digest()
