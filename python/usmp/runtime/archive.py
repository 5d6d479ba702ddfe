"""Read a Model Library Format archive back."""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from usmp.runtime.host import HostModule

_METADATA_FILE = "metadata.json"
_END_OF_TAR = bytes(2 * tarfile.BLOCKSIZE)
_DTYPES = (
    "bool",
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64"),
)
"""Element types of inputs and outputs, as numpy writes them."""


class ArchiveError(ValueError):
    """The file is not an archive that `tvmc compile` wrote; the message says why."""


@dataclass(frozen=True)
class Archive:
    """The content of an archive.

    Parameters
    ----------
    files: path -> content.
    metadata: the parsed metadata.json.
    """

    files: dict[str, bytes]
    metadata: dict[str, Any]

    def load(self) -> HostModule:
        """Build the model for this host and load it."""
        modules = self.metadata["modules"]
        return HostModule(self.files, next(iter(modules.values())))


def load_archive(path: str | Path) -> Archive:
    """Read the archive at `path`.

    Raises
    ------
    ArchiveError: the file is missing, damaged, or no Model Library Format archive.
    """
    files: dict[str, bytes] = {}
    try:
        archived = Path(path).read_bytes()
        with tarfile.open(fileobj=io.BytesIO(archived), mode="r:") as tar:
            for entry in tar:
                content = tar.extractfile(entry) if entry.isfile() else None
                name = entry.name.removeprefix("./")
                if content is not None and _is_inside(name):
                    files[name] = content.read()
    except OSError as error:
        raise ArchiveError(f"{path}: {error.strerror or error}") from error
    except (tarfile.TarError, EOFError) as error:
        raise ArchiveError(f"{path}: not a tar archive, or a damaged one") from error
    if not archived.endswith(_END_OF_TAR):
        raise ArchiveError(f"{path}: the archive is truncated; copy or compile it again")
    if _METADATA_FILE not in files:
        raise ArchiveError(f"{path}: not a Model Library Format archive: no {_METADATA_FILE}")
    for ending, what in ((".h", "header"), (".c", "source")):
        if not any(name.startswith("codegen/") and name.endswith(ending) for name in files):
            raise ArchiveError(f"{path}: not an archive of C code: no {what} in codegen/")
    try:
        metadata = json.loads(files[_METADATA_FILE])
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{path}: {_METADATA_FILE} is damaged: it is not JSON") from error
    fault = _metadata_fault(metadata)
    if fault:
        raise ArchiveError(f"{path}: {_METADATA_FILE} is damaged: {fault}")
    return Archive(files, metadata)


def _metadata_fault(metadata: object) -> str | None:
    """What is wrong with the part of metadata.json that running a model needs, or None."""
    modules = metadata.get("modules") if isinstance(metadata, dict) else None
    if not isinstance(modules, dict) or not modules:
        return 'it has no "modules"'
    for name, module in modules.items():
        try:
            main = module["memory"]["functions"]["main"][0]
            tensors = [*main["inputs"].items(), *main["outputs"].items()]
            pools = list(module["memory"]["pools"])
        except (KeyError, IndexError, TypeError, AttributeError):
            return f'module "{name}" lacks its inputs, outputs or pools'
        if not isinstance(module.get("model_name"), str):
            return f'module "{name}" has no "model_name"'
        for tensor, info in tensors:
            if not _is_tensor(info):
                return f'tensor "{tensor}" of module "{name}" has no valid shape and dtype'
        if not all(_is_pool(pool) for pool in pools):
            return f'module "{name}" has a pool without valid name, kind or size'
    return None


def _is_tensor(info: object) -> bool:
    if not isinstance(info, dict):
        return False
    shape = info.get("shape")
    return (
        isinstance(shape, list)
        and all(_is_count(extent) for extent in shape)
        and info.get("dtype") in _DTYPES
    )


def _is_pool(pool: object) -> bool:
    return (
        isinstance(pool, dict)
        and isinstance(pool.get("c_name"), str)
        and isinstance(pool.get("internal"), bool)
        and pool.get("kind") in ("workspace", "constant")
        and _is_count(pool.get("size_bytes"))
        and _is_count(pool.get("alignment_bytes"))
        and pool["alignment_bytes"] > 0
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_inside(name: str) -> bool:
    """Whether the path stays inside the folder that the archive is unpacked to."""
    return not name.startswith("/") and ".." not in Path(name).parts
