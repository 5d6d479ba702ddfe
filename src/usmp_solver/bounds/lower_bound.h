// Lower bounds of the peak in one pool.
#ifndef USMP_SOLVER_BOUNDS_LOWER_BOUND_H_
#define USMP_SOLVER_BOUNDS_LOWER_BOUND_H_

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Return a lower bound of the peak in bytes: the largest of several bounds.
 *
 * Return kNoLimit if pins collide, since no plan exists then.
 */
int64_t LowerBound(const PoolProblem& problem, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_LOWER_BOUND_H_
