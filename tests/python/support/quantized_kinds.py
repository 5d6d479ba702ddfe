"""Kinds of models of the catalog, and samples of each kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache

import tflite

from support.levels import sample
from support.quantized_models import QuantizedModel

Kind = tuple[tuple[int, ...], int, tuple[int, ...]]


@cache
def kind(model: QuantizedModel) -> Kind:
    """What models have in common that differ in numbers and options: operators, the number of
    subgraphs, and types of tensors."""
    content = tflite.Model.GetRootAsModel(model.make(), 0)
    graph = content.Subgraphs(0)
    operators = [graph.Operators(i).OpcodeIndex() for i in range(graph.OperatorsLength())]
    return (
        tuple(content.OperatorCodes(index).BuiltinCode() for index in operators),
        content.SubgraphsLength(),
        tuple(graph.Tensors(i).Type() for i in range(graph.TensorsLength())),
    )


def by_kind(models: Iterable[QuantizedModel]) -> dict[Kind, list[QuantizedModel]]:
    """Some models of each kind; all in a long run."""
    kinds = defaultdict(list)
    for model in models:
        kinds[kind(model)].append(model)
    return {of: sample(alike, 1 + len(alike) // 20) for of, alike in kinds.items()}


def of_each_kind(models: Iterable[QuantizedModel]) -> list[QuantizedModel]:
    """The same, one after the other."""
    return [model for alike in by_kind(models).values() for model in alike]
