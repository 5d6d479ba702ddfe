"""The best plan by OR-tools CP-SAT, which knows nothing of this project's solver."""

from __future__ import annotations

from itertools import combinations

from support.solver_problems import DrawnProblem, separations


def best_peaks(problem: DrawnProblem) -> list[int] | None:
    """The peaks of the best plan, by pool; None if there is no plan.

    Of two plans the one is better whose least preferred pool has the lower peak; if these are
    equal, the pool before it decides, and so on.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    buffers = problem.buffers
    # No need to go higher: below it, everything that is not pinned fits above all pins.
    ceiling = sum(buffer.size + buffer.alignment for buffer in buffers) + max(
        (buffer.pin + buffer.size for buffer in buffers if buffer.pin is not None), default=0
    )
    offsets = []
    chosen = []
    for buffer in buffers:
        steps = ceiling // buffer.alignment
        pin = None if buffer.pin is None else buffer.pin // buffer.alignment
        step = model.new_int_var(0, steps, "") if pin is None else model.new_constant(pin)
        offsets.append(step * buffer.alignment)
        chosen.append({pool: model.new_bool_var("") for pool in buffer.pools})
        model.add_exactly_one(chosen[-1].values())
    peaks = [
        model.new_int_var(0, ceiling if limit is None else min(limit, ceiling), "")
        for limit in problem.limits
    ]
    for buffer, offset, choice in zip(buffers, offsets, chosen, strict=True):
        for pool, is_here in choice.items():
            limit = problem.limits[pool]
            if buffer.size:
                model.add(offset + buffer.size <= peaks[pool]).only_enforce_if(is_here)
            elif limit is not None:
                model.add(offset <= limit).only_enforce_if(is_here)
    apart = separations(problem)
    for a, b in combinations(range(len(buffers)), 2):
        if (a, b) not in apart:
            continue
        below, above = model.new_bool_var(""), model.new_bool_var("")
        model.add(offsets[a] + apart[a, b] <= offsets[b]).only_enforce_if(below)
        model.add(offsets[b] + apart[b, a] <= offsets[a]).only_enforce_if(above)
        for pool in chosen[a].keys() & chosen[b].keys():
            model.add_bool_or(below, above, ~chosen[a][pool], ~chosen[b][pool])
    # No peak is above the ceiling, so one digit of the sum is one peak.
    model.minimize(sum(peak * (ceiling + 1) ** pool for pool, peak in enumerate(peaks)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    assert status == cp_model.OPTIMAL, solver.status_name(status)
    return [solver.value(peak) for peak in peaks]
