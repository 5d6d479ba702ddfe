// The effort of the solver.
#ifndef USMP_SOLVER_MODEL_EFFORT_H_
#define USMP_SOLVER_MODEL_EFFORT_H_

#include <cstdint>

namespace usmp {

/*! \brief Default limit in steps, about a second of work. */
constexpr int64_t kDefaultWorkBudget = 200'000'000;

enum class SolverEffort {
  /*! \brief Run bounds, heuristics, local search and exact search in turn, until a plan is proved
   *         best or the budget ends. */
  kAuto,
  /*! \brief Run bounds and heuristics, then exact search until it ends. */
  kExact,
};

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_EFFORT_H_
