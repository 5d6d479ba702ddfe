// What follows from who is below whom, where three items are too high for the pool.
#ifndef USMP_SOLVER_BOUNDS_ORDER_BOUND_H_
#define USMP_SOLVER_BOUNDS_ORDER_BOUND_H_

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief The highest peak that no order of the conflicting pairs avoids, if it is above `bound`.
 *
 * Of two items that conflict one is below the other. Take u, v and w, of which v conflicts with
 * both others: if a stack of the three ends beyond the peak, v is not between them. Such
 * statements are about two pairs each, so whether all can hold together is 2-satisfiability. They
 * cannot, for example, around an odd cycle: the peak is no lower there than its lowest stack of
 * three neighbors. Looks at triples that are above `bound` only; at none if there are too many.
 */
int64_t OrderBound(const PoolProblem& problem, int64_t bound, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_ORDER_BOUND_H_
