// Why an algorithm that places one buffer after another found no place for one.
#ifndef USMP_SOLVER_EXPLAIN_EXPLAIN_UNPLACED_H_
#define USMP_SOLVER_EXPLAIN_EXPLAIN_UNPLACED_H_

#include "usmp_solver/explain/does_not_fit.h"
#include "usmp_solver/heuristics/first_fit.h"
#include "usmp_solver/model/conflict_graph.h"

namespace usmp {

/*!
 * \brief The buffer, what was taken of every candidate pool, and the smallest limits with which the
 *        same algorithm succeeds.
 *
 * The algorithm is run again for that, with larger limits. Every decision that depends on a limit
 * is the comparison with the end of a buffer, so between one limit and the smallest end that it
 * refused (`Solution::refused`) nothing changes, and trying these ends in turn misses no limit.
 * Where that takes more than a fixed amount of work, a limit that is enough is found instead.
 */
DoesNotFit ExplainUnplaced(const Problem& problem, const ConflictGraph& conflicts,
                           const Solution& solution, const Algorithm& algorithm);

}  // namespace usmp

#endif  // USMP_SOLVER_EXPLAIN_EXPLAIN_UNPLACED_H_
