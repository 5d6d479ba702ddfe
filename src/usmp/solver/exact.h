// Exact placement in one pool.
#ifndef USMP_SOLVER_EXACT_H_
#define USMP_SOLVER_EXACT_H_

#include "budget.h"
#include "pool_problem.h"

namespace usmp {

enum class Verdict { kPlaced, kInfeasible, kUndecided };

/*!
 * \brief Place all items so that none ends beyond `capacity`, or prove that this cannot be.
 *
 * \param offsets written if and only if the verdict is kPlaced.
 * \return kUndecided only if the budget ran out.
 */
Verdict PlaceWithin(const PoolProblem& problem, int64_t capacity, Budget* budget, Offsets* offsets);

/*!
 * \brief Make the peak as low as possible.
 *
 * Ends when the lower bound is the peak of `best`, or beyond `problem.capacity` (then nothing
 * fits), or when the budget is exhausted; all that was found until then is kept.
 *
 * \param best the best plan known, within the capacity; empty if there is none.
 * \param lower_bound of the peak of any plan; raised to what is proved.
 */
void MinimisePeak(const PoolProblem& problem, Budget* budget, Offsets* best, int64_t* lower_bound);

}  // namespace usmp

#endif  // USMP_SOLVER_EXACT_H_
