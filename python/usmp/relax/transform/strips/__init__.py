"""Operators computed in vertical strips: some columns of an image at a time, borders again.

`strip_operator` knows which columns an operator needs of what it reads, and makes it anew for some
of its columns; `strip_chain` what a chain of operators computes in each strip; `strip_costs` what
that takes, about, and `choice` which chains are worth a plan; `rewrite` puts strips in their place.
"""
