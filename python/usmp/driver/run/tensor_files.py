"""Files of inputs and outputs on the command line: [NAME=]PATH, in the format of the ending."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from usmp.codegen.write_file import write_file
from usmp.driver.errors import UsageError, file_error
from usmp.driver.output import written
from usmp.driver.run.output_names import Outputs
from usmp.driver.run.tensors import load_tensors, npz_content
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import shown

Infos = Mapping[str, Mapping[str, Any]]
"""Shape and dtype of every input or output of a model, by name."""

_ALL, _ARRAY, _RAW = ".npz", ".npy", ".bin"
ENDINGS = (_ALL, _ARRAY, _RAW)
"""Endings of files of `numpy.savez` and `numpy.save`, and of the raw bytes of a tensor."""


@dataclass(frozen=True)
class TensorFile:
    """A file for a single tensor, or for all tensors if `name` is None."""

    name: str | None
    path: str

    @property
    def ending(self) -> str:
        return Path(self.path).suffix.lower()


def read_inputs(
    values: Sequence[str], infos: Infos, steps: int | None = None
) -> dict[str, np.ndarray]:
    """Read files into arrays, by the names of inputs. A .bin file may have an axis of `steps`.

    Raises
    ------
    UsageError
        a file cannot be read, does not have the size of its input, or is for an unknown input; or
        an input has two files.
    """
    arrays: dict[str, np.ndarray] = {}
    for value in values:
        file = _tensor_file(value, infos, "--inputs")
        tensors = {file.name: _read(file, infos, steps)} if file.name else load_tensors(file.path)
        for name, array in tensors.items():
            if name in arrays:
                raise UsageError(f'--inputs {value}: input "{name}" is given twice')
            arrays[name] = array
    return arrays


def output_files(values: Sequence[str], infos: Infos) -> list[TensorFile]:
    """Return the files to write outputs to.

    Raises
    ------
    UsageError
        the ending or the output of a file is unknown, or an output has two files.
    """
    files = [_tensor_file(value, infos, "--outputs") for value in values]
    for index, file in enumerate(files):
        # A device such as /dev/null needs no ending.
        if file.ending not in ENDINGS and not _is_special(file.path):
            raise UsageError(
                f"{file.path}: write outputs to a file that ends in .npz (all, with their names), "
                ".npy (one array) or .bin (its bytes)"
            )
        for other in files[:index]:
            if other.path == file.path or other.name == file.name:
                raise UsageError(f"--outputs {other.path} and --outputs {file.path}: give one")
    return files


def write_outputs(
    files: Sequence[TensorFile], outputs: Mapping[str, np.ndarray], count: int | None = None
) -> None:
    """Write the files of outputs, each as a whole.

    An .npz file has the outputs by their names, and by their aliases `output_0`, ...

    Parameters
    ----------
    files
        files to write.
    outputs
        results of a run by name, the outputs first, in the order of the model.
    count
        number of outputs among the results; all by default.

    Raises
    ------
    UsageError
        a file cannot be written.
    """
    for file in files:
        if file.name is None:
            content = npz_content(Outputs(outputs, count).under_all_names())
        else:
            content = _ENCODED[file.ending](outputs[file.name])
        with written(file.path, is_last=file is files[-1]):
            write_file(file.path, content)


def path_of(value: str, names: Sequence[str]) -> str:
    """Return the path in [NAME=]PATH. Only known names end at a "=", because paths may have one."""
    return _split(value, names)[1]


def _split(value: str, names: Sequence[str]) -> tuple[str | None, str]:
    matching = [name for name in names if value.startswith(f"{name}=")]
    name = max(matching, key=len, default=None)
    return (name, value) if name is None else (name, value[len(name) + 1 :])


def _tensor_file(value: str, infos: Infos, option: str) -> TensorFile:
    """Parse [NAME=]PATH. The name is optional if the model has only one input or output."""
    noun = option.strip("-")[:-1]
    names = list(infos)
    name, path = _split(value, names)
    file = TensorFile(name, path)
    known = ", ".join(names)
    if file.ending not in (_ARRAY, _RAW):
        if name is not None:
            raise UsageError(
                f"{option} {value}: only .npy and .bin files are for one {noun}; an .npz file "
                f"names its arrays itself"
            )
        return file
    if name is None and "=" in path and not Path(path).exists():
        unknown = path.partition("=")[0]
        problem = f'{option} {value}: the model has no {noun} "{unknown}"'
        raise UsageError(unknown_name(problem, unknown, names, f"Its {noun}s"))
    if name is None and len(names) != 1:
        example = f"{names[0] if names else 'NAME'}={path}"
        raise UsageError(
            f"{option} {value}: the model has {len(names)} {noun}s ({known}); say which, as in "
            f"{option} {example}"
        )
    return TensorFile(name or names[0], path)


def _is_special(path: str) -> bool:
    return Path(path).exists() and not Path(path).is_file()


def _read(file: TensorFile, infos: Infos, steps: int | None) -> np.ndarray:
    try:
        content = Path(file.path).read_bytes()
    except OSError as error:
        raise file_error(error, file.path) from error
    assert file.name is not None
    if file.ending == _ARRAY:
        return _array(file, content)
    return _raw(file, content, infos[file.name], steps)


def _raw(
    file: TensorFile, content: bytes, info: Mapping[str, Any], steps: int | None
) -> np.ndarray:
    shape, dtype = info["shape"], np.dtype(info["dtype"])
    if "symbolic_shape" in info:
        shape = _shape_of_elements(file, len(content), info)
    needed = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if steps is not None and len(content) == steps * needed:
        shape = [steps, *shape]
        needed *= steps
    if len(content) != needed:
        extents = "x".join(map(str, shape)) or "scalar"
        raise UsageError(
            f"{file.path} has {len(content)} bytes, input {file.name} ({extents} {dtype}) "
            f"needs {needed}"
        )
    return np.frombuffer(content, dtype).reshape(shape)


def _shape_of_elements(file: TensorFile, size_bytes: int, info: Mapping[str, Any]) -> list[int]:
    """Return the shape of a tensor with one symbolic size, solved from its size in bytes."""
    from usmp.plain.size_expression import shape_at, shape_text, sizes_in, solved

    extents, dtype = info["symbolic_shape"], np.dtype(info["dtype"])
    elements, rest = divmod(size_bytes, dtype.itemsize)
    solution = None if rest else solved(reduce(lambda a, b: ["*", a, b], extents), elements, {})
    if solution is None or {solution[0]} != {
        name for extent in extents for name in sizes_in(extent)
    }:
        raise UsageError(
            f"{file.path} has {size_bytes} bytes, from which the sizes of input "
            f"{shown(str(file.name))} ({shown(shape_text(extents))} {dtype}) do not follow; write "
            "an .npy file"
        )
    return shape_at(extents, dict([solution]))


def _array(file: TensorFile, content: bytes) -> np.ndarray:
    try:
        return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except Exception as error:
        # A damaged header can make numpy raise almost anything.
        raise UsageError(f"{file.path}: not an .npy file of an array ({error})") from error


def _npy(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, array, allow_pickle=False)
    return content.getvalue()


_ENCODED: Mapping[str, Callable[[np.ndarray], bytes]] = {
    _ARRAY: _npy,
    _RAW: np.ndarray.tobytes,
}
