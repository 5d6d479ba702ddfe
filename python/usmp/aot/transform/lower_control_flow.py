"""LowerControlFlow: loops and branches call the operators of their bodies."""

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.aot.control_flow import with_carried_tensors, write_control_flow
from usmp.aot.shared_functions import SharedFunctions
from usmp.aot.transform.lower_main import LowerMain
from usmp.objects.attributes.annotations import STATE_TENSOR_ATTR
from usmp.objects.attributes.module_attributes import EXTENDS_STATES_ATTR, STATES_ATTR
from usmp.objects.attributes.operator_attributes import OPERATORS_ATTR
from usmp.ops.control_flow import CONTROL_FLOW_ATTR, ControlFlow
from usmp.ops.records.attributes import OPERATOR_ATTR
from usmp.passes import ModulePass, apply_passes
from usmp.planning.attribute_access import SEARCHING
from usmp.tir.identity import identity


def _lower_main(body: IRModule) -> IRModule:
    return apply_passes(LowerMain(), body)


@tvm.transform.module_pass(opt_level=0, name="usmp.LowerControlFlow")
class LowerControlFlow(ModulePass):
    """Lower the PrimFuncs of control flow (see `usmp.ops.control_flow`) to loops and branches that
    call the operators of their bodies.

    Each body is lowered as `main` of its own module, so other passes need not handle bodies. Equal
    operators are shared.

    Parameters
    ----------
    lower
        lowers a body, a module with a Relax `main`, to `__tvm_main__`; by default `LowerMain`.

    Raises
    ------
    UnsupportedModelError
        a body cannot be lowered.
    """

    reads = (STATE_TENSOR_ATTR, OPERATORS_ATTR, CONTROL_FLOW_ATTR, OPERATOR_ATTR)
    writes = (STATES_ATTR, EXTENDS_STATES_ATTR)
    uses = (SEARCHING,)

    def __init__(self, lower: Callable[[IRModule], IRModule] = _lower_main) -> None:
        self.lower = lower
        self.context: PassContext | None = None
        # Identity of a body -> the body, which keeps it alive, and the lowered body.
        self.known: dict[int, tuple[IRModule, IRModule]] = {}

    def searches(self, mod: IRModule) -> bool:
        """Return whether the module has bodies, whose plans are compared."""
        return any(_flow(func) is not None for func in mod.functions.values())

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Lower the bodies, and write the functions that run them."""
        if not context.same_as(self.context):
            self.context, self.known = context, {}
        flows = {v: f for v, f in mod.functions.items() if _flow(f) is not None}
        if not flows:
            return mod
        shared = SharedFunctions([str(v.name_hint) for v in mod.functions if v in flows])
        others = {v: f for v, f in mod.functions.items() if v not in flows}
        for variable, func in others.items():
            if isinstance(func, tirx.PrimFunc):
                shared.add(variable, func)
        written = {}
        for variable, func in flows.items():
            flow = _flow(func)
            assert flow is not None
            lowered = [
                self._lowered(body, flow if is_repeated else None)
                for body, is_repeated in zip(flow.bodies, _are_repeated(flow), strict=True)
            ]
            written[variable] = write_control_flow(func, flow, lowered, shared)
        return IRModule({**others, **shared.functions, **written}, attrs=mod.attrs)

    def _lowered(self, body: IRModule, repeated_by: ControlFlow | None) -> IRModule:
        """Return the lowered body; lower each body once.

        Compared forms of a module share bodies, and bodies are nested, so lowering them again would
        take exponential time.
        """
        if identity(body) not in self.known:
            with_states = body if repeated_by is None else with_carried_tensors(body, repeated_by)
            self.known[identity(body)] = body, self.lower(with_states)
        return self.known[identity(body)][1]


def _flow(func: object) -> ControlFlow | None:
    return CONTROL_FLOW_ATTR.of(func) if isinstance(func, tirx.PrimFunc) else None


def _are_repeated(flow: ControlFlow) -> list[bool]:
    """Return whether each body continues from the tensors that it wrote before; a condition does
    not."""
    return [not flow.is_choice and body is flow.bodies[-1] for body in flow.bodies]
