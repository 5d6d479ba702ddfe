"""Random expressions: the emitted C computes what numpy computes for the same TIR, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import IRModule

from support.avr import run_on_avr
from support.tir_expressions import (
    BUFFERS,
    INDEX,
    INTEGERS,
    check_random_expressions,
    computation_of,
    few_seeds,
    random_expressions,
)

pytestmark = pytest.mark.slow


@few_seeds
def test_random_expressions(seed, load_functions):
    # Random expressions are often always true, of which compilers warn.
    check_random_expressions(seed, lambda func: load_functions(func, "-O1", "-w"))


def choice(dtype, yes, no, than=0):
    """One of two constants, which C has as `int`."""
    condition = BUFFERS["int16"][INDEX] > tirx.IntImm("int16", than)
    return tirx.Select(condition, tirx.IntImm(dtype, yes), tirx.IntImm(dtype, no))


def of_constants():
    """Operations of constants that TVM does not fold, and that have no 16 bits."""
    count = BUFFERS["uint8"][INDEX] & tirx.IntImm("uint8", 31)
    ones = choice("uint32", 5, 65535)
    return [
        choice("int32", 30000, 7) + choice("int32", 30000, -7, 99),
        choice("int32", -30000, 7) - choice("int32", 30000, 7, 99),
        choice("int32", 300, -7) * choice("int32", 300, 7, 99),
        choice("int32", 30000, -30000) >> tirx.Cast("int32", count),
        choice("int32", 30000, -7) << tirx.Cast("int32", count),
        ones << tirx.Cast("uint32", count),
        ones >> tirx.Cast("uint32", count),
        choice("uint32", 0, 1) - ones,
        (ones | choice("uint32", 3, 4)) * ones,
        ~ones,
    ]


@pytest.mark.board
def test_expressions_where_int_has_16_bits(print_source, tmp_path):
    """Many functions in one program, each with inputs of its own."""
    drawn = [random_expressions(seed, [*INTEGERS, "bool"]) for seed in range(16)]
    computed = [computation_of(exprs, seed) for seed, exprs in enumerate([of_constants(), *drawn])]
    functions = {
        f"f{n}": c.func.with_attr("global_symbol", f"f{n}") for n, c in enumerate(computed)
    }
    calls, declarations, most = [], [], 0
    for name, each in zip(functions, computed, strict=True):
        arrays = [*each.inputs, *each.expected]
        *places, size = np.cumsum([0, *(array.nbytes for array in arrays)]).tolist()
        read = sum(array.nbytes for array in each.inputs)
        arguments = ", ".join(f"memory + {place}" for place in places)
        calls.append(
            f"  read_inputs(memory, {read});\n  {name}({arguments});\n"
            f"  write_outputs(memory + {read}, {size - read});\n"
        )
        declarations.append(f"void {name}({', '.join(['void*'] * len(arrays))});\n")
        most = max(most, size)
    main = (
        f'#include "board.h"\n\n{"".join(declarations)}static uint8_t memory[{most}];\n\n'
        f"int main(void) {{\n  begin();\n{''.join(calls)}  for (;;) {{\n  }}\n}}\n"
    )
    files = {"code.c": print_source(IRModule(functions)), "main.c": main}
    content = b"".join(array.tobytes() for each in computed for array in each.inputs)
    count = sum(array.nbytes for each in computed for array in each.expected)
    written = run_on_avr(files, content, count, tmp_path, "-Os", "-w")
    start = 0
    for each in computed:
        actual = []
        for array in each.expected:
            actual.append(np.frombuffer(written, array.dtype, array.size, start))
            start += array.nbytes
        each.check(actual)
    assert start == len(written)
