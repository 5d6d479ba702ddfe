// A lower bound from single sections around one buffer that others may overlap.
#ifndef USMP_SOLVER_BOUNDS_STAR_BOUND_H_
#define USMP_SOLVER_BOUNDS_STAR_BOUND_H_

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Return the largest number of bytes that a star needs, if above `bound`; else `bound`.
 *
 * A star is a center y and leaves, all of one section. Safe overlaps join leaves with y only. So
 * leaves share no bytes with each other, and the star needs the sizes of all its items minus the
 * bytes of y that leaves cover. D(a, b) is the distance of the overlap of output a with input b.
 *
 * - A leaf x that starts at or below y and overlaps it covers the first byte of y, and at most
 *   size(x) - D(x, y) bytes. Only one leaf covers the first byte, so only one such number counts.
 * - A leaf x that starts above y and overlaps it starts at least D(y, x) bytes above y.
 *
 * The bound of a whole section subtracts the savings of every pair. If buffers have several
 * partners, a star without the small partners gives a higher bound.
 *
 * One star is tried for each center in the most promising sections, with large leaves first. Pins
 * are ignored, which cannot raise the bound.
 */
int64_t StarBound(const PoolProblem& problem, int64_t bound, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_STAR_BOUND_H_
