// Move buffers to the pools that they prefer.
#ifndef USMP_SOLVER_POOLS_FILL_PREFERRED_H_
#define USMP_SOLVER_POOLS_FILL_PREFERRED_H_

#include <vector>

#include "usmp_solver/model/problem.h"

namespace usmp {

/*!
 * \brief Move buffers, the largest first, to preferred candidates with enough space.
 *
 * The solver minimizes peaks, so it leaves a preferred pool empty if that would not lower the peak
 * of a less preferred one. The caller orders the pools and expects them to be used in this order.
 * No peak of a less preferred pool rises, and a moved buffer frees its bytes for others. Where
 * candidate lists contradict each other, the order of the pools decides, because proofs are about
 * that order.
 */
std::vector<Placement> FillPreferred(const Problem& problem, std::vector<Placement> plan);

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_FILL_PREFERRED_H_
