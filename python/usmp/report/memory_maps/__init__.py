"""The memory map, with the place of every buffer over time, as a page, a picture and JSON.

All formats are made from the metadata of a module, which archives have too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from usmp.report.compiled_module import CompiledModule, module_metadata
from usmp.report.map_data import MemoryMap
from usmp.report.measured_costs import Measurement, with_measured_costs
from usmp.report.memory_maps.html_page import map_page
from usmp.report.memory_maps.json_document import map_document, map_json
from usmp.report.memory_maps.pictures import map_png, map_svg
from usmp.report.memory_maps.terminal import map_text, print_memory_map
from usmp.report.read_map_data import map_of_metadata
from usmp.support.process.vega_process import ReportExtraMissing

__all__ = [
    "MemoryMap",
    "ReportExtraMissing",
    "html_bytes",
    "json_bytes",
    "map_document",
    "map_of_metadata",
    "map_page",
    "map_svg",
    "map_text",
    "memory_map",
    "png_bytes",
    "print_memory_map",
    "svg_bytes",
]


def memory_map(module: CompiledModule, profile: Measurement | None = None) -> str:
    """Return the memory map of a compiled model as an HTML page that opens offline.

    Parameters
    ----------
    module
        a result of `usmp.build`, or a module of `usmp.load_archive`.
    profile
        a `usmp.runtime.Profile` with measured costs of the operators, which the page shows.

    Returns
    -------
    str
        HTML, to be written as UTF-8.

    Raises
    ------
    ImportError
        the optional dependencies `report` are not installed; the message says how to install them.
    ValueError
        the metadata of the archive is damaged.
    """
    metadata = module_metadata(module)
    if profile is not None:
        metadata = with_measured_costs(metadata, profile)
    return map_page(map_of_metadata(metadata))


def html_bytes(metadata: Mapping[str, Any]) -> bytes:
    """Return the map as an HTML page."""
    return map_page(map_of_metadata(metadata)).encode()


def svg_bytes(metadata: Mapping[str, Any]) -> bytes:
    """Return the map as an SVG picture."""
    return map_svg(map_of_metadata(metadata)).encode()


def png_bytes(metadata: Mapping[str, Any]) -> bytes:
    """Return the map as a PNG picture."""
    return map_png(map_of_metadata(metadata))


def json_bytes(metadata: Mapping[str, Any]) -> bytes:
    """Return the map as JSON."""
    return map_json(map_of_metadata(metadata)).encode()
