// Numbers near the ends of 64 bits, and beyond them.
#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <vector>

#include "usmp_solver/model/problem.h"
#include "usmp_solver/model/wide_bytes.h"

namespace usmp {

namespace {

constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();

/*! \brief Check all comparisons of two numbers whose order is known. */
void CheckOrder(WideBytes lhs, WideBytes rhs, int order) {
  CHECK((lhs < rhs) == (order < 0));
  CHECK((lhs > rhs) == (order > 0));
  CHECK((lhs <= rhs) == (order <= 0));
  CHECK((lhs >= rhs) == (order >= 0));
}

}  // namespace

TEST_CASE("a sum is checked on both ends") {
  CHECK(CheckedAdd(kNoLimit - 1, 1) == kNoLimit);
  CHECK(CheckedAdd(kNoLimit, 1) == std::nullopt);
  CHECK(CheckedAdd(kNoLimit, kNoLimit) == std::nullopt);
  CHECK(CheckedAdd(kSmallest + 1, -1) == kSmallest);
  CHECK(CheckedAdd(kSmallest, -1) == std::nullopt);
  CHECK(CheckedAdd(kSmallest, kSmallest) == std::nullopt);
  CHECK(CheckedAdd(kSmallest, kNoLimit) == -1);
  CHECK(ClampedAdd(kNoLimit, 1) == kNoLimit);
  CHECK(AlignUp(kNoLimit - 7, 8) == kNoLimit - 7);
  CHECK(AlignUp(kNoLimit - 6, 8) == std::nullopt);
}

TEST_CASE("sums of sizes do not wrap") {
  // All pairs of numbers near the ends of 64 bits and near 0.
  const std::vector<int64_t> numbers = {kSmallest, kSmallest + 1, -2,      -1, 0, 1,
                                        2,         kNoLimit - 1,  kNoLimit};
  for (size_t a = 0; a < numbers.size(); ++a) {
    for (size_t b = 0; b < numbers.size(); ++b) {
      CAPTURE(numbers[a]);
      CAPTURE(numbers[b]);
      const int order = a < b ? -1 : a > b;
      CheckOrder(numbers[a], numbers[b], order);
      // Move the numbers far beyond 64 bits, in both directions, and back.
      const WideBytes far = WideBytes{kNoLimit} + kNoLimit + kNoLimit;
      CheckOrder(far + numbers[a], far + numbers[b], order);
      CheckOrder(numbers[a] - far, numbers[b] - far, order);
      CheckOrder(-far + numbers[a], far + numbers[b], -1);
      CheckOrder(far + numbers[a] - far, numbers[b], order);
      CheckOrder(-WideBytes{numbers[a]}, -WideBytes{numbers[b]}, -order);
      CheckOrder(WideBytes{numbers[a]} + numbers[b] - numbers[a], numbers[b], 0);
    }
  }
}

TEST_CASE("what is wider than 64 bits is clamped") {
  CHECK(Clamp(0) == 0);
  CHECK(Clamp(-1) == -1);
  CHECK(Clamp(kNoLimit) == kNoLimit);
  CHECK(Clamp(WideBytes{kNoLimit} + 1) == kNoLimit);
  CHECK(Clamp(WideBytes{kNoLimit} + kNoLimit) == kNoLimit);
  CHECK(Clamp(WideBytes{kNoLimit} + kNoLimit - kNoLimit) == kNoLimit);
}

}  // namespace usmp
