// The algorithms by their names.
#ifndef USMP_NAMED_ALGORITHMS_H_
#define USMP_NAMED_ALGORITHMS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "usmp_solver/heuristics/first_fit.h"
#include "usmp_solver/solver.h"

namespace usmp {

/*! \brief Return the effort of `SolveProblem`, if `name` means a search. */
std::optional<SolverEffort> SearchNamed(const std::string& name);

/*!
 * \brief Return the algorithm of that name, which is not a search.
 *
 * \param memory_pressure the total at which hill climbing stops. The default is a proved lower
 *   bound; any other lower bound gives the same plan.
 *
 * Throws std::invalid_argument if there is none.
 */
Algorithm AlgorithmNamed(const std::string& name, std::optional<int64_t> memory_pressure);

}  // namespace usmp

#endif  // USMP_NAMED_ALGORITHMS_H_
