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

    The name and the parameters are those of `tvm.micro` in TVM 0.18. The models can be linked into
    one program. They can share external pools, of the larger size if sizes differ.

    Parameters
    ----------
    mods
        compiled models of `usmp.build`, with different module names.
    file_name
        the archive to write.

    Returns
    -------
    Path
        The path of the archive.

    Raises
    ------
    ValueError
        there is no model, or two models have equal names or macros in C.
    TypeError
        an argument is no compiled model.
    OSError
        the file cannot be written; an older file of that name stays unchanged.
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
