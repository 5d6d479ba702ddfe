// The 2-satisfiability problem: can all clauses "not both" hold?
#ifndef USMP_SOLVER_MODEL_TWO_SATISFIABILITY_H_
#define USMP_SOLVER_MODEL_TWO_SATISFIABILITY_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace usmp {

/*!
 * \brief Return whether variables can be set so that no pair has two true literals.
 *
 * Literal 2 v is variable v, 2 v + 1 its negation. Linear time.
 */
bool Satisfiable(const std::vector<std::pair<int32_t, int32_t>>& not_both, int32_t num_literals);

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_TWO_SATISFIABILITY_H_
