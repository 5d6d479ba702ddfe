// Why the solver has no plan.
#ifndef USMP_SOLVER_EXPLAIN_EXPLAIN_INFEASIBLE_H_
#define USMP_SOLVER_EXPLAIN_EXPLAIN_INFEASIBLE_H_

#include "usmp_solver/explain/does_not_fit.h"
#include "usmp_solver/solver.h"

namespace usmp {

/*!
 * \brief The largest buffer that may have no place, the buffers that do not fit together if that is
 *        proved, with the bytes that they need, and limits that are enough.
 *
 * The solver is run again for that, without some of the limits and in its usual amount of work. A
 * limit is called the smallest only if that is proved.
 */
DoesNotFit ExplainInfeasible(const Problem& problem, const SolverResult& result);

}  // namespace usmp

#endif  // USMP_SOLVER_EXPLAIN_EXPLAIN_INFEASIBLE_H_
