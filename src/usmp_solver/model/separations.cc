#include "usmp_solver/model/separations.h"

namespace usmp {

std::vector<int64_t> SmallestSeparations(const PoolProblem& problem) {
  std::vector<int64_t> smallest;
  for (const PoolProblem::Item& item : problem.items) smallest.push_back(item.size);
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    smallest[overlap.output] = std::min(smallest[overlap.output], overlap.distance);
  }
  return smallest;
}

bool HasCircle(const PoolProblem& problem) {
  std::vector<std::vector<int32_t>> inputs(problem.items.size());
  std::vector<int32_t> outputs_left(problem.items.size(), 0);
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    const auto back = FindDistance(problem.overlaps, overlap.input, overlap.output);
    if (overlap.distance == 0 && back == 0) continue;
    inputs[overlap.output].push_back(overlap.input);
    ++outputs_left[overlap.input];
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
