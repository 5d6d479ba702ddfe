"""The bytes that workspace pools need at given sizes, where offsets are computed from these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.ir import IRModule

from usmp.objects.attributes import WORKSPACE_SIZE_FUNCTIONS_ATTR
from usmp.objects.extent import size_expression
from usmp.plain.size_expression import SizeExpression, computed_text


@dataclass(frozen=True)
class WorkspaceSize:
    """What a workspace pool needs.

    Parameters
    ----------
    pool
        its name.
    function
        the PrimFunc that takes the sizes of the only entry and returns the bytes.
    values
        names and values of what is computed first, each of the sizes and of those before.
    bytes
        what it needs, an expression of the sizes and of these.
    """

    pool: str
    function: str
    values: list[tuple[str, SizeExpression]]
    bytes: SizeExpression

    def as_json(self) -> dict[str, Any]:
        """What archives say of it."""
        return {
            "pool": self.pool,
            "values": [[name, value] for name, value in self.values],
            "bytes": self.bytes,
            "text": self.text,
        }

    @property
    def text(self) -> str:
        """The expression as a person reads it."""
        return computed_text(self.values, self.bytes)


def workspace_sizes(mod: IRModule) -> list[WorkspaceSize]:
    """Those of a planned module, by name of the pool; none if offsets are constants."""
    functions = WORKSPACE_SIZE_FUNCTIONS_ATTR.of(mod) or {}
    found = []
    for pool, name in sorted((str(pool), str(name)) for pool, name in functions.items()):
        *binds, last = tirx.stmt_list(mod[name].body)
        assert isinstance(last, tirx.Return)
        values = [(str(stmt.var.name), size_expression(stmt.value)) for stmt in binds]
        found.append(WorkspaceSize(pool, name, values, size_expression(last.value)))
    return found
