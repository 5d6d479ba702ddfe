"""Check the files that commands read and write, and report errors of writing."""

from __future__ import annotations

import argparse
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from usmp.driver.errors import UsageError, file_error
from usmp.support.process.termination import settle

if TYPE_CHECKING:
    from rich.console import Console

Show: TypeAlias = "Callable[[Console | None], None]"
"""Prints results to a console, by default to stdout."""


def check_output(path: str, read: str, what: str, read_as: str = "the model") -> None:
    """Check early that `what` can be written to `path`, and does not overwrite the file `read`,
    which errors call `read_as`.

    Raises
    ------
    UsageError
        the files are the same, the path is empty or a folder, or its folder is missing or
        read-only.
    """
    if not path:
        raise UsageError(f"the path for {what} is empty; name a file")
    if os.path.realpath(path) == os.path.realpath(read):
        raise UsageError(f"{path}: {what} would overwrite {read_as}")
    try:
        _check_place(os.path.realpath(path))
    except OSError as error:
        raise _unwritable(path, error) from error


def check_readable(path: str) -> None:
    """Raise UsageError if a file is missing. Check early, because TVM takes seconds to load."""
    try:
        os.stat(path)
    except OSError as error:
        raise file_error(error, path) from error


@contextmanager
def written(path: str, is_last: bool = True) -> Iterator[None]:
    """Replace an `OSError` of the body by a UsageError that names the file.

    After the last file, fix the exit status at 0, so that later signals do not change it.
    """
    try:
        yield
        if is_last:
            settle(0)
    except OSError as error:
        raise _unwritable(path, error) from error


def chosen_format(
    options: argparse.Namespace, endings: Mapping[str, str], default: str = "table"
) -> str:
    """Return the output format, from `--format` or from the ending of `--output`."""
    by_ending = endings.get(Path(options.output or "").suffix.lower(), default)
    return str(options.format or by_ending)


def is_read_on_terminal(options: argparse.Namespace) -> bool:
    """Return whether the result is shown to a reader, so that stderr need not repeat its reason."""
    return options.output is None and options.format != "json" and sys.stdout.isatty()


def print_or_write(path: str | None, content: str | Show, is_last: bool = True) -> None:
    """Print a text or the output of a `Show` function, or write it to the file `path`."""
    if path is not None:
        from usmp.codegen.write_file import write_file
        from usmp.report.text_tables import printed_text

        text = content if isinstance(content, str) else printed_text(content)
        with written(path, is_last):
            write_file(path, text.encode())
    elif isinstance(content, str):
        print(content, end="")
    else:
        content(None)


def _check_place(path: str) -> None:
    """Raise the `OSError` that writing to a path would raise, as far as it can be predicted."""
    if os.path.isdir(path):
        raise _os_error(errno.EISDIR)
    if os.path.exists(path) and not os.path.isfile(path):
        return  # A device or a pipe.
    folder = os.path.dirname(path)
    if not stat.S_ISDIR(os.stat(folder).st_mode):
        raise _os_error(errno.ENOTDIR)
    for written_to in (folder, path):
        if os.path.exists(written_to) and not os.access(written_to, os.W_OK, effective_ids=True):
            is_read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
            raise _os_error(errno.EROFS if is_read_only else errno.EACCES)


def _os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _unwritable(path: str, error: OSError) -> UsageError:
    return file_error(error, path, f"cannot be written ({error.strerror})")
