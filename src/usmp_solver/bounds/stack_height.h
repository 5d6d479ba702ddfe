// Items that conflict pairwise and share no byte, one above the other.
#ifndef USMP_SOLVER_BOUNDS_STACK_HEIGHT_H_
#define USMP_SOLVER_BOUNDS_STACK_HEIGHT_H_

#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief What every stack of these items needs, if that is more than `bound`; else `bound`.
 *
 * It is the lowest peak there is if the items are few or alike. kNoLimit if the pins collide.
 */
int64_t StackHeight(const std::vector<PoolProblem::Item>& items, int64_t bound, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_STACK_HEIGHT_H_
