// Sums of sizes that may exceed 64 bits.
#ifndef USMP_SOLVER_MODEL_WIDE_BYTES_H_
#define USMP_SOLVER_MODEL_WIDE_BYTES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*! \brief Holds the sum of as many sizes as there can be. */
using WideBytes = __int128;

/*! \brief As int64; kNoLimit for what is larger. */
inline int64_t Clamp(WideBytes bytes) {
  return bytes > kNoLimit ? kNoLimit : static_cast<int64_t>(bytes);
}

/*! \brief By section, the sum of its differences to the ones before: one more than sections. */
inline std::vector<WideBytes> Accumulate(std::vector<WideBytes> differences) {
  for (size_t s = 1; s < differences.size(); ++s) differences[s] += differences[s - 1];
  differences.pop_back();
  return differences;
}

/*! \brief By section, the sum of `bytes(i)` over its items i. */
template <typename Bytes>
std::vector<WideBytes> SumBySection(const PoolProblem& problem, Bytes bytes) {
  std::vector<WideBytes> differences(problem.num_sections + 1, 0);
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const PoolProblem::Item& item = problem.items[i];
    for (int32_t k = item.first_span; k < item.first_span + item.num_spans; ++k) {
      differences[problem.spans[k].begin] += bytes(i);
      differences[problem.spans[k].end] -= bytes(i);
    }
  }
  return Accumulate(std::move(differences));
}

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_WIDE_BYTES_H_
