"""The bytes that workspace pools need for given symbolic sizes, from which offsets are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import WORKSPACE_SIZE_FUNCTIONS_ATTR
from usmp.objects.extent import size_expression
from usmp.plain.size_expression import SizeExpression, computed_text


@dataclass(frozen=True)
class WorkspaceSize:
    """The required size of a workspace pool as a function of symbolic sizes.

    Parameters
    ----------
    pool
        name of the pool.
    function
        name of the PrimFunc that takes the sizes of the only entry and returns the bytes.
    values
        name and expression of intermediate values, which depend on the sizes and earlier values.
    bytes
        required bytes, an expression of the sizes and the intermediate values.
    """

    pool: str
    function: str
    values: list[tuple[str, SizeExpression]]
    bytes: SizeExpression

    def as_json(self) -> dict[str, Any]:
        """Return the size as JSON for metadata.json."""
        return {
            "pool": self.pool,
            "values": [[name, value] for name, value in self.values],
            "bytes": self.bytes,
            "text": self.text,
        }

    @property
    def text(self) -> str:
        """The expression in readable form."""
        return computed_text(self.values, self.bytes)


def workspace_sizes(mod: IRModule) -> list[WorkspaceSize]:
    """Return the sizes of a planned module, sorted by pool; none if offsets are constants."""
    functions = WORKSPACE_SIZE_FUNCTIONS_ATTR.of(mod) or {}
    sizes = []
    for pool, name in sorted((str(pool), str(name)) for pool, name in functions.items()):
        *binds, last = tirx.stmt_list(mod[name].body)
        assert isinstance(last, tirx.Return)
        values = [(str(stmt.var.name), size_expression(stmt.value)) for stmt in binds]
        sizes.append(WorkspaceSize(pool, name, values, size_expression(last.value)))
    return sizes
