"""The input of reports: a compiled model, or a module of an archive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class CompiledModule(Protocol):
    """The result of `usmp.build`, or a module of `usmp.load_archive`."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of the module, or of the whole archive for a result of `usmp.build`."""


def module_metadata(module: CompiledModule) -> Mapping[str, Any]:
    """Return the metadata of a single module, or raise TypeError for another object."""
    metadata = getattr(module, "metadata", None)
    if not isinstance(metadata, Mapping):
        raise TypeError(
            "reports are made of what usmp.build returns, or of a module of usmp.load_archive, "
            f"not of {type(module).__name__}"
        )
    if "modules" in metadata:
        (single,) = metadata["modules"].values()
        return dict(single)
    return metadata
