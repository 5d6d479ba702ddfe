// From buffers to a plan: what every built-in algorithm has in common.
#ifndef USMP_SOLVE_H_
#define USMP_SOLVE_H_

#include <functional>

#include "first_fit.h"
#include "problem.h"

namespace usmp {

/*! \brief Must give the same solution whenever it is called with the same problem. */
using Algorithm = std::function<Solution(const Problem&)>;

/*!
 * \brief Plan the buffers with the algorithm.
 *
 * Throws ValueError for a buffer that fits nowhere; the message says what would be enough.
 */
ffi::Map<BufferInfo, PoolAllocation> Solve(const ffi::Array<BufferInfo>& buffers,
                                           const Algorithm& algorithm);

}  // namespace usmp

#endif  // USMP_SOLVE_H_
