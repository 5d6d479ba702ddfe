"""Files of buffers in any known format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from usmp_solver.formats.csv_problem import CsvProblem
from usmp_solver.formats.csv_reader import parse_csv
from usmp_solver.formats.omnimalloc import is_omnimalloc, parse_omnimalloc
from usmp_solver.formats.pytorch import PytorchProblem, parse_pytorch
from usmp_solver.formats.pytorch_data import is_pytorch

BuffersFile: TypeAlias = CsvProblem | PytorchProblem
"""A problem and the file that it comes from."""


def read_buffers(
    path: str | os.PathLike[str], capacity: int | Mapping[str, int] | None = None
) -> BuffersFile:
    """Read a file of buffers: a CSV, a problem of OmniMalloc, or a memory recording of PyTorch.

    Parameters
    ----------
    path
        the file.
    capacity
        size of the only pool, or of each pool by name, in bytes; None for no limit.

    Raises
    ------
    ValueError
        The file is malformed; the message says where.
    """
    return parse_buffers(os.fspath(path), Path(path).read_bytes(), capacity)


def parse_buffers(
    file: str, data: bytes, capacity: int | Mapping[str, int] | None = None
) -> BuffersFile:
    """Read the problem in the file. The first bytes of the file tell its format.

    Parameters
    ----------
    file
        name of the file, for messages.
    data
        content of the file.
    capacity
        size of the only pool, or of each pool by name, in bytes; None for no limit.

    Raises
    ------
    ValueError
        The file is malformed; the message says where.
    """
    if is_pytorch(data):
        return parse_pytorch(file, data, capacity)
    if is_omnimalloc(data):
        return parse_omnimalloc(file, data, capacity)
    return parse_csv(file, data, capacity)
