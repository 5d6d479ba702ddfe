// A lower bound from sets of items that conflict pairwise, even without a common section.
#ifndef USMP_SOLVER_BOUNDS_CLIQUE_BOUND_H_
#define USMP_SOLVER_BOUNDS_CLIQUE_BOUND_H_

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Return the height of the highest stack of pairwise conflicting items, if above `bound`;
 *        else `bound`.
 *
 * If each item has a single span of sections, the maximal stacks are the sections (Helly's
 * theorem). Items with several spans, and conflicts that do not follow from spans, allow more
 * stacks.
 * Items that a safe overlap joins are not stacked. Problems with more items than fit a quadratic
 * table are skipped.
 */
int64_t CliqueBound(const PoolProblem& problem, int64_t bound, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_CLIQUE_BOUND_H_
