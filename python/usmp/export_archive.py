"""usmp.export_model_library_format: one archive of one or several compiled models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from usmp.codegen.merge_archives import merge_archives
from usmp.codegen.model_library_format import write_archive
from usmp.executor_factory import AOTExecutorFactoryModule


def export_model_library_format(
    mods: AOTExecutorFactoryModule | Sequence[AOTExecutorFactoryModule], file_name: str | Path
) -> Path:
    """Write compiled models to one Model Library Format archive.

    The name and its parameters are those of `tvm.micro` of TVM 0.18. The models can be linked into
    one program; external pools of one size or the larger of two can be shared between them.

    Parameters
    ----------
    mods
        what `usmp.build` returned, once or several times with different module names.
    file_name
        the archive to write.

    Returns
    -------
    Path
        The path of the archive.

    Raises
    ------
    ValueError
        no models, or two whose names or macros are the same in C.
    TypeError
        something else in the place of models.
    OSError
        the file cannot be written; then an older file of that name is as it was.
    """
    modules = list(mods) if isinstance(mods, Sequence) else [mods]
    for module in modules:
        if not isinstance(module, AOTExecutorFactoryModule):
            raise TypeError(
                "export_model_library_format takes what usmp.build returns, or a list of it, "
                f"not {type(module).__name__}"
            )
    write_archive(merge_archives([module.files() for module in modules]), file_name)
    return Path(file_name)
