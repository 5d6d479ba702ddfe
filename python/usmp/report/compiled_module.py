"""What reports are made of: a compiled model, or a module of an archive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class CompiledModule(Protocol):
    """What `usmp.build` returns, or a module of `usmp.load_archive`."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Of the module; of what `usmp.build` returns, of the archive that it would be."""


def module_metadata(module: CompiledModule) -> Mapping[str, Any]:
    """The metadata of the module alone.

    Raises
    ------
    TypeError
        it is neither.
    """
    metadata = getattr(module, "metadata", None)
    if not isinstance(metadata, Mapping):
        raise TypeError(
            "reports are made of what usmp.build returns, or of a module of usmp.load_archive, "
            f"not of {type(module).__name__}"
        )
    if "modules" in metadata:
        (own,) = metadata["modules"].values()
        return dict(own)
    return metadata
