#include "usmp_solver/model/problem.h"

namespace usmp {

std::optional<int64_t> CheckedAdd(int64_t lhs, int64_t rhs) {
  // Unsigned sums wrap; the overflow of signed ones is undefined.
  const auto sum = static_cast<int64_t>(static_cast<uint64_t>(lhs) + static_cast<uint64_t>(rhs));
  const bool overflows = ((lhs ^ sum) & (rhs ^ sum)) < 0;
  return overflows ? std::nullopt : std::optional(sum);
}

int64_t ClampedAdd(int64_t lhs, int64_t rhs) { return CheckedAdd(lhs, rhs).value_or(kNoLimit); }

std::optional<int64_t> AlignUp(int64_t position, int64_t alignment) {
  return CheckedAdd(position, Padding(position, alignment));
}

}  // namespace usmp
