"""Inputs and outputs of a run: .npz files, generated values, and what is printed."""

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
from usmp.support.plain_text import shown
from usmp.support.unique_names import UniqueNames

RANDOM_SEED = 0
_LONGEST_FILE_NAME, _LONGEST_PATH = 250, 2000
"""Bytes, less than the system's limit: something is appended."""
_ZIP, _NPY = b"PK", b"\x93NUMPY"
"""What files of `numpy.savez` and of `numpy.save` begin with."""


def load_tensors(path: str) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, by name.

    Raises
    ------
    UsageError
        it cannot be read, or is no such file.
    """
    try:
        with open(path, "rb") as file:
            if not file.read(len(_NPY)).startswith((_ZIP, _NPY)):
                # NumPy would advise to unpickle it.
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
    """The given inputs, and the others filled: with zeros, ones or random values.

    Parameters
    ----------
    infos
        shape and dtype of every input of the model.
    given
        arrays of some inputs.
    mode
        "zeros", "ones" or "random".
    generator
        of random values; by default they are the same in every run.
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
    """Print the name, type, shape and content of each."""
    for name, value in tensors.items():
        print(f"{shown(name)}: {value.dtype}{list(value.shape)}\n{value}")


def print_top(tensors: Mapping[str, np.ndarray], count: int) -> None:
    """Print the largest values of each, below their indices, as TVM's tvmc did.

    Parameters
    ----------
    tensors
        by name; the name of the only one is not printed.
    count
        how many values, the largest first; an index counts the elements in C order.
    """
    for name, value in tensors.items():
        if len(tensors) > 1:
            print(f"{shown(name)}:")
        elements = value.reshape(-1)
        indices = np.argsort(elements, kind="stable")[::-1][:count]
        if elements.dtype == np.uint64:
            # With signed indices, values would become floats.
            indices = indices.astype(np.uint64)
        print(np.array([indices, elements[indices]]))


def save_tensors(path: str, tensors: Mapping[str, np.ndarray]) -> None:
    """Write an .npz file of all the arrays, or none.

    Raises
    ------
    UsageError
        the file cannot be written.
    """
    with written(path):
        write_file(path, npz_content(tensors))


def npz_content(tensors: Mapping[str, np.ndarray]) -> bytes:
    """An .npz file of all the arrays.

    Not by `numpy.savez`, which takes no array that is called "file" or "allow_pickle". A name that
    no file in a folder can have is written as in C.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, value in zip(member_names(tensors), tensors.values(), strict=True):
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as member:
                np.lib.format.write_array(member, value, allow_pickle=False)
    return content.getvalue()


def member_names(names: Iterable[str]) -> list[str]:
    """Return the names of the files in an .npz file of these tensors, which others may unpack."""
    given = list(names)
    members = UniqueNames(name for name in given if _is_path_inside(name))
    return [
        name if _is_path_inside(name) else members.unique(replace_forbidden(name)) for name in given
    ]


def _is_path_inside(name: str) -> bool:
    """Whether a file in a folder can have this name; what begins with "/" is unpacked without."""
    parts = name.split("/")
    return (
        name.isprintable()
        and ".." not in parts
        and all(len(part.encode()) <= _LONGEST_FILE_NAME for part in parts)
        and len(name.encode()) <= _LONGEST_PATH
    )
