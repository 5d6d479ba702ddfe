"""Print the C file of a self test, with the inputs and outputs of known runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from usmp.codegen.c.literals import element_literals
from usmp.codegen.c.text import comment_text, quoted
from usmp.codegen.c.types import c_type
from usmp.device.golden_runs import GoldenRun
from usmp.runtime.archived.module import ArchivedModule

_LINE = 100
_EXACT = "usmp_equals_exactly"
_COMPARISONS = {
    "float16": "usmp_equals_float16",
    "float32": "usmp_equals_float32",
    "float64": "usmp_equals_float64",
}


def print_self_test(module: ArchivedModule, runs: Sequence[GoldenRun]) -> str:
    """Return the arrays of all runs, and the function that repeats and compares the runs."""
    prefix, numbers = module.c_prefix, list(module.entries)
    arrays = [text for number, run in enumerate(runs) for text in _arrays(number, run)]
    rows = [
        f"    {{{numbers.index(run.entry)}, sizes_{number}, inputs_{number}, outputs_{number}}},"
        for number, run in enumerate(runs)
    ]
    return "\n".join(
        [
            *_contents(prefix, runs),
            '#include "usmp_self_test.h"\n',
            "#include <math.h>\n",
            f'#include "{prefix}_device.h"\n',
            *arrays,
            "static const struct usmp_golden_run runs[] = {",
            *rows,
            "};\n",
            f"int32_t {prefix}_self_test(void) {{",
            f"  return usmp_self_test(&{prefix}_device, runs, {len(runs)});",
            "}\n",
        ]
    )


def _contents(prefix: str, runs: Sequence[GoldenRun]) -> Iterator[str]:
    """Yield a comment about the meaning of each return value of the self test."""
    yield f"/* {prefix}_self_test() returns 0 if all of these are as expected, or else"
    output = 0
    for number, run in enumerate(runs, 1):
        sizes = "".join(f", {comment_text(name)}={value}" for name, value in run.sizes.items())
        entry = comment_text(quoted(run.entry))
        yield f" *\n *   -{number} if run {number}, of entry {entry}{sizes}, fails"
        for name in run.outputs:
            output += 1
            yield f" *   {output} if its output {comment_text(quoted(name))} is another one"
    yield " */"


def _arrays(number: int, run: GoldenRun) -> Iterator[str]:
    """Yield the arrays of a run, and tables of these arrays."""
    values = ", ".join(map(str, run.sizes.values())) or "0"
    yield f"static const int32_t sizes_{number}[] = {{{values}}};\n"
    for what, tensors in (("input", run.inputs), ("output", run.outputs)):
        yield from _tensors(f"{what}s_{number}", tensors)


def _tensors(name: str, tensors: Mapping[str, np.ndarray]) -> Iterator[str]:
    rows = []
    for index, (tensor, array) in enumerate(tensors.items()):
        yield f"/* {comment_text(quoted(tensor))} */\n{_array(f'{name}_{index}', array)}"
        comparison = _COMPARISONS.get(str(array.dtype), _EXACT)
        rows.append(f"    {{{name}_{index}, {array.nbytes}, {comparison}}},")
    rows = rows or [f"    {{0, 0, {_EXACT}}},"]
    yield "\n".join([f"static const struct usmp_golden_tensor {name}[] = {{", *rows, "};\n"])


def _array(name: str, array: np.ndarray) -> str:
    """Return a constant array of a tensor's elements, with a 0 if empty, because C requires one."""
    dtype = str(array.dtype)
    if dtype == "float16":
        literals = [str(bits) for bits in array.ravel().view(np.uint16).tolist()]
    else:
        literals = element_literals(array, dtype)
    lines, line = [], "  "
    for literal in literals or ["0"]:
        if len(line) + len(literal) + 2 > _LINE:
            lines.append(line.rstrip())
            line = "  "
        line += f"{literal}, "
    lines.append(line.rstrip())
    return "\n".join([f"static const {c_type(dtype)} {name}[] = {{", *lines, "};\n"])
