// What fits goes to the pools that it prefers.
#ifndef USMP_SOLVER_POOLS_FILL_PREFERRED_H_
#define USMP_SOLVER_POOLS_FILL_PREFERRED_H_

#include <vector>

#include "usmp_solver/model/problem.h"

namespace usmp {

/*!
 * \brief Move buffers, the largest first, to candidates that they prefer and fit into.
 *
 * The solver asks for the lowest peaks, so it leaves a preferred pool empty where that would not
 * lower the peak of a lesser one. The caller, who orders the pools, wants what fits to be there. No
 * peak of a lesser pool rises, and what leaves a pool leaves its bytes to others. Where candidate
 * lists contradict each other, the order of the pools decides: what is proved is of that order.
 */
std::vector<Placement> FillPreferred(const Problem& problem, std::vector<Placement> plan);

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_FILL_PREFERRED_H_
