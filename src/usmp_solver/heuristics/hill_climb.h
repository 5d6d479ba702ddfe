// Hill climbing over the orders of first fit.
//
// First comes the walk of TVM's algorithm of the same name (src/tir/usmp/algo/hill_climb.cc at
// v0.18.0): from the greedy order by size, with the same 500 attempts, random numbers and rule of
// what to go on from. In one pool, with one alignment for all, it meets the same plans as TVM; the
// best of them counts, where TVM returns the last that it went on from. So the result is never
// worse. But only what an attempt affects is placed anew (ordered_plan.h). The work that this saves
// goes to a climb of our own: from the greedy order by conflicts, an attempt moves one of two
// buffers near the top of a pool before the other, and an order that is not worse is the one to go
// on from.
//
// Limits do not change the walk in one pool: what ends beyond them is placed all the same, but such
// a plan does not count. With several pools a plan that fits is better than any that does not.
// Buffers that are pinned or can only be in constant pools stay where greedy put them.
#ifndef USMP_SOLVER_HEURISTICS_HILL_CLIMB_H_
#define USMP_SOLVER_HEURISTICS_HILL_CLIMB_H_

#include "usmp_solver/heuristics/first_fit.h"
#include "usmp_solver/model/conflict_graph.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

/*!
 * \brief Make the sum of the workspace pools' peaks small.
 *
 * Stops as soon as the sum is at most `enough` bytes; 0 asks for all attempts.
 */
Solution HillClimb(const Problem& problem, const ConflictGraph& conflicts, int64_t enough);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_HILL_CLIMB_H_
