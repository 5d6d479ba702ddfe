// What the names of algorithms mean.
#ifndef USMP_NAMED_ALGORITHMS_H_
#define USMP_NAMED_ALGORITHMS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "usmp_solver/heuristics/first_fit.h"
#include "usmp_solver/solver.h"

namespace usmp {

/*! \brief The effort of `SolveProblem`, if it is what the name means. */
std::optional<SolverEffort> SearchNamed(const std::string& name);

/*!
 * \brief The algorithm of that name that is no search.
 *
 * \param memory_pressure at which hill climbing stops; nothing stands for what is proved to be
 *        needed, and gives the same plan as every number that no plan is below.
 *
 * Throws std::invalid_argument if there is none.
 */
Algorithm AlgorithmNamed(const std::string& name, std::optional<int64_t> memory_pressure);

}  // namespace usmp

#endif  // USMP_NAMED_ALGORITHMS_H_
