// Greedy placement: choose an order, then first fit (first_fit.h).
//
// The orders are those of TVM (src/tir/usmp/algo/greedy.cc at v0.18.0). Ties keep the input order,
// so that a plan depends on the problem alone.
#ifndef USMP_SOLVER_HEURISTICS_GREEDY_H_
#define USMP_SOLVER_HEURISTICS_GREEDY_H_

#include <vector>

#include "usmp_solver/heuristics/first_fit.h"
#include "usmp_solver/model/conflict_graph.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief Order by size, then number of conflicts, then name, all descending. */
std::vector<size_t> OrderBySize(const Problem& problem, const ConflictGraph& conflicts);

/*! \brief Order by number of conflicts, then size, then name, all descending. */
std::vector<size_t> OrderByConflicts(const Problem& problem, const ConflictGraph& conflicts);

/*! \brief First fit in the order of `OrderBySize`. */
Solution GreedyBySize(const Problem& problem, const ConflictGraph& conflicts);

/*! \brief First fit in the order of `OrderByConflicts`. */
Solution GreedyByConflicts(const Problem& problem, const ConflictGraph& conflicts);

/*!
 * \brief Stack all buffers in input order above the pinned ones: the plan without sharing.
 *
 * Pinned buffers keep their offsets, even if they share bytes.
 */
Solution NoSharing(const Problem& problem, const ConflictGraph& conflicts);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_GREEDY_H_
