"""Write the table of attributes in CONTRIBUTING.md: meaning, writers and readers of each.

The lines between the comments `<!-- attributes -->` and `<!-- end -->` are replaced.

    python scripts/write_attributes.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import usmp.aot_pipeline
import usmp.vm_pipeline  # noqa: F401  for its passes
from usmp import outside_passes
from usmp.objects import schedule
from usmp.objects.attributes import annotations, compared, operator_attributes
from usmp.objects.attributes import module_attributes as attributes
from usmp.objects.attributes.attribute import Attribute, AttributeAccess
from usmp.ops import control_flow, emit
from usmp.ops.records import attributes as records
from usmp.passes import ModulePass
from usmp.planning.attribute_access import PLANNING, SEARCHING
from usmp.planning.search.stage import stage_classes
from usmp.relax.storage import storage_plan

PAGE = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"

_TABLE = re.compile(r"(<!-- attributes -->\n).*?(<!-- end -->)", re.DOTALL)

_HOMES = (
    *(
        attributes,
        annotations,
        operator_attributes,
        schedule,
        compared,
        control_flow,
        records,
        emit,
    ),
    storage_plan,
)


def all_attributes() -> list[Attribute]:
    """Return all attributes, those of modules and functions first."""
    values = [value for home in _HOMES for value in vars(home).values()]
    return list(dict.fromkeys(value for value in values if isinstance(value, Attribute)))


def accesses() -> dict[str, AttributeAccess]:
    """Return the readers and writers of attributes, by name: outside code, passes and stages."""
    outside = [
        value for value in vars(outside_passes).values() if isinstance(value, AttributeAccess)
    ]
    passes: dict[str, AttributeAccess] = {}
    for cls in filter(_is_of_product, ModulePass.__subclasses__()):
        passes[cls.__name__] = AttributeAccess(cls.__name__, cls.reads, cls.writes, cls.uses)
    for stage in stage_classes():
        name = stage.pass_name.removeprefix("usmp.")
        known = passes.get(name, AttributeAccess(name))
        passes[name] = _joined(known, stage.reads, stage.writes)
    first = {access.name: access for access in [*outside, PLANNING, SEARCHING]}
    return first | dict(sorted(passes.items()))


def _is_of_product(cls: type) -> bool:
    """Return whether a class is part of `usmp`, and not of a test."""
    return cls.__module__.startswith("usmp.")


def _joined(
    access: AttributeAccess, reads: Sequence[Attribute], writes: Sequence[Attribute]
) -> AttributeAccess:
    """Return the accesses of a pass and a stage with one name."""
    return replace(
        access,
        reads=tuple(dict.fromkeys([*access.reads, *reads])),
        writes=tuple(dict.fromkeys([*access.writes, *writes])),
        uses=tuple(dict.fromkeys([*access.uses, SEARCHING])),
    )


def reached(access: AttributeAccess) -> Iterator[AttributeAccess]:
    """Yield an access, and the accesses that it uses, recursively."""
    yield access
    for used in access.uses:
        yield from reached(used)


def with_table(page: str) -> str:
    """Return the text of the page with the table that the code declares."""
    return _TABLE.sub(lambda match: match[1] + "\n".join([*_lines(), ""]) + match[2], page)


def _lines() -> Iterator[str]:
    yield "| attribute | on | meaning | written by | read by |"
    yield "|---|---|---|---|---|"
    known = accesses().values()
    for attribute in all_attributes():
        writers = ", ".join(access.name for access in known if attribute in access.writes)
        readers = ", ".join(access.name for access in known if attribute in access.reads)
        meaning, *_ = attribute.meaning.split(". ")
        cells = (f"`{attribute.name}`", attribute.holder, meaning, writers, readers)
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
