// What single sections need where several buffers may overlap each other: all orders are tried.
#ifndef USMP_SOLVER_BOUNDS_START_ORDER_BOUND_H_
#define USMP_SOLVER_BOUNDS_START_ORDER_BOUND_H_

#include <cstdint>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Return the most bytes that some items of a section need, if they are more than `bound`;
 *        else `bound`.
 *
 * The items of a section conflict pairwise. So in any plan, each of them starts at least sep(x, y)
 * above every x before it in the order of their starts. If each one, in this order, is put as low
 * as that allows, none is higher than in the plan. So what the items need is the lowest peak over
 * all orders. Of two that start together, the one at distance 0 below the other comes first;
 * nothing is said of problems whose overlaps go round in a circle, where none may be the first.
 *
 * - An item that overlaps no other one of the section can be taken out, what is above it moved down
 *   by its size, and the item put on top. So the sizes of these are added up, not ordered.
 * - Of the others, the largest are looked at: a few, since their orders are many.
 * - All offsets are taken to be multiples of the common divisor of the alignments. Pins are
 *   ignored: without them, no section needs more.
 */
int64_t StartOrderBound(const PoolProblem& problem, int64_t bound, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_START_ORDER_BOUND_H_
