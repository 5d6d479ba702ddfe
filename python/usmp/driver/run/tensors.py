"""Inputs and outputs of a run: .npz files, generated values, and printing."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from usmp.codegen.c.names import replace_forbidden
from usmp.codegen.write_file import write_file
from usmp.driver.errors import UsageError, file_error
from usmp.driver.output import written
from usmp.support.text.plain_text import shown
from usmp.support.text.unique_names import UniqueNames

RANDOM_SEED = 0
_LONGEST_FILE_NAME, _LONGEST_PATH = 250, 2000
"""Limits in bytes, below those of the system, because a suffix is appended."""
_ZIP, _NPY = b"PK", b"\x93NUMPY"
"""First bytes of files of `numpy.savez` and of `numpy.save`."""


def load_tensors(path: str) -> dict[str, np.ndarray]:
    """Read the arrays of an .npz file, by name.

    Raises
    ------
    UsageError
        the file cannot be read, or is no .npz file.
    """
    try:
        with open(path, "rb") as file:
            if not file.read(len(_NPY)).startswith((_ZIP, _NPY)):
                # Do not let NumPy try, because its error advises to unpickle the file.
                raise ValueError("write it with numpy.savez")
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("it holds one array without a name; use numpy.savez")
        with archive:
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        raise file_error(error, path) from error
    except Exception as error:
        # A damaged file can make zipfile and numpy raise almost anything.
        raise UsageError(f"{path}: not an .npz file of arrays ({error})") from error


def fill_inputs(
    infos: Mapping[str, Mapping[str, Any]],
    given: Mapping[str, np.ndarray],
    mode: str,
    generator: np.random.Generator | None = None,
) -> dict[str, np.ndarray]:
    """Return all inputs of a run, with generated values for those that are not given.

    Parameters
    ----------
    infos
        shape and dtype of every input of the model.
    given
        arrays of some inputs by name.
    mode
        generated values: "zeros", "ones" or "random".
    generator
        generator of random values; by default the values are the same in every run.
    """
    generator = generator or np.random.default_rng(RANDOM_SEED)
    missing = {name: info for name, info in infos.items() if name not in given}
    return {
        **given,
        **{name: _filled(info, mode, generator) for name, info in missing.items()},
    }


def _filled(info: Mapping[str, Any], mode: str, generator: np.random.Generator) -> np.ndarray:
    dtype, shape = np.dtype(info["dtype"]), tuple(info["shape"])
    if mode != "random":
        return np.full(shape, 0 if mode == "zeros" else 1, dtype)
    if dtype.kind == "f":
        return generator.random(shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    limits = np.iinfo(dtype)
    values: np.ndarray = generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return values


def print_tensors(tensors: Mapping[str, np.ndarray]) -> None:
    """Print the name, element type, shape and values of each tensor."""
    for name, value in tensors.items():
        print(f"{shown(name)}: {value.dtype}{list(value.shape)}\n{value}")


def print_top(tensors: Mapping[str, np.ndarray], count: int) -> None:
    """Print the largest values of each tensor below their indices, as TVM's tvmc did.

    Parameters
    ----------
    tensors
        tensors by name; the name of a single tensor is not printed.
    count
        number of values, the largest first. Indices count elements in C order.
    """
    for name, value in tensors.items():
        if len(tensors) > 1:
            print(f"{shown(name)}:")
        elements = value.reshape(-1)
        indices = np.argsort(elements, kind="stable")[::-1][:count]
        if elements.dtype == np.uint64:
            # NumPy would promote signed indices beside uint64 values to floats.
            indices = indices.astype(np.uint64)
        print(np.array([indices, elements[indices]]))


def save_tensors(path: str, tensors: Mapping[str, np.ndarray]) -> None:
    """Write an .npz file of the arrays, as a whole or not at all.

    Raises
    ------
    UsageError
        the file cannot be written.
    """
    with written(path):
        write_file(path, npz_content(tensors))


def npz_content(tensors: Mapping[str, np.ndarray]) -> bytes:
    """Return the content of an .npz file of the arrays.

    `numpy.savez` is not used, because it takes no arrays named "file" or "allow_pickle". Names that
    no file can have are replaced by C identifiers.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, value in zip(member_names(tensors), tensors.values(), strict=True):
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as member:
                np.lib.format.write_array(member, value, allow_pickle=False)
    return content.getvalue()


def member_names(names: Iterable[str]) -> list[str]:
    """Return the names of the members of an .npz file, which must be safe to unpack."""
    tensor_names = list(names)
    members = UniqueNames(name for name in tensor_names if _is_path_inside(name))
    return [
        name if _is_path_inside(name) else members.unique(replace_forbidden(name))
        for name in tensor_names
    ]


def _is_path_inside(name: str) -> bool:
    """Return whether a name is a path inside a folder. Unpacking strips a leading "/"."""
    parts = name.split("/")
    return (
        name.isprintable()
        and ".." not in parts
        and all(len(part.encode()) <= _LONGEST_FILE_NAME for part in parts)
        and len(name.encode()) <= _LONGEST_PATH
    )
