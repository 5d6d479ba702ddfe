// Search over orders of the skyline, for plans of many buffers.
#ifndef USMP_SOLVER_CRITICAL_CHAIN_H_
#define USMP_SOLVER_CRITICAL_CHAIN_H_

#include <cstdint>

#include "budget.h"
#include "pool_problem.h"

namespace usmp {

/*!
 * \brief Lower the peak of `best` until it is `lower_bound` or the budget is exhausted.
 *
 * The highest item lies on another, which lies on another, down to offset zero: this chain is what
 * makes the peak. Each step changes the priority of some large items of the chain, or beside it,
 * and places everything anew from below; a change that does not raise the peak stays.
 *
 * \param best a sound placement; replaced by better ones.
 */
void LowerByCriticalChain(const PoolProblem& problem, int64_t lower_bound, Budget* budget,
                          Offsets* best);

}  // namespace usmp

#endif  // USMP_SOLVER_CRITICAL_CHAIN_H_
