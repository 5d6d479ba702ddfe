"""Random expressions: the emitted C computes what numpy computes for the same TIR, bit for bit."""

from support.tir_expressions import check_random_expressions, few_seeds


@few_seeds
def test_random_expressions(seed, load_functions):
    # Random expressions are often always true, of which compilers warn.
    check_random_expressions(seed, lambda func: load_functions(func, "-O1", "-w"))
