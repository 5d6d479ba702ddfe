"""Damaged copies of TFLite files: of their bytes, and of single fields of their tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import tflite

from conftest import ROOT, SHARED
from support.byte_mutations import mutated_bytes
from support.quantized_models import CATALOG
from support.tflite_field_mutations import FIELD_MUTATIONS
from support.tflite_tables import with_schema

LARGEST_MODEL = 400_000


@dataclass(frozen=True)
class Mutant:
    """A damaged copy.

    Parameters
    ----------
    what
        the file that it is a copy of, and what was changed.
    """

    content: bytes
    what: str


@cache
def small_models() -> dict[str, Callable[[], bytes]]:
    """The catalog of small models, by name."""
    return {model.name: model.make for model in CATALOG}


@cache
def real_models() -> dict[str, Callable[[], bytes]]:
    """The example, and the models that lie beside the checkout; none of them need be there."""
    paths = [ROOT / "examples/digits/digits_int8.tflite", *SHARED.glob("models/*.tflite")]
    small = sorted(path for path in paths if path.stat().st_size <= LARGEST_MODEL)
    return {path.stem: Path.read_bytes.__get__(path) for path in small}


def draw_mutant(seed: int, of_real: float = 0.05) -> Mutant:
    """The mutant of a seed.

    Parameters
    ----------
    of_real
        how often it is one of a real model.
    """
    generator = Random(seed)
    models = real_models() if generator.random() < of_real else small_models()
    name = generator.choice(sorted(models))
    content = models[name]()
    if generator.random() < 0.25:
        return Mutant(mutated_bytes(content, structure_of(content), generator), f"{name}: bytes")
    damaged, what = mutated_fields(content, generator)
    return Mutant(damaged, f"{name}: {what}")


def structure_of(content: bytes) -> list[int]:
    """The positions of bytes outside large constants: those on which everything else depends."""
    model = tflite.Model.GetRootAsModel(content, 0)
    weights: set[int] = set()
    for index in range(model.BuffersLength()):
        buffer = model.Buffers(index)
        if buffer.DataLength() > 64:
            start = buffer._tab.Vector(buffer._tab.Offset(4))
            weights.update(range(start, start + buffer.DataLength()))
    return [position for position in range(len(content)) if position not in weights]


def mutated_fields(content: bytes, generator: Random) -> tuple[bytes, str]:
    """One to three fields of the tables are other ones; and which."""
    changes: list[str] = []

    def mutate(model: Any) -> None:
        for _ in range(generator.choice([1, 1, 1, 2, 3])):
            mutation = generator.choice(FIELD_MUTATIONS)
            changes.append(f"{mutation.__name__}({mutation(model, generator)})")

    damaged = with_schema(content, mutate)
    return damaged, "; ".join(changes)
