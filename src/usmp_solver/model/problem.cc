#include "usmp_solver/model/problem.h"

namespace usmp {

std::optional<int64_t> CheckedAdd(int64_t lhs, int64_t rhs) {
  int64_t sum;
  if (__builtin_add_overflow(lhs, rhs, &sum)) return std::nullopt;
  return sum;
}

int64_t ClampedAdd(int64_t lhs, int64_t rhs) { return CheckedAdd(lhs, rhs).value_or(kNoLimit); }

std::optional<int64_t> AlignUp(int64_t position, int64_t alignment) {
  const int64_t beyond = position % alignment;
  return beyond == 0 ? position : CheckedAdd(position, alignment - beyond);
}

}  // namespace usmp
