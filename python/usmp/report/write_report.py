"""Reports of a compiled module, each in the format that the ending of its file says."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from usmp.names import REPORTS


def report_bytes(metadata: Mapping[str, Any], ending: str) -> bytes:
    """What the file has.

    Parameters
    ----------
    metadata
        of one module of an archive.
    ending
        one of `usmp.names.REPORTS`.

    Raises
    ------
    ValueError
        the metadata is damaged.
    ImportError
        a package is missing; the message says how to install it.
    """
    module, function, _ = REPORTS[ending]
    content: bytes = getattr(import_module(module), function)(metadata)
    return content
