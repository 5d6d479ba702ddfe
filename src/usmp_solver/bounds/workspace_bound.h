// A lower bound of all workspace pools together.
#ifndef USMP_SOLVER_BOUNDS_WORKSPACE_BOUND_H_
#define USMP_SOLVER_BOUNDS_WORKSPACE_BOUND_H_

#include <vector>

#include "usmp_solver/model/problem.h"

namespace usmp {

/*!
 * \brief Bytes that a pool without limit needs to hold these buffers, whatever their candidates.
 *
 * \param members indices of buffers, ascending. kNoLimit if their pins collide.
 */
int64_t BoundOfOnePool(Problem problem, const std::vector<size_t>& members);

/*!
 * \brief What the peaks of all workspace pools add up to in every plan, at least.
 *
 * The plans of several pools, one on top of the other, are a plan of one, but for alignments and
 * pins: so these count only where there is one pool.
 */
int64_t WorkspaceBound(Problem problem);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_WORKSPACE_BOUND_H_
