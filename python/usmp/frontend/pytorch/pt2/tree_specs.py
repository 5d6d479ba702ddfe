"""Check of the nesting of a program's inputs and outputs.

A `defaultdict`, or an enumeration as a key, would name a module that PyTorch imports.
"""

from __future__ import annotations

import json
from typing import Any

from usmp.frontend.pytorch.pt2.json_checks import integer, list_of, record, refused
from usmp.support.errors import UnsupportedModelError

_SEQUENCES = ("builtins.tuple", "builtins.list")
_MAPPINGS = ("builtins.dict", "collections.OrderedDict")


def tree_spec(value: Any, where: str) -> str:
    """Return new JSON for a nesting of tuples, lists and dictionaries.

    Raises
    ------
    NotAllowedError
        the nesting has another kind of object.
    """
    if not isinstance(value, str):
        raise refused(value, where, "not text")
    try:
        protocol, tree = json.loads(value)
    except (ValueError, TypeError):
        raise refused(value, where, "not a nesting of inputs or outputs") from None
    return json.dumps([integer(protocol, where), _tree(tree, where)])


def _tree(value: Any, where: str) -> dict[str, Any]:
    fields: dict[str, Any] = record(
        {
            "type": lambda kind, _: kind,
            "context": lambda context, _: context,
            "children_spec": list_of(_tree),
        }
    )(value, where)
    kind, context = fields.get("type"), fields.get("context")
    if kind is not None and kind not in (*_SEQUENCES, *_MAPPINGS):
        raise UnsupportedModelError(
            f"an input or output is nested in {kind!r}; export a model that takes and returns "
            "tensors, tuples, lists and dictionaries"
        )
    fields["context"] = json.dumps(_keys(context, where)) if kind in _MAPPINGS else None
    if kind in _SEQUENCES:
        fields["context"] = "null"
    return fields


def _keys(context: Any, where: str) -> list[str | int]:
    try:
        keys = json.loads(context)
    except (ValueError, TypeError):
        keys = None
    if not isinstance(keys, list) or not all(isinstance(key, str | int) for key in keys):
        raise refused(context, where, "not a list of keys")
    return keys
