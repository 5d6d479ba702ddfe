// Fast placement in one pool, in time about n log n and linear memory.
#ifndef USMP_SOLVER_HEURISTICS_HEURISTICS_H_
#define USMP_SOLVER_HEURISTICS_HEURISTICS_H_

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Return the best of several single-pass placements. Stop when one reaches `lower_bound`.
 *
 * Pins, alignments and overlaps are respected. The capacity is ignored: the result may exceed
 * it.
 *
 * \return empty only if no placement around the pins, or within int64, was found.
 */
Offsets PlaceHeuristically(const PoolProblem& problem, int64_t lower_bound, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_HEURISTICS_H_
