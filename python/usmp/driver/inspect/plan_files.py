"""Read the plans to compare: from an archive, a metadata.json, or the JSON of `tvmc plan`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usmp.driver.build.plan_archive import ARCHIVE
from usmp.driver.errors import UsageError, file_error
from usmp.driver.output import check_readable
from usmp.names import BALANCED, SMALL
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import shown
from usmp.tvm018.model_formats import FORMAT_ENDINGS

if TYPE_CHECKING:
    from usmp.runtime import Archive

Plans = Mapping[str, "PlannedModule"]
"""The modules of a file by name; a single module may have an empty name."""


@dataclass(frozen=True)
class PlannedModule:
    """A checked module of a file.

    Parameters
    ----------
    memory, operators
        values of "memory" and "operators" in metadata.json; operators are None if missing.
    archive
        the archive that contains the module; None if the file has no C.
    title
        title of the module; empty if the file has none.
    origins
        for each operator, its operators of the model file, as "6 Conv"; empty if the file has none.
    shared_code
        value of "shared_code" in metadata.json; None if no operators share code.
    """

    memory: Mapping[str, Any]
    operators: list[dict[str, Any]] | None = None
    archive: Archive | None = None
    title: str = ""
    origins: Sequence[str] = ()
    shared_code: str | None = None


def read_plans(path: str) -> dict[str, PlannedModule]:
    """Read the modules of an archive (.tar) or of a JSON file.

    Raises
    ------
    UsageError
        the file is missing, cannot be read, or has neither modules nor a plan.
    ArchiveError
        the archive is damaged.
    """
    check_readable(path)
    if Path(path).suffix.lower() in FORMAT_ENDINGS.values():
        raise UsageError(f"{path}: a model, not a build; compile it first, with tvmc compile")
    if Path(path).suffix.lower() == ARCHIVE:
        from usmp.runtime import load_archive

        archive = load_archive(path)
        return {
            name: _planned(path, name, module.metadata, archive)
            for name, module in archive.modules.items()
        }
    return _read_json(path)


def _planned(
    path: str, name: str, metadata: Mapping[str, Any], archive: Archive | None = None
) -> PlannedModule:
    """Return a module of metadata.json, after checks of the values that are compared."""
    from usmp.report.read_map_data import map_of_metadata
    from usmp.report.title import title_of

    operators = _operators(path, name, metadata)
    try:
        drawn = map_of_metadata(metadata)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    origins = [operator.label for operator in drawn.operators] if drawn.model_operators else []
    return PlannedModule(
        metadata["memory"],
        operators,
        archive,
        title_of(metadata),
        origins,
        _shared_code(path, name, metadata),
    )


def _shared_code(path: str, name: str, metadata: Mapping[str, Any]) -> str | None:
    """Check and return the kind of shared code; None if no operators share code."""
    from usmp.runtime.archived.read_metadata import DamagedMetadata, read_value

    if "shared_code" not in metadata:
        return None
    try:
        where = f'module "{shown(name)}"'
        kind: str = read_value(metadata, "shared_code", lambda v: v in (BALANCED, SMALL), where)
    except DamagedMetadata as error:
        raise UsageError(f"{path}: {error}") from error
    return kind


def _read_json(path: str) -> dict[str, PlannedModule]:
    from usmp.runtime.archive import read_modules
    from usmp.runtime.archived.read_metadata import DamagedMetadata, parse_metadata
    from usmp.runtime.archived.read_tar import ArchiveError

    content = _content(path)
    try:
        document = parse_metadata(content)
        if isinstance(document, dict) and "pools" in document and "functions" in document:
            return {"": PlannedModule(_checked_memory(document))}
        if not isinstance(document, dict) or "modules" not in document:
            raise UsageError(
                f"{path}: neither the JSON of tvmc plan nor metadata.json of an archive: it has "
                'no "pools" and no "modules"'
            )
        return {
            name: _planned(path, name, module.metadata)
            for name, module in read_modules(document).items()
        }
    except (DamagedMetadata, ArchiveError) as error:
        raise UsageError(f"{path}: {shown(error, 1000)}") from error


def _content(path: str) -> bytes:
    """Return the bytes of a file or pipe, cut one byte beyond the size limit of metadata."""
    from usmp.runtime.archived.read_metadata import LARGEST_METADATA_BYTES

    try:
        with open(path, "rb") as file:
            return file.read(LARGEST_METADATA_BYTES + 1)
    except OSError as error:
        raise file_error(error, path) from error


def _checked_memory(memory: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check the members of a plan that are compared, and return the plan."""
    from usmp.runtime.archived.entry import check_peaks
    from usmp.runtime.archived.module import check_ram
    from usmp.runtime.archived.pool import read_pool
    from usmp.runtime.archived.read_metadata import is_count, is_list_of, is_text, read_value

    where = "the plan"
    is_object = is_list_of(lambda value: isinstance(value, dict))
    functions = read_value(memory, "functions", lambda value: isinstance(value, dict), where)
    mains = read_value(functions, "main", is_object, where)
    for main in mains:
        read_value({"entry": "main", **main}, "entry", is_text, f"an entry of {where}")
        for key in ("workspace_size_bytes", "io_size_bytes", "state_size_bytes"):
            read_value(main, key, is_count, f"an entry of {where}")
        if len(mains) > 1:
            check_peaks(main, f"an entry of {where}")
    entries = [main.get("entry", "main") for main in mains]
    for pool in read_value(memory, "pools", is_object, where):
        read_pool(pool, entries, where)
    check_ram(memory, where)
    return memory


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _operators(path: str, name: str, metadata: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Check and return the operators in the metadata, or None for an earlier archive."""
    from usmp.runtime.archived.read_metadata import (
        DamagedMetadata,
        is_count,
        is_list_of,
        is_text,
        read_value,
    )

    if "operators" not in metadata:
        return None
    is_object = is_list_of(lambda value: isinstance(value, dict))
    where = f'an operator of module "{shown(name)}"'
    try:
        operators: list[dict[str, Any]] = read_value(metadata, "operators", is_object, where)
        for operator in operators:
            read_value(operator, "entry", is_text, where)
            read_value(operator, "functions", is_list_of(is_text), where)
            read_value({"label": "", **operator}, "label", is_text, where)
            for key in operator.keys() & {"macs", "weights_size_bytes"}:
                read_value(operator, key, is_count, where)
            if "buffers" in operator:
                written = {"written": [], **_mapping(operator["buffers"])}
                read_value(written, "written", is_list_of(is_text), where)
            for schedule in read_value(
                {"schedules": [], **operator}, "schedules", is_object, where
            ):
                if "instructions" in schedule:
                    read_value(schedule, "instructions", is_count, where)
    except DamagedMetadata as error:
        raise UsageError(f"{path}: {error}") from error
    return operators


def matching_modules(
    before: Plans, after: Plans, name: str | None
) -> list[tuple[str, PlannedModule, str, PlannedModule]]:
    """Return the pairs of modules to compare: by name, or the single module of each file.

    Parameters
    ----------
    name
        the only module to compare; all by default.

    Raises
    ------
    UsageError
        the module is unknown, or the files have no common name.
    """
    if name is None and len(before) == len(after) == 1:
        [(old_name, old_module)], [(new_name, new_module)] = before.items(), after.items()
        return [(old_name, old_module, new_name, new_module)]
    names = [key for key in after if key in before] if name is None else [name]
    for side, plans in (("before", before), ("after", after)):
        if not names or names[0] not in plans:
            fault = f'has no module "{shown(name)}"' if name else "shares no module with the other"
            known = [key for key in plans if key]
            raise UsageError(unknown_name(f"the build {side} {fault}", name, known, "Its modules"))
    return [(key, before[key], key, after[key]) for key in names]
