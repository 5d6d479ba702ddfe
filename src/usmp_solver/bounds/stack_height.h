// The height of a stack of items that conflict pairwise and share no bytes.
#ifndef USMP_SOLVER_BOUNDS_STACK_HEIGHT_H_
#define USMP_SOLVER_BOUNDS_STACK_HEIGHT_H_

#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Return a lower bound of the height of a stack of `items`, if above `bound`; else `bound`.
 *
 * The result is exact if the items are few or alike. Return kNoLimit if pins collide.
 */
int64_t StackHeight(const std::vector<PoolProblem::Item>& items, int64_t bound, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_STACK_HEIGHT_H_
