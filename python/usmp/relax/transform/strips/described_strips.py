"""Modules with chains of operators in strips, and their attribute `strips`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import STRIPS_ATTR
from usmp.planning.options import PlanningOptions
from usmp.relax.static_shapes import main_function
from usmp.relax.symbolic_sizes import size_variables
from usmp.relax.transform.strips.choice import strip_choices
from usmp.relax.transform.strips.rewrite import with_strips
from usmp.relax.transform.strips.strip_chain import StripChain, StripMain, strip_main


def choices_of_strips(
    mod: IRModule, options: PlanningOptions
) -> tuple[StripMain, list[list[StripChain]]] | None:
    """Return the main function of a module and its choices of strips (see `strip_choices`).

    Returns
    -------
    tuple | None
        None if options permit no strips, if the module has symbolic sizes, or if it already has
        strips.
    """
    if not options.max_extra_macs or not (options.streaming and options.shares_memory):
        return None
    # Strips need static widths. Existing strips have used up the extra multiply-accumulates.
    if size_variables(main_function(mod)) or STRIPS_ATTR.is_on(mod):
        return None
    main = strip_main(mod, options)
    return main, strip_choices(main, int(main.macs * options.max_extra_macs / 100))


def in_strips(main: StripMain, chains: Sequence[StripChain], **others: Any) -> IRModule:
    """Return the module of `main` with chains in strips, and with the attribute `strips`.

    Parameters
    ----------
    others
        further entries of the attribute.
    """
    split = with_strips(main, chains)
    return STRIPS_ATTR.put(split, {**others, **described_chains(main, chains)})


def described_chains(main: StripMain, chains: Sequence[StripChain]) -> dict[str, Any]:
    """Return the attribute: the chains, and the multiply-accumulates of all operators."""
    described = [
        {
            "operators": list(main.names[chain.start : chain.stop]),
            "strips": len(chain.strips),
            "macs_before": chain.macs - chain.extra_macs,
            "macs": chain.macs,
        }
        for chain in chains
    ]
    macs = main.macs + sum(chain.extra_macs for chain in chains)
    return {"macs_before": main.macs, "macs": macs, "chains": described}
