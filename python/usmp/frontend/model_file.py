"""Import of a model file as a Relax module, by the format of the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

from tvm.ir import IRModule

from usmp.frontend.dynamic_sizes import AskedSizes
from usmp.frontend.pytorch.torch_cache import without_torch_cache
from usmp.objects.attributes.module_attributes import MODEL_FILES_ATTR
from usmp.objects.entries import check_entries, entries_of
from usmp.relax.limits import MODEL_BYTES, OPERATORS, Limits, check_main
from usmp.relax.shared_states import check_initial_values
from usmp.relax.symbolic_operators import with_possible_sizes
from usmp.relax.symbolic_sizes import symbolic_sizes_of
from usmp.support.distribution import EXTRAS, install_command
from usmp.support.errors import UnsupportedModelError
from usmp.support.model_content import format_of_content
from usmp.support.process.compiler_lock import one_at_a_time
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import printable
from usmp.support.tvmc_exception import TVMCImportError
from usmp.tir.spans import with_all_spans
from usmp.tvm018 import MODEL_FILES, find

Model = TypeVar("Model")
"""The type that a reader returns for a model."""


class MissingModelError(FileNotFoundError, UnsupportedModelError):
    """A model file is missing."""


class MissingPackageError(UnsupportedModelError, TVMCImportError):
    """The Python package that reads files of this format is missing."""


@one_at_a_time
def import_model(
    path: str | Path | Mapping[str, str | Path],
    *,
    trust: bool = False,
    max_model_bytes: int = MODEL_BYTES,
    max_operators: int = OPERATORS,
    max_sizes: Mapping[str, int | None] | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
) -> IRModule:
    """Read a model file in the format of its file name extension.

    Parameters
    ----------
    path
        a `.tflite`, `.onnx` or `.pt2` file. Or several `.pt2` files by name, as `{"prefill":
        "prefill.pt2", "decode": "decode.pt2"}`: methods of one PyTorch module, which share the
        buffers that any of them changes. (Pass models that share nothing to `usmp.build`.)
    trust
        read a `.pt2` file even if it may run code. The other formats never run code.
    max_model_bytes
        the limit in bytes of each tensor, and of all constants together; a small file can declare
        tensors of any size.
    max_operators
        the limit of the number of operators after functions are inlined and loops unrolled.
    max_sizes
        name of a dynamic size -> largest value, or None for no limit. The name comes from an
        `.onnx` file, or else consists of an input and an axis, as `x_1`. The range of a
        `torch.export.Dim` limits its size, too. A dynamic first extent of an input is a batch of 1
        unless an option names it.
    input_shapes
        name of an input -> shape, to give dynamic sizes a fixed value.

    Returns
    -------
    IRModule
        A module with a Relax `main`, with weights as constants, and output names in the attribute
        `output_names`. The module's attribute `model_files` has the names of the files. For a
        `.tflite` file with several signatures, or several methods, the module has a function for
        each, listed in the module's attribute `entries`. Dynamic sizes are shape variables of the
        functions, with bounds in the attributes `tir_var_upper_bound` and `tir_var_lower_bound`.

    Raises
    ------
    UnsupportedModelError
        the file is missing, empty, damaged or of an unknown format; or an operator cannot be
        imported, the file may run code and is not trusted, or the model exceeds a limit or has a
        size without a limit; or methods disagree on a buffer of one name.
    ValueError
        a method has a name that no C function can have; no model has an input or size that an
        option names; or a shape or limit is not of positive integers, or contradicts the model.
    TypeError
        `path` is not a path, but for example a loaded model.
    """
    asked = AskedSizes(
        max_sizes or {},
        is_for_one_model=not isinstance(path, Mapping),
        input_shapes=input_shapes or {},
    )
    mod = import_with_sizes(
        path, asked, trust=trust, max_model_bytes=max_model_bytes, max_operators=max_operators
    )
    asked.check_all_known()
    return mod


def import_with_sizes(
    path: str | Path | Mapping[str, str | Path],
    asked: AskedSizes,
    *,
    trust: bool = False,
    max_model_bytes: int = MODEL_BYTES,
    max_operators: int = OPERATORS,
) -> IRModule:
    """Import a model, which may be one of several with the same `asked`. After the last model, the
    caller must call `asked.check_all_known`."""
    limits = Limits(max_model_bytes, max_operators)
    if isinstance(path, Mapping):
        mod, paths = _import_methods(path, trust, limits, asked), list(path.values())
    else:
        mod, paths = _import_file(path, trust, limits, asked), [path]
    # Names have no folders, so that archives do not depend on the places of files.
    names = [os.fsencode(Path(path).name).decode(errors="replace") for path in paths]
    return MODEL_FILES_ATTR.put(mod, names)


def _import_file(path: str | Path, trust: bool, limits: Limits, asked: AskedSizes) -> IRModule:

    def reader(importer: Importer) -> Callable[[bytes, Path], IRModule]:
        def read(content: bytes, folder: Path) -> IRModule:
            mod = importer(content, folder, trust, limits, asked)
            _check_entries_of(mod, limits)
            return with_all_spans(mod)

        return read

    return read_model_file(
        path, {ending: reader(importer) for ending, importer in _IMPORTERS.items()}
    )


def read_model_file(
    path: str | Path, readers: Mapping[str, Callable[[bytes, Path], Model]]
) -> Model:
    """Read a file by the reader of its extension, which receives its content and folder.

    Raises
    ------
    UnsupportedModelError
        the file is missing, empty or of an unknown format, the reader refuses the model, or a
        package that the reader needs is missing.
    TypeError
        `path` is not a path.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"a model is the path of a file, not {type(path).__name__}; write it to a file, as "
            "onnx.save(model, path) and torch.export.save(program, path) do"
        )
    path = Path(path)
    reader = readers.get(path.suffix.lower())
    if reader is None:
        if path.is_dir():
            raise UnsupportedModelError(f"{path}: a folder, not a model")
        if path.suffix.lower() == ".tar":
            raise UnsupportedModelError(
                f"{path}: an archive, not a model; tvmc run, plan and info read archives"
            )
        ending = path.suffix.lower()
        # PyTorch's users write the files that TVM 0.18 read with both endings.
        row = find(MODEL_FILES, ".pth" if ending == ".pt" else ending)
        problem = f'{path}: unknown model format "{path.suffix}"'
        problem = unknown_name(problem, path.suffix, ENDINGS, "Formats")
        raise UnsupportedModelError(f"{problem}; {row.reason}" if row else problem)
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise MissingModelError(f"{path}: {error.strerror}") from error
    except OSError as error:
        raise UnsupportedModelError(f"{path}: {error.strerror}") from error
    if not content:
        raise UnsupportedModelError(f"{path}: the file is empty")
    found = format_of_content(content)
    if found not in ("", path.suffix.lower()):
        raise UnsupportedModelError(
            f"{path}: the content looks like that of a {found} file; if it is one, name it so"
        )
    try:
        return reader(content, path.parent)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        raise MissingPackageError(
            f"{path}: the package {error.name} is needed to read {path.suffix.lower()} files; "
            f"install it with: {install_command(error.name)}"
        ) from error
    except UnsupportedModelError as error:
        # Escape the message, because names in the file may contain control characters.
        raise UnsupportedModelError(f"{path}: {printable(str(error))}") from error


