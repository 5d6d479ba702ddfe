"""Call the C compiler of the host."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from usmp.runtime.programs import run_program
from usmp.support.tvmc_exception import TVMCException

DEFAULT_FLAGS = ("-O2",)


class BuildError(TVMCException, RuntimeError):
    """The C compiler of the host is missing, or rejected the emitted C."""


def compile_c(arguments: Sequence[str], output: Path) -> None:
    """Call the C compiler of the host: `$CC`, or `cc`.

    Raises
    ------
    BuildError
        the compiler is missing, or reports an error or a warning.
    """
    compiler = os.environ.get("CC", "").split() or ["cc"]
    try:
        result = run_program(
            [*compiler, *arguments, "-o", str(output)], temporary=output.resolve().parent
        )
    except OSError as error:
        raise BuildError(
            f"C compiler {compiler[0]} cannot be started ({error.strerror}); install one "
            "(apt-get install gcc) or name one in the environment variable CC"
        ) from error
    if result.returncode != 0:
        raise BuildError(
            f"C compiler {' '.join(compiler)} failed with exit status {result.returncode}:\n"
            f"{result.stderr.strip() or '(it printed nothing)'}"
        )


def tvm_ffi_include() -> list[str]:
    """Return the options for the headers of tvm-ffi, as system headers without warnings."""
    from tvm_ffi import libinfo

    folders = dict.fromkeys([libinfo.find_include_path(), libinfo.find_dlpack_include_path()])
    return [option for folder in folders for option in ("-isystem", folder)]
