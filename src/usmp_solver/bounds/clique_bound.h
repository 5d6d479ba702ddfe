// Sets of items that conflict pairwise, also where no section holds them all.
#ifndef USMP_SOLVER_BOUNDS_CLIQUE_BOUND_H_
#define USMP_SOLVER_BOUNDS_CLIQUE_BOUND_H_

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief The highest stack of items that conflict pairwise, if it is higher than `bound`.
 *
 * For a span of sections an item, the sections are all such sets (Helly's theorem); items with
 * several spans, and conflicts that do not follow from spans, make others. Looks at items that no
 * safe overlap joins. Nothing is searched where there are more items than fit a quadratic table.
 */
int64_t CliqueBound(const PoolProblem& problem, int64_t bound, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_CLIQUE_BOUND_H_
