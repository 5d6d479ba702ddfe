// Hill climbing over the orders of first fit.
//
// The first part is the random walk of TVM's algorithm of the same name
// (src/tir/usmp/algo/hill_climb.cc at v0.18.0): it starts from the greedy order by size, with the
// same 500 attempts, random numbers and acceptance rule. With one pool and one alignment it visits
// the same plans as TVM. The result is the best visited plan, while TVM returns the last accepted
// plan, so the result is never worse. An attempt places only the affected buffers again
// (ordered_plan.h).
//
// The saved work goes to a second climb, from the greedy order by conflicts. An attempt moves one
// of two buffers near the top of a pool before the other, and accepts orders that are not worse.
//
// In one pool, limits do not change the walk: buffers may exceed them, but then the plan does not
// count. With several pools any plan that fits is better than any other. Buffers that are pinned or
// confined to constant pools stay where greedy placed them.
#ifndef USMP_SOLVER_IMPROVEMENT_HILL_CLIMB_H_
#define USMP_SOLVER_IMPROVEMENT_HILL_CLIMB_H_

#include "usmp_solver/heuristics/first_fit.h"
#include "usmp_solver/model/conflict_graph.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

/*!
 * \brief Minimize the sum of the workspace pools' peaks.
 *
 * \param enough stop as soon as the sum is at most so many bytes; 0 runs all attempts.
 */
Solution HillClimb(const Problem& problem, const ConflictGraph& conflicts, int64_t enough);

}  // namespace usmp

#endif  // USMP_SOLVER_IMPROVEMENT_HILL_CLIMB_H_
