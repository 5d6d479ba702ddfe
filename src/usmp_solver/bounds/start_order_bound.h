// A lower bound from single sections where several buffers overlap: all orders are tried.
#ifndef USMP_SOLVER_BOUNDS_START_ORDER_BOUND_H_
#define USMP_SOLVER_BOUNDS_START_ORDER_BOUND_H_

#include <cstdint>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Return the largest number of bytes that items of a section need, if above `bound`; else
 *        `bound`.
 *
 * The items of a section conflict pairwise. So in any plan each item y starts at least sep(x, y)
 * above every x that precedes it in order of start. Placing each item as low as this order allows
 * raises none of them. So the lower bound is the lowest peak over all orders. If two items start
 * together, the one at distance 0 below the other comes first. Problems whose overlaps form a cycle
 * are skipped, since that rule may not define an order.
 *
 * - An item without overlaps in the section can be moved to the top, while the items above it move
 *   down by its size. So these sizes are summed, not ordered.
 * - Only the largest of the other items are ordered, since the number of orders is exponential.
 * - All offsets are multiples of the greatest common divisor of the alignments. Pins are ignored,
 *   which cannot raise the bound.
 */
int64_t StartOrderBound(const PoolProblem& problem, int64_t bound, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_START_ORDER_BOUND_H_
