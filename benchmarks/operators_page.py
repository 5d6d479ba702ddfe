"""Write docs/operators.md: every operator that a front end supports, with its element types.

The operators are those in the registries of the front ends. The types are those of random models,
drawn as in `benchmarks/operators.py`, that were compiled, run and compared with another runtime.
With --missing, operators on the page are kept.

    python benchmarks/operators_page.py [--seeds N] [--missing] [onnx|tflite|pytorch [OPERATOR ...]]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.operator_trials.sweep import FRONT_ENDS, operators
from support.operator_trials.types import Types, compared_types
from support.operators_page import PAGE, rows_of_page, write_page


def compare(front_end: str, operator: str, seeds: int) -> Types | None:
    """Return the types of an operator; None if a model of it is wrong, or none was compared."""
    try:
        types = compared_types(front_end, operator, seeds)
    except ValueError as error:
        print(error, file=sys.stderr)
        return None
    if not types.outputs:
        print(f"{front_end} {operator}: no model of it was compared", file=sys.stderr)
        return None
    print(front_end, operator, *sorted(types.inputs), "->", *sorted(types.outputs), flush=True)
    return types


def main() -> None:
    """Write the page after each operator."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("front_end", nargs="?", choices=FRONT_ENDS)
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="all if none is named")
    parser.add_argument("--seeds", type=int, default=100, metavar="N", help="models drawn of each")
    parser.add_argument("--missing", action="store_true", help="only what the page does not have")
    arguments = parser.parse_args()
    rows = rows_of_page(PAGE.read_text())
    is_whole = True
    for front_end in [arguments.front_end] if arguments.front_end else FRONT_ENDS:
        known = operators(front_end)
        kept = {name: types for name, types in rows[front_end].items() if name in known}
        rows[front_end] = kept
        for operator in arguments.operators or known:
            if arguments.missing and operator in kept:
                continue
            types = compare(front_end, operator, arguments.seeds)
            is_whole = is_whole and types is not None
            kept.pop(operator, None)
            if types is not None:
                kept[operator] = types
            PAGE.write_text(write_page(rows))
    PAGE.write_text(write_page(rows))
    sys.exit(0 if is_whole else 1)


if __name__ == "__main__":
    main()
