"""A check that operators write only the tensors that `main` lets them write."""

from __future__ import annotations

from tvm import relax
from tvm.ir import Call, IRModule

from usmp.analysis.memory.access import Access
from usmp.analysis.memory.facts import module_facts
from usmp.support.errors import UnsupportedModelError
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name

_CALLS = ("relax.call_tir", "relax.call_tir_inplace")


def check_written(mod: IRModule, main: relax.Function) -> None:
    """Raise if an operator writes an input that its call does not list as overwritten.

    Such an input may have later readers, or be a constant. Functions outside of the module are
    assumed to do what their calls declare.

    Parameters
    ----------
    mod
        a module of flat operator PrimFuncs.
    main
        the function that calls them by `R.call_tir` and `R.call_tir_inplace`.

    Raises
    ------
    UnsupportedModelError
        an operator writes one; the message names the operator and its parameter.
    ValueError
        the TIR is not flat.
    """
    facts = module_facts(mod)
    checked = set()
    for call in nodes_of(main.body, Call):
        operator = op_name(call)
        if operator not in _CALLS:
            continue
        name = str(call.args[0].name_hint)
        indices = getattr(call.attrs, "inplace_indices", ())
        overwritten = frozenset(int(index) for index in indices)
        if (name, overwritten) in checked:
            continue
        checked.add((name, overwritten))
        uses = facts.of(name).liveness.parameter_use
        for index in range(len(call.args[1].fields)):
            if index not in overwritten and Access.WRITE in uses[index].access:
                raise UnsupportedModelError(
                    f"operator {name} writes its input {mod[name].params[index].name}, which "
                    f"{operator.removeprefix('relax.')} only lets it read; call it with "
                    "R.call_tir_inplace, and list the input there"
                )
