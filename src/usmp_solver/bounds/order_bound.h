// A lower bound from the vertical order of conflicting items, where three items exceed the pool.
#ifndef USMP_SOLVER_BOUNDS_ORDER_BOUND_H_
#define USMP_SOLVER_BOUNDS_ORDER_BOUND_H_

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Return the highest peak that every order of the conflicting pairs reaches, if above
 *        `bound`; else `bound`.
 *
 * One item of a conflicting pair is below the other. Let v conflict with u and w. If a stack of u,
 * v and w exceeds the peak, v is not between u and w. Each such clause concerns two pairs, so their
 * consistency is 2-satisfiability. Around an odd cycle, for example, the clauses contradict each
 * other: the peak is at least the lowest stack of three neighbors on the cycle. Only triples above
 * `bound` are used, and none if there are too many.
 */
int64_t OrderBound(const PoolProblem& problem, int64_t bound, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_ORDER_BOUND_H_