def _import_methods(
    paths: Mapping[str, str | Path], trust: bool, limits: Limits, asked: AskedSizes
) -> IRModule:
    """Import the methods of a PyTorch module from a file for each."""
    check_entries(list(paths))
    contents: dict[str, bytes] = {}
    for name, path in paths.items():
        if Path(path).suffix.lower() != ".pt2":
            raise UnsupportedModelError(
                f'{path}: method "{name}" must be a .pt2 file; models of other formats share '
                "nothing, give them to usmp.build"
            )
        contents[name] = read_model_file(path, {".pt2": _content_for_pytorch})
    with without_torch_cache():
        from usmp.frontend.pytorch.importer import import_pytorch_methods

        mod = import_pytorch_methods(contents, trust, limits, asked)
    _check_entries_of(mod, limits)
    return with_all_spans(mod)


def _check_entries_of(mod: IRModule, limits: Limits) -> None:
    functions = {entry: mod[entry] for entry in entries_of(mod)}
    for entry, function in functions.items():
        check_main(function, limits)
        if symbolic_sizes_of(function):
            mod.update_func(mod.get_global_var(entry), with_possible_sizes(function))
    check_initial_values(functions, limits)


def _import_tflite(
    content: bytes, folder: Path, trust: bool, limits: Limits, asked: AskedSizes
) -> IRModule:
    from usmp.frontend.tflite.importer import import_tflite

    return import_tflite(content, limits, asked)


def _import_onnx(
    content: bytes, folder: Path, trust: bool, limits: Limits, asked: AskedSizes
) -> IRModule:
    from usmp.frontend.onnx.importer import import_onnx

    return import_onnx(content, folder, limits, asked)


def _import_pytorch(
    content: bytes, folder: Path, trust: bool, limits: Limits, asked: AskedSizes
) -> IRModule:
    with without_torch_cache():
        from usmp.frontend.pytorch.importer import import_pytorch

        return import_pytorch(content, trust, limits, asked)


def _content_for_pytorch(content: bytes, folder: Path) -> bytes:
    """Return the content of a file, after checking that PyTorch is installed."""
    with without_torch_cache():
        import torch  # noqa: F401

    return content


Importer: TypeAlias = Callable[[bytes, Path, bool, Limits, AskedSizes], IRModule]
"""A function of the file's content, its folder, whether it is trusted, limits, and asked sizes."""

_IMPORTERS: dict[str, Importer] = {
    ".tflite": _import_tflite,
    ".onnx": _import_onnx,
    ".pt2": _import_pytorch,
}
"""File name extension -> importer, which imports the packages of its format when it is called."""

ENDINGS = tuple(_IMPORTERS)
"""The extensions of model files, in lower case."""
