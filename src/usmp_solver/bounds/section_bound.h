// A lower bound from single sections: the sum of all items that are live together.
#ifndef USMP_SOLVER_BOUNDS_SECTION_BOUND_H_
#define USMP_SOLVER_BOUNDS_SECTION_BOUND_H_

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Return the largest number of bytes that a section needs, in time about n log n for n
 *        buffers.
 *
 * If all offsets are multiples of a unit, every size but that of the topmost buffer is rounded up
 * to the unit. The unit is the greatest common divisor of the alignments. One bound counts all
 * buffers, others only those with at least a given alignment. Safe overlaps are subtracted.
 */
int64_t SectionBound(const PoolProblem& problem, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_SECTION_BOUND_H_
