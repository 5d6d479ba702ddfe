"""What a command says at the end about the memory of a model."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from usmp.driver.memory_pools import print_unused_pools
from usmp.support.plain_text import shown

if TYPE_CHECKING:
    from rich.console import Console
    from tvm.ir import IRModule

    from usmp import AOTExecutorFactoryModule

_FILE_WIDTH = 100
"""Columns of a table in a file."""


def module_metadata(factory: AOTExecutorFactoryModule) -> Mapping[str, Any]:
    """What metadata.json says of the module."""
    metadata: Mapping[str, Any] = factory.metadata["modules"][factory.module_name]
    return metadata


def print_summary(factory: AOTExecutorFactoryModule, console: Console | None = None) -> None:
    """Print the table of the pools, and which of the user's pools are not needed."""
    from usmp.report import print_memory_summary

    print_memory_summary(module_metadata(factory), console)
    _print_io_types(factory.ir_mod)
    # The memories of a board are there whether the model needs them or not.
    if factory.board is None:
        print_unused_pools(factory.ir_mod)


def _print_io_types(module: IRModule) -> None:
    """Say which inputs and outputs `--io-type` made integers, and why others stay float."""
    from usmp.objects.attributes import IO_TYPES_ATTR

    types = (module.attrs or {}).get(IO_TYPES_ATTR)
    if types is None:
        return
    integers = [f"{shown(name)} ({dtype})" for name, dtype in types["integers"].items()]
    if integers:
        print(f"By --io-type these are integers, not float: {', '.join(integers)}.")
    elif not types["float"]:
        print("--io-type changes nothing: the model has no float inputs and outputs.")
    for name, reason in types["float"].items():
        print(f"Still float: {shown(name)}, which {shown(reason)}.")


def summary_text(show: Callable[[Console], None]) -> str:
    """What `show` prints, for a file."""
    from rich.console import Console

    text = io.StringIO()
    with redirect_stdout(text):
        show(Console(file=text, highlight=False, width=_FILE_WIDTH))
    return text.getvalue()
