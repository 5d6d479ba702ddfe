"""Chains of operators in vertical strips of an image, with recomputed halos.

`strip_operator` restricts an operator to some columns, `strip_chain` finds the columns of a chain
of operators in each strip, `strip_costs` estimates the memory, `choice` chooses chains to plan, and
`rewrite` replaces chains by strips.
"""
