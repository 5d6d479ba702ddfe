// Hill climbing over the orders of first fit.
//
// Starts from the better of the two greedy plans. An attempt moves one of two buffers before the
// other, or has two change places: a buffer at the top of a pool, its neighbours and theirs, since
// only these can lower that top. Only what the attempt affects is placed anew. An order that is not
// worse is the one to go on from, where of two equal ones the one whose buffers lie lower is
// better; the best plan seen is the result. After TVM's algorithm of the same name
// (src/tir/usmp/algo/hill_climb.cc at v0.18.0), but the random numbers are the same on every
// platform, and buffers that are pinned or can only be in constant pools stay where greedy put
// them.
#ifndef USMP_SOLVER_HILL_CLIMB_H_
#define USMP_SOLVER_HILL_CLIMB_H_

#include "conflict_graph.h"
#include "first_fit.h"
#include "problem.h"

namespace usmp {

/*!
 * \brief Make the sum of the workspace pools' peaks small.
 *
 * Stops as soon as the sum is at most `memory_pressure` bytes; 0 asks for all attempts.
 */
Solution HillClimb(const Problem& problem, const ConflictGraph& conflicts, int64_t memory_pressure);

}  // namespace usmp

#endif  // USMP_SOLVER_HILL_CLIMB_H_
