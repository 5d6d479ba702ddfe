"""Removal of attributes that ONNX operators do not have in the opset of a model."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any

import onnx

from usmp.frontend.onnx.graph.nodes import all_nodes, described_node, is_of_onnx, schema_of
from usmp.frontend.onnx.graph.opsets import opset_version
from usmp.support.errors import UnsupportedModelError
from usmp.support.model_warning import ModelWarning
from usmp.support.text.plain_text import shown

_WITHOUT_EFFECT = frozenset(
    {"consumed_inputs", "is_test", "output_sequence", ("Dropout", "ratio"), ("Dropout", "seed")}
)
"""Attributes without effect on inference: of all operators, or (operator, attribute)."""


def leave_out_unknown_attributes(model: onnx.ModelProto) -> None:
    """Remove the attributes that an operator does not have in the model's opset, with a warning.

    Raises
    ------
    UnsupportedModelError
        the operator has the attribute in another opset, so that removing it would change the
        model's results. The message names these opsets.
    """
    version = opset_version(model)
    for node in all_nodes(model.graph):
        schema = schema_of(node.op_type, version) if is_of_onnx(node) else None
        if schema is None:
            continue
        unknown = [a for a in node.attribute if a.name not in schema.attributes]
        if not unknown:
            continue
        for attribute in unknown:
            _check_has_no_effect(node, attribute, version)
        names = ", ".join(f'"{shown(attribute.name)}"' for attribute in unknown)
        output = shown(next(iter(node.output), ""))
        warnings.warn(
            f'operator {node.op_type} (output "{output}") has no attribute {names} in opset '
            f"{version} of ONNX; it is left out",
            ModelWarning,
            stacklevel=3,
        )
        kept = [attribute for attribute in node.attribute if attribute.name in schema.attributes]
        del node.attribute[:]
        node.attribute.extend(kept)


def _check_has_no_effect(
    node: onnx.NodeProto, attribute: onnx.AttributeProto, version: int
) -> None:
    name = attribute.name
    if not _WITHOUT_EFFECT.isdisjoint({name, (node.op_type, name)}):
        return
    schemas = _schemas(node.op_type)
    having = [index for index, schema in enumerate(schemas) if name in schema.attributes]
    if not having or _is_default(attribute, schemas[having[-1]].attributes[name]):
        return
    later = [schemas[index].since_version for index in having if _is_after(schemas[index], version)]
    if later:
        where, instead = f"since opset {later[0]}", f"opset {later[0]} or newer"
    else:
        last = schemas[having[-1] + 1].since_version - 1
        where, instead = f"up to opset {last}", f"opset {last} or older"
    raise UnsupportedModelError(
        f'{described_node(node)} is not supported: it has the attribute "{shown(name)}" {where}, '
        f"and the model uses opset {version}; export it with {instead}"
    )


def _is_after(schema: onnx.defs.OpSchema, version: int) -> bool:
    return bool(schema.since_version > version)


def _is_default(attribute: onnx.AttributeProto, definition: Any) -> bool:
    """Return whether the attribute has its default value, so that removing it has no effect."""
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.name == "dilations":
        return all(step == 1 for step in value)
    default = definition.default_value
    return bool(default.name) and value == onnx.helper.get_attribute_value(default)


def _schemas(operator: str) -> Sequence[onnx.defs.OpSchema]:
    """Return the versions of an operator of ONNX, the oldest first."""
    return _all_schemas().get(operator, [])


@cache
def _all_schemas() -> dict[str, list[onnx.defs.OpSchema]]:
    schemas = defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain:
            schemas[schema.name].append(schema)
    return {
        name: sorted(versions, key=lambda schema: int(schema.since_version))
        for name, versions in schemas.items()
    }
