// Greedy placement: decide on an order, then give each buffer in turn the lowest place that is
// free.
//
// "Free" is first fit into gaps: walk the placed buffers of the pool that conflict with the new one
// in the order of their offsets, and take the lowest multiple of the new buffer's own alignment
// that leaves no overlap. The pool is the first candidate, in the user's order, in which the buffer
// then ends within the limit.
//
// Orders are those of TVM (src/tir/usmp/algo/greedy.cc at v0.18.0). Ties keep the input order, so a
// plan depends on the problem alone.
#ifndef USMP_GREEDY_H_
#define USMP_GREEDY_H_

#include <vector>

#include "problem.h"

namespace usmp {

/*! \brief Largest first, then most conflicts first, then name in descending order. */
std::vector<size_t> OrderBySize(const Problem& problem);

/*! \brief Most conflicts first, then largest first, then name in descending order. */
std::vector<size_t> OrderByConflicts(const Problem& problem);

/*! \brief Place the buffers in the given order. Throws ValueError for a buffer that fits nowhere.
 */
std::vector<Placement> FirstFit(const Problem& problem, const std::vector<size_t>& order);

/*!
 * \brief Give every buffer bytes of its own, stacked in input order: the plan without planning.
 *
 * Throws ValueError for a buffer that fits nowhere.
 */
std::vector<Placement> NoSharing(const Problem& problem);

}  // namespace usmp

#endif  // USMP_GREEDY_H_
