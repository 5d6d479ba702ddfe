// What single sections need: everything live at one time, stacked.
#ifndef USMP_SOLVER_BOUNDS_SECTION_BOUND_H_
#define USMP_SOLVER_BOUNDS_SECTION_BOUND_H_

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief The most bytes that a section needs. Time near n log n.
 *
 * Between buffers whose offsets are multiples of n bytes, every size but that of the topmost one is
 * rounded up to n. This holds for all buffers, with the greatest common divisor of their
 * alignments, and for those of at least some alignment alone. Safe overlaps are taken off.
 */
int64_t SectionBound(const PoolProblem& problem, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_SECTION_BOUND_H_
