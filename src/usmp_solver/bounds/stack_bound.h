// A lower bound from single sections where alignments differ or buffers are pinned.
#ifndef USMP_SOLVER_BOUNDS_STACK_BOUND_H_
#define USMP_SOLVER_BOUNDS_STACK_BOUND_H_

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Return the largest number of bytes that a section needs, if above `bound`; else `bound`.
 *
 * Only the most promising sections are tried, each with a subset of its items that has no overlaps.
 * Return kNoLimit if pins collide.
 */
int64_t StackBound(const PoolProblem& problem, int64_t bound, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_STACK_BOUND_H_
