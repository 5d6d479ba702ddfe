#include "scale.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace usmp {

namespace {

constexpr int64_t kLargestPeak = int64_t{1} << 60;

/*! \brief The end of the highest pin, and everything stacked above it. */
std::optional<int64_t> LargestPeak(const PoolProblem& problem) {
  int64_t highest = 0;
  int64_t stacked = 0;
  for (const PoolProblem::Item& item : problem.items) {
    highest = std::max(highest, item.fixed_offset);
    if (item.size > kLargestPeak || item.alignment > kLargestPeak || highest > kLargestPeak) {
      return std::nullopt;
    }
    stacked += item.size + item.alignment - 1;
    if (stacked + highest > kLargestPeak) return std::nullopt;
  }
  return highest + stacked;
}

}  // namespace

Offsets ScaledProblem::Unscale(Offsets offsets) const {
  for (int64_t& offset : offsets) offset *= unit;
  return offsets;
}

std::optional<ScaledProblem> Scale(const PoolProblem& problem) {
  const std::optional<int64_t> largest = LargestPeak(problem);
  if (!largest) return std::nullopt;
  int64_t unit = 0;
  for (const PoolProblem::Item& item : problem.items) {
    unit = std::gcd(unit, item.size);
    if (item.fixed_offset > 0) unit = std::gcd(unit, item.fixed_offset);
  }
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    unit = std::gcd(unit, overlap.distance);
  }
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

bool HasCircle(const PoolProblem& problem, int64_t largest_distance) {
  std::map<std::pair<int32_t, int32_t>, int64_t> distances;
  for (const PoolProblem::Overlap& o : problem.overlaps)
    distances[{o.output, o.input}] = o.distance;
  std::vector<std::vector<int32_t>> inputs(problem.items.size());
  std::vector<int32_t> outputs_left(problem.items.size(), 0);
  for (const auto& [pair, distance] : distances) {
    const auto back = distances.find({pair.second, pair.first});
    if (distance > largest_distance) continue;
    if (distance == 0 && back != distances.end() && back->second == 0) continue;
    inputs[pair.first].push_back(pair.second);
    ++outputs_left[pair.second];
  }
  std::vector<int32_t> ready;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (outputs_left[i] == 0) ready.push_back(static_cast<int32_t>(i));
  }
  for (size_t next = 0; next < ready.size(); ++next) {
    for (int32_t input : inputs[ready[next]]) {
      if (--outputs_left[input] == 0) ready.push_back(input);
    }
  }
  return ready.size() < problem.items.size();
}

}  // namespace usmp
