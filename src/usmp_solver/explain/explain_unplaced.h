// An explanation why an algorithm that places buffers one after the other failed.
#ifndef USMP_SOLVER_EXPLAIN_EXPLAIN_UNPLACED_H_
#define USMP_SOLVER_EXPLAIN_EXPLAIN_UNPLACED_H_

#include "usmp_solver/explain/does_not_fit.h"
#include "usmp_solver/heuristics/first_fit.h"
#include "usmp_solver/model/conflict_graph.h"

namespace usmp {

/*!
 * \brief Return the unplaced buffer, the state of its candidate pools, and the smallest limits with
 *        which the same algorithm succeeds.
 *
 * The algorithm runs again with larger limits. Limits only matter in comparisons with the end of a
 * buffer. So nothing changes between a limit and the least end that it refused
 * (`Solution::refused`), and trying these ends in turn misses no limit. If the trials exceed
 * a fixed amount of work, a sufficient limit is returned instead.
 */
DoesNotFit ExplainUnplaced(const Problem& problem, const ConflictGraph& conflicts,
                           const Solution& solution, const Algorithm& algorithm);

}  // namespace usmp

#endif  // USMP_SOLVER_EXPLAIN_EXPLAIN_UNPLACED_H_
