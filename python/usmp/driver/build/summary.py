"""The summary of a model's memory that a command prints at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from usmp.driver.options.memory_pools import empty_pool_sentences
from usmp.support.text.plain_text import shown

if TYPE_CHECKING:
    from rich.console import Console
    from tvm.ir import IRModule

    from usmp import AOTExecutorFactoryModule


def module_metadata(factory: AOTExecutorFactoryModule) -> Mapping[str, Any]:
    """Return the entry of metadata.json for the module."""
    metadata: Mapping[str, Any] = factory.metadata["modules"][factory.module_name]
    return metadata


def print_summary(factory: AOTExecutorFactoryModule, console: Console | None = None) -> None:
    """Print the table of the pools, and name the user's pools that stay empty."""
    from rich.console import Console

    from usmp.report import print_memory_summary
    from usmp.report.text_tables import print_text

    console = console or Console(highlight=False)
    print_memory_summary(module_metadata(factory), console)
    for sentence in (*_io_type_sentences(factory.ir_mod), *empty_pool_sentences(factory)):
        print_text(sentence, console)


def _io_type_sentences(module: IRModule) -> Iterator[str]:
    """Yield sentences about which inputs and outputs `--io-type` made integer or left float."""
    from usmp.objects.attributes.module_attributes import IO_TYPES_ATTR

    types = IO_TYPES_ATTR.of(module)
    if types is None:
        return
    integers = [f"{shown(name)} ({dtype})" for name, dtype in types["integers"].items()]
    if integers:
        yield f"By --io-type these are integers, not float: {', '.join(integers)}."
    elif not types["float"]:
        yield "--io-type changes nothing: the model has no float inputs and outputs."
    for name, reason in types["float"].items():
        yield f"Still float: {shown(name)}, which {shown(reason)}."
