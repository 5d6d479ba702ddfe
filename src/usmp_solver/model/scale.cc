#include "usmp_solver/model/scale.h"

#include <algorithm>
#include <numeric>

#include "usmp_solver/model/extent.h"

namespace usmp {

namespace {

/*! \brief Return the highest pin plus all sizes and paddings, or nullopt if that is too large. */
std::optional<int64_t> LargestPeak(const PoolProblem& problem) {
  int64_t highest = 0;
  int64_t stacked = 0;
  for (const PoolProblem::Item& item : problem.items) {
    highest = std::max(highest, item.fixed_offset);
    if (item.size > kMaxExtent || item.alignment > kMaxExtent || highest > kMaxExtent) {
      return std::nullopt;
    }
    stacked += item.size + item.alignment - 1;
    if (stacked + highest > kMaxExtent) return std::nullopt;
  }
  return highest + stacked;
}

}  // namespace

Offsets ScaledProblem::Unscale(Offsets offsets) const {
  for (int64_t& offset : offsets) offset *= unit;
  return offsets;
}

int64_t CommonDivisor(const PoolProblem& problem) {
  int64_t divisor = 0;
  for (const PoolProblem::Item& item : problem.items) {
    divisor = std::gcd(divisor, item.size);
    if (item.fixed_offset > 0) divisor = std::gcd(divisor, item.fixed_offset);
  }
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    divisor = std::gcd(divisor, overlap.distance);
  }
  return divisor;
}

int64_t CompactUnit(const PoolProblem& problem) {
  int64_t unit = CommonDivisor(problem);
  // An alignment that divides the unit needs nothing. Any other one has to be a multiple of the
  // unit. Repeat, because a smaller unit may no longer be a multiple of an earlier alignment.
  for (int64_t before = 0; before != unit;) {
    before = unit;
    for (const PoolProblem::Item& item : problem.items) {
      if (unit % item.alignment != 0) unit = std::gcd(unit, item.alignment);
    }
  }
  return unit;
}

std::optional<ScaledProblem> Scale(const PoolProblem& problem) {
  const std::optional<int64_t> largest = LargestPeak(problem);
  if (!largest) return std::nullopt;
  int64_t unit = CommonDivisor(problem);
  const bool aligned =
      std::all_of(problem.items.begin(), problem.items.end(),
                  [&](const PoolProblem::Item& item) { return unit % item.alignment == 0; });
  if (!aligned) {
    for (const PoolProblem::Item& item : problem.items) unit = std::gcd(unit, item.alignment);
  }
  ScaledProblem scaled{problem, std::max<int64_t>(unit, 1), *largest};
  for (PoolProblem::Item& item : scaled.problem.items) {
    item.size /= scaled.unit;
    item.alignment = aligned ? 1 : item.alignment / scaled.unit;
    if (item.fixed_offset > 0) item.fixed_offset /= scaled.unit;
  }
  for (PoolProblem::Overlap& overlap : scaled.problem.overlaps) overlap.distance /= scaled.unit;
  if (problem.capacity != kNoLimit) scaled.problem.capacity /= scaled.unit;
  return scaled;
}

}  // namespace usmp
