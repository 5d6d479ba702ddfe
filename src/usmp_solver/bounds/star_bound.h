// What single sections need around one buffer that others may share bytes with.
#ifndef USMP_SOLVER_BOUNDS_STAR_BOUND_H_
#define USMP_SOLVER_BOUNDS_STAR_BOUND_H_

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Return the most bytes that a star needs, if they are more than `bound`; else `bound`.
 *
 * A star is a center y and leaves, all of one section, and safe overlaps join leaves with y only.
 * So leaves have no byte in common, and the star takes the sizes of all its items, less the bytes
 * of y that leaves cover. D(a, b) is the distance of the overlap of output a with input b.
 *
 * - A leaf x that starts at or below y and shares bytes with it covers the first byte of y, and at
 *   most size(x) - D(x, y) bytes. Only one leaf covers the first byte, so one such number counts.
 * - A leaf x that starts above y and shares bytes with it starts D(y, x) bytes above it, or more.
 *
 * The bound of a whole section takes off what every pair can save. Where buffers have several
 * partners, a star without the small ones needs more than that.
 *
 * Tries one star for each center of the most promising sections, and takes large leaves first. Pins
 * are ignored: without them, no star needs more.
 */
int64_t StarBound(const PoolProblem& problem, int64_t bound, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_STAR_BOUND_H_
