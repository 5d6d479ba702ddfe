// A lower bound of the sum of all workspace pools.
#ifndef USMP_SOLVER_BOUNDS_WORKSPACE_BOUND_H_
#define USMP_SOLVER_BOUNDS_WORKSPACE_BOUND_H_

#include <vector>

#include "usmp_solver/model/problem.h"

namespace usmp {

/*!
 * \brief Return a lower bound of the bytes of one unlimited pool that holds these buffers, whatever
 *        their candidate pools. Return kNoLimit if their pins collide.
 *
 * \param members indices of buffers, ascending.
 */
int64_t BoundOfOnePool(Problem problem, const std::vector<size_t>& members);

/*!
 * \brief Return a lower bound of the sum of the peaks of all workspace pools.
 *
 * The plans of several pools, stacked, are a plan of a single pool except for alignments and pins.
 * So alignments and pins only count if there is a single workspace pool.
 */
int64_t WorkspaceBound(Problem problem);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_WORKSPACE_BOUND_H_
