"""Check the operators of a module and of its model file in metadata.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from usmp.runtime.archived.read_metadata import (
    DamagedMetadata,
    is_count,
    is_list_of,
    is_text,
    read_value,
)

_OF_MEMORY = ("start", "stop", "live_bytes", "weights_size_bytes", "buffers")
"""Keys about the memory of an operator, which earlier archives all lack."""


def check_operators(metadata: Mapping[str, Any], where: str) -> None:
    """Check the operators, if there are any.

    Raises
    ------
    DamagedMetadata
        a value is missing, has the wrong type, or refers to an unknown operator or buffer.
    """
    _check_functions(metadata["memory"], where)
    if "operators" not in metadata:
        return
    table = []
    if "model_operators" in metadata:
        table = read_value(metadata, "model_operators", is_list_of(_is_object), where)
    for number, operator in enumerate(table):
        _check_model_operator(operator, f"operator {number} of the model of {where}")
    operators = read_value(metadata, "operators", is_list_of(_is_object), where)
    pools = metadata["memory"]["pools"]
    buffers = {buffer["name"] for pool in pools for buffer in pool["buffers"]}
    for number, operator in enumerate(operators):
        subject = f"operator {number} of {where}"
        _check_described(operator, subject)
        if "model_operators" in operator:
            read_value(operator, "model_operators", is_list_of(_is_below(len(table))), subject)
        if any(key in operator for key in _OF_MEMORY):
            _check_memory(operator, buffers, subject)
    for pool in pools:
        if "peak_operator" in pool:
            read_value(pool, "peak_operator", _is_below(len(operators)), f"a pool of {where}")


def _check_functions(memory: Mapping[str, Any], where: str) -> None:
    """Check the names of the PrimFuncs that allocate, and the numbers about streaming, if any."""
    functions = memory["functions"]
    for function in read_value(functions, "operator_functions", is_list_of(_is_object), where):
        read_value(function, "function_name", is_text, where)
    if "streaming" in memory:
        streaming = read_value(memory, "streaming", _is_object, where)
        for key in streaming:
            read_value(streaming, key, is_count, where)


def _check_model_operator(operator: Mapping[str, Any], where: str) -> None:
    read_value(operator, "entry", is_text, where)
    read_value(operator, "index", is_count, where)
    read_value(operator, "type", is_text, where)
    read_value(operator, "inputs", is_list_of(is_text), where)
    for key, is_valid in (("name", is_text), ("graph", is_count)):
        if key in operator:
            read_value(operator, key, is_valid, where)
    for tensor in read_value(operator, "outputs", is_list_of(_is_object), where):
        read_value(tensor, "name", is_text, where)
        _check_tensor(tensor, where)


def _check_described(operator: Mapping[str, Any], where: str) -> None:
    read_value(operator, "entry", is_text, where)
    read_value(operator, "functions", is_list_of(is_text), where)
    read_value({"label": "", **operator}, "label", is_text, where)
    read_value({"accelerators": [], **operator}, "accelerators", is_list_of(is_text), where)
    for step in read_value(operator, "steps", is_list_of(_is_object), where):
        read_value(step, "kind", is_text, where)
    if "macs" in operator:
        read_value(operator, "macs", is_count, where)
    for key in ("inputs", "outputs"):
        for tensor in read_value(operator, key, is_list_of(_is_object), where):
            _check_tensor(tensor, where)


def _check_memory(operator: Mapping[str, Any], buffers: set[str], where: str) -> None:
    start = read_value(operator, "start", is_count, where)
    if read_value(operator, "stop", is_count, where) < start:
        raise DamagedMetadata(f'{where} has no valid "stop"')
    live = read_value(operator, "live_bytes", _is_object, where)
    if not all(map(is_count, live.values())):
        raise DamagedMetadata(f'{where} has no valid "live_bytes"')
    read_value(operator, "weights_size_bytes", is_count, where)
    used = read_value(operator, "buffers", _is_object, where)
    for key in ("read", "written"):
        if not buffers.issuperset(read_value(used, key, is_list_of(is_text), where)):
            raise DamagedMetadata(f'{where} has no valid "buffers"')


def _check_tensor(tensor: Mapping[str, Any], where: str) -> None:
    read_value(tensor, "dtype", is_text, where)
    read_value(tensor, "shape", is_list_of(lambda e: is_count(e) or is_text(e)), where)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_below(count: int) -> Any:
    return lambda value: is_count(value) and value < count
