// Sums of sizes that may exceed 64 bits.
#ifndef USMP_SOLVER_MODEL_WIDE_BYTES_H_
#define USMP_SOLVER_MODEL_WIDE_BYTES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*! \brief A sum of any number of sizes. Not every compiler has 128-bit numbers. */
class WideBytes {
 public:
  /*! \brief Implicit, like a conversion from a narrower integer. */
  constexpr WideBytes(int64_t bytes)
      : high_(bytes < 0 ? -1 : 0), low_(static_cast<uint64_t>(bytes)) {}

  constexpr WideBytes& operator+=(WideBytes other) {
    low_ += other.low_;
    high_ += other.high_ + (low_ < other.low_ ? 1 : 0);
    return *this;
  }
  constexpr WideBytes& operator-=(WideBytes other) {
    high_ -= other.high_ + (low_ < other.low_ ? 1 : 0);
    low_ -= other.low_;
    return *this;
  }
  friend constexpr WideBytes operator+(WideBytes lhs, WideBytes rhs) { return lhs += rhs; }
  friend constexpr WideBytes operator-(WideBytes lhs, WideBytes rhs) { return lhs -= rhs; }
  constexpr WideBytes operator-() const { return WideBytes(0) - *this; }

  friend constexpr bool operator<(WideBytes lhs, WideBytes rhs) {
    return lhs.high_ != rhs.high_ ? lhs.high_ < rhs.high_ : lhs.low_ < rhs.low_;
  }
  friend constexpr bool operator>(WideBytes lhs, WideBytes rhs) { return rhs < lhs; }
  friend constexpr bool operator<=(WideBytes lhs, WideBytes rhs) { return !(rhs < lhs); }
  friend constexpr bool operator>=(WideBytes lhs, WideBytes rhs) { return !(lhs < rhs); }

  friend constexpr int64_t Clamp(WideBytes bytes);

 private:
  int64_t high_;
  uint64_t low_;
};

/*! \brief Convert to int64, at most kNoLimit. `bytes` must be at least the smallest int64. */
constexpr int64_t Clamp(WideBytes bytes) {
  return bytes > kNoLimit ? kNoLimit : static_cast<int64_t>(bytes.low_);
}

/*! \brief Return the prefix sums of `differences`, without the last sum. */
inline std::vector<WideBytes> Accumulate(std::vector<WideBytes> differences) {
  for (size_t s = 1; s < differences.size(); ++s) differences[s] += differences[s - 1];
  differences.pop_back();
  return differences;
}

/*! \brief Return, for each section, the sum of `bytes(i)` over its items i. */
template <typename Bytes>
std::vector<WideBytes> SumBySection(const PoolProblem& problem, Bytes bytes) {
  std::vector<WideBytes> differences(problem.num_sections + 1, 0);
  for (size_t i = 0; i < problem.items.size(); ++i) {
    for (const PoolProblem::Span& span : problem.SpansOf(problem.items[i])) {
      differences[span.begin] += bytes(i);
      differences[span.end] -= bytes(i);
    }
  }
  return Accumulate(std::move(differences));
}

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_WIDE_BYTES_H_
