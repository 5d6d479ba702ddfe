"""A sweep as JSON, which later runs continue and other programs read (docs/explore.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from usmp.exploration.pareto import compared_costs
from usmp.exploration.result import FAILED, Result
from usmp.exploration.sweep import InputFile, Row, Sweep
from usmp.support.text.plain_text import shown
from usmp.support.text.strict_json import DamagedJSON, parse_json

SCHEMA = "usmp-exploration"

SCHEMA_VERSION = 1
"""The version changes when a key is removed or changes its meaning; keys may be added."""

_LARGEST_BYTES = 256 << 20


class OtherSweep(ValueError):
    """The error of a file that this sweep cannot continue; the message has the reason."""


def document(sweep: Sweep) -> dict[str, Any]:
    """Return a sweep and its present results as plain data."""
    rows = sweep.rows()
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "usmp_version": sweep.version,
        "inputs": [vars(file) for file in sweep.inputs],
        "max_ram_bytes": sweep.max_ram_bytes,
        "max_flash_bytes": sweep.max_flash_bytes,
        "complete": not sweep.remaining,
        "compared": compared_costs([row.result for row in rows]),
        "configurations": [_row(row) for row in rows],
    }


def sweep_json(sweep: Sweep) -> str:
    """Return the document of a sweep as JSON text."""
    return json.dumps(document(sweep), indent=2) + "\n"


def _row(row: Row) -> dict[str, Any]:
    configuration = row.configuration
    return {
        "number": row.number,
        "name": configuration.name,
        "options": dict(configuration.options),
        "duplicates": list(configuration.duplicates),
        "arguments": list(configuration.arguments),
        "command": configuration.command,
        "status": row.status,
        "is_best": row.verdict.is_best,
        "is_within_limits": row.verdict.is_within_limits,
        "dominated_by": row.dominated_by,
        "same_as": row.same_as,
        **row.result.as_json(),
    }


def take_results(sweep: Sweep, path: str | Path) -> int:
    """Add all results but failures from the file of an earlier run; return how many were added.

    Raises
    ------
    OtherSweep
        the file is damaged, or of another model, version or sweep; the file is not changed.
    OSError
        the file cannot be read.
    """
    try:
        content = parse_json(Path(path).read_bytes(), _LARGEST_BYTES)
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            raise DamagedJSON(f'it has no "schema" that is "{SCHEMA}"')
        _check_versions(sweep, content, path)
        inputs = [InputFile(str(f["name"]), str(f["sha256"])) for f in content["inputs"]]
        results = {
            tuple(map(str, row["arguments"])): Result.from_json(row)
            for row in content["configurations"]
        }
    except (DamagedJSON, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, error) from error
    except OtherSweep:
        raise
    except ValueError as error:
        raise _damaged(path, error) from error
    _check_inputs(sweep, inputs, path)
    known = {configuration.arguments for configuration in sweep.configurations}
    for arguments in results:
        if arguments not in known:
            raise OtherSweep(
                f"{path} has a configuration that this sweep lacks "
                f"({shown(' '.join(arguments)) or 'no options'}), and would lose it; give the "
                "options that it was made with, more of them if you like, or name another file"
            )
    kept = {arguments: r for arguments, r in results.items() if r.outcome != FAILED}
    sweep.results.update(kept)
    return len(kept)


def _damaged(path: str | Path, error: Exception) -> OtherSweep:
    why = str(error) if isinstance(error, ValueError) else "something is missing in it"
    return OtherSweep(
        f"{path} is not the file of a sweep, or damaged: {shown(why)}; delete it, or name another "
        "file"
    )


def _check_versions(sweep: Sweep, content: dict[str, Any], path: str | Path) -> None:
    for key, wanted in (("schema_version", SCHEMA_VERSION), ("usmp_version", sweep.version)):
        if content.get(key) != wanted:
            raise OtherSweep(
                f"{path} was made with {key} {shown(content.get(key))}, and this is {wanted}, "
                "which may give other results; name another file, or delete it to begin anew"
            )


def _check_inputs(sweep: Sweep, inputs: list[InputFile], path: str | Path) -> None:
    if [file.sha256 for file in inputs] != [file.sha256 for file in sweep.inputs]:
        theirs = ", ".join(f"{shown(f.name)} ({shown(f.sha256[:8])})" for f in inputs)
        ours = ", ".join(f"{shown(f.name)} ({f.sha256[:8]})" for f in sweep.inputs)
        raise OtherSweep(
            f"{path} is of other files: {theirs}, not {ours} (the beginning of their SHA-256); "
            "name another file, or delete it to begin anew"
        )
