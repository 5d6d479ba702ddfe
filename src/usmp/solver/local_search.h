// Local search in one pool, for problems that are too large or too hard for exact search.
#ifndef USMP_SOLVER_LOCAL_SEARCH_H_
#define USMP_SOLVER_LOCAL_SEARCH_H_

#include <functional>

#include "budget.h"
#include "pool_problem.h"

namespace usmp {

/*!
 * \brief Lower the peak of `best` until it is `lower_bound` or the budget is exhausted.
 *
 * \param best a sound placement; replaced by better ones.
 * \param improved called with each better peak.
 */
void SearchLocally(const PoolProblem& problem, int64_t lower_bound, Budget* budget, Offsets* best,
                   const std::function<void(int64_t)>& improved = nullptr);

}  // namespace usmp

#endif  // USMP_SOLVER_LOCAL_SEARCH_H_
