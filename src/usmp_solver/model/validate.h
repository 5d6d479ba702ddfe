// Checks that a problem is well formed.
#ifndef USMP_SOLVER_MODEL_VALIDATE_H_
#define USMP_SOLVER_MODEL_VALIDATE_H_

#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief Throw std::invalid_argument, with a name, if `problem` is malformed. */
void Validate(const Problem& problem);

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_VALIDATE_H_
