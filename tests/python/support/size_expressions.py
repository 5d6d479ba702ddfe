"""Random extents that depend on symbolic sizes."""

from __future__ import annotations

from random import Random

from usmp.plain.size_expression import OPERATORS, SizeExpression

BOUNDS = {"a": (1, 6), "b": (2, 5)}


def random_expression(random: Random, depth: int) -> SizeExpression:
    """An expression of the sizes `a` and `b`, with so many operators inside of each other."""
    if depth == 0 or random.random() < 0.2:
        return random.choice(["a", "b", random.randint(-4, 9)])
    operator = random.choice(list(OPERATORS))
    left = random_expression(random, depth - 1)
    if operator in ("//", "%"):
        return [operator, left, random.randint(1, 5)]
    return [operator, left, random_expression(random, depth - 1)]
