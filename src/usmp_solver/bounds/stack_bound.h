// What single sections need where alignments differ or buffers are pinned.
#ifndef USMP_SOLVER_BOUNDS_STACK_BOUND_H_
#define USMP_SOLVER_BOUNDS_STACK_BOUND_H_

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief The highest of the sections that may be higher than `bound`, if one is; else `bound`.
 *
 * Some sections only, the most promising ones, and in each a set of items of which none may
 * overlap. kNoLimit if pins collide.
 */
int64_t StackBound(const PoolProblem& problem, int64_t bound, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_STACK_BOUND_H_
