// Whether a problem is well formed.
#ifndef USMP_SOLVER_MODEL_VALIDATE_H_
#define USMP_SOLVER_MODEL_VALIDATE_H_

#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief Throws std::invalid_argument, naming buffer or pool, if the problem is not well formed.
 */
void Validate(const Problem& problem);

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_VALIDATE_H_
