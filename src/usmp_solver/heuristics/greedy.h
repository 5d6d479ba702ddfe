// Greedy placement: decide on an order, then first fit (first_fit.h).
//
// Orders are those of TVM (src/tir/usmp/algo/greedy.cc at v0.18.0). Ties keep the input order, so a
// plan depends on the problem alone.
#ifndef USMP_SOLVER_HEURISTICS_GREEDY_H_
#define USMP_SOLVER_HEURISTICS_GREEDY_H_

#include <vector>

#include "usmp_solver/heuristics/first_fit.h"
#include "usmp_solver/model/conflict_graph.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief Largest first, then most conflicts first, then name in descending order. */
std::vector<size_t> OrderBySize(const Problem& problem, const ConflictGraph& conflicts);

/*! \brief Most conflicts first, then largest first, then name in descending order. */
std::vector<size_t> OrderByConflicts(const Problem& problem, const ConflictGraph& conflicts);

/*! \brief First fit of the largest first. */
Solution GreedyBySize(const Problem& problem, const ConflictGraph& conflicts);

/*! \brief First fit of those with the most conflicts first. */
Solution GreedyByConflicts(const Problem& problem, const ConflictGraph& conflicts);

/*!
 * \brief Give every buffer bytes of its own, stacked in input order above the pinned ones: the plan
 *        without planning. Pinned ones are where they were pinned, on shared bytes if so asked.
 */
Solution NoSharing(const Problem& problem, const ConflictGraph& conflicts);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_GREEDY_H_
