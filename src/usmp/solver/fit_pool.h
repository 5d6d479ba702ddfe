// Whether one pool holds its items.
#ifndef USMP_SOLVER_FIT_POOL_H_
#define USMP_SOLVER_FIT_POOL_H_

#include <vector>

#include "budget.h"
#include "exact.h"
#include "pool_problem.h"

namespace usmp {

/*!
 * \brief Place all items within the capacity, part by part, or prove that this cannot be.
 *
 * \param offsets written if and only if the verdict is kPlaced.
 * \param culprits unless the verdict is kPlaced: items of one component that do not fit, or that
 *        could not be decided.
 */
Verdict FitPool(const PoolProblem& problem, Budget* budget, Offsets* offsets,
                std::vector<int32_t>* culprits);

}  // namespace usmp

#endif  // USMP_SOLVER_FIT_POOL_H_
