"""What a command says at the end about the memory of a model."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from usmp.driver.memory_pools import print_unused_pools

if TYPE_CHECKING:
    from rich.console import Console

    from usmp import AOTExecutorFactoryModule

_FILE_WIDTH = 100
"""Columns of a table in a file."""


def print_summary(factory: AOTExecutorFactoryModule, console: Console | None = None) -> None:
    """Print the table of the pools, and which of the user's pools are not needed."""
    from usmp.report import print_memory_summary

    print_memory_summary(factory.metadata["modules"][factory.module_name], console)
    # The memories of a board are there whether the model needs them or not.
    if factory.board is None:
        print_unused_pools(factory.ir_mod)


def summary_text(show: Callable[[Console], None]) -> str:
    """What `show` prints, for a file."""
    from rich.console import Console

    text = io.StringIO()
    with redirect_stdout(text):
        show(Console(file=text, highlight=False, width=_FILE_WIDTH))
    return text.getvalue()
