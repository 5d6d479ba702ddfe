"""The title of a module in reports, because most modules have the name "default"."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from usmp.names import DEFAULT_MODULE


def title_of(metadata: Mapping[str, Any]) -> str:
    """Return the title of a module: its model files without their extensions, as "kws + vww".

    If the module has a name of its own, it follows, as "kws, module net". Without model files, the
    title is the name of the module. The result can contain any characters.

    Parameters
    ----------
    metadata
        metadata of one module of an archive.
    """
    module: str = metadata["model_name"]
    files = dict.fromkeys(PurePath(file).stem for file in metadata.get("model_files", ()))
    stems = [stem for stem in files if stem]
    if not stems:
        return module
    is_named = module not in (DEFAULT_MODULE, *stems)
    return " + ".join(stems) + (f", module {module}" if is_named else "")
