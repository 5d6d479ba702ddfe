// What to tell the user when a buffer fits nowhere.
#ifndef USMP_SOLVER_EXPLAIN_DOES_NOT_FIT_H_
#define USMP_SOLVER_EXPLAIN_DOES_NOT_FIT_H_

#include <string>

#include "usmp_solver/heuristics/first_fit.h"
#include "usmp_solver/model/conflict_graph.h"

namespace usmp {

/*!
 * \brief Name the buffer, its bytes, and every candidate pool with its limit and what was taken of
 *        it; then the smallest size hints with which the same algorithm succeeds.
 *
 * The algorithm is run again for that, with larger limits. Every decision that depends on a limit
 * is the comparison with the end of a buffer, so between one limit and the smallest end that it
 * refused (`Solution::refused`) nothing changes, and trying these ends in turn misses no limit.
 * Where that takes more than a fixed amount of work, a size hint that is enough is named instead.
 */
std::string ExplainMisfit(const Problem& problem, const ConflictGraph& conflicts,
                          const Solution& solution, const Algorithm& algorithm);

}  // namespace usmp

#endif  // USMP_SOLVER_EXPLAIN_DOES_NOT_FIT_H_
