// The limits of numbers in the beam model.
#include "usmp_solver/improvement/beam_model.h"

#include <doctest/doctest.h>

#include <numeric>

namespace usmp {

namespace {

/*! \brief Return whether there is a model of buffers that are all live together, each of which may
 *         start at the offset of any later one. */
bool HasModel(size_t buffers) {
  constexpr int64_t kSize = (1 << 27) - 1;
  Problem problem;
  problem.pools = {{"sram"}};
  for (size_t b = 0; b < buffers; ++b) {
    problem.buffers.push_back({"", b == 0 ? kSize - 1 : kSize, 1, {}, {0}, {{0, 1}}});
    for (size_t output = 0; output < b; ++output) problem.overlaps.push_back({output, b, 0});
  }
  std::vector<size_t> members(buffers);
  std::iota(members.begin(), members.end(), size_t{0});
  return MakeBeamModel(MakePoolProblem(problem, 0, members), kSize).has_value();
}

}  // namespace

TEST_CASE("what beams calculate with stays within its numbers") {
  CHECK(HasModel(3));
  CHECK_FALSE(HasModel(40));
}

}  // namespace usmp
