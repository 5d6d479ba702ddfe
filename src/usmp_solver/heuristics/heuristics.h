// Fast placement in one pool: time near n log n, memory linear.
#ifndef USMP_SOLVER_HEURISTICS_HEURISTICS_H_
#define USMP_SOLVER_HEURISTICS_HEURISTICS_H_

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief The best of several single-pass placements; stops when one reaches `lower_bound`.
 *
 * Honours pins, alignment and overlaps. The capacity counts only if pins are in the way: the result
 * may end beyond it.
 *
 * \return empty only if no placement was found around the pins, or within the 64-bit offsets.
 */
Offsets PlaceHeuristically(const PoolProblem& problem, int64_t lower_bound, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_HEURISTICS_H_
