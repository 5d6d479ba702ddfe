#include "usmp_solver/model/live_index.h"

namespace usmp {

LiveIndex::LiveIndex(const PoolProblem& problem)
    : problem_(problem),
      items_(problem.spans.size()),
      positions_(problem.spans.size()),
      first_position_(problem.items.size()),
      first_beginning_(problem.num_sections + 1, 0) {
  for (const PoolProblem::Span& span : problem.spans) ++first_beginning_[span.begin];
  int32_t position = 0;
  for (int32_t& first : first_beginning_) {
    const int32_t count = first;
    first = position;
    position += count;
  }
  std::vector<int32_t> next = first_beginning_;
  for (int32_t i = 0; i < static_cast<int32_t>(problem.items.size()); ++i) {
    const PoolProblem::Item& item = problem.items[i];
    for (int32_t k = item.first_span; k < item.first_span + item.num_spans; ++k) {
      positions_[k] = next[problem.spans[k].begin]++;
      items_[positions_[k]] = i;
    }
    first_position_[i] = positions_[item.first_span];
  }
  size_t nodes = problem.spans.size();
  while (true) {
    ends_.emplace_back(nodes, 0);
    if (nodes <= 1) break;
    nodes = (nodes + kChildren - 1) >> kShift;
  }
}

void LiveIndex::Place(int32_t item) {
  const PoolProblem::Item& it = problem_.items[item];
  for (int32_t k = it.first_span; k < it.first_span + it.num_spans; ++k) {
    int32_t node = positions_[k];
    for (std::vector<int32_t>& ends : ends_) {
      if (ends[node] >= problem_.spans[k].end) break;
      ends[node] = problem_.spans[k].end;
      node >>= kShift;
    }
  }
}

void LiveIndex::Remove(int32_t item) {
  const PoolProblem::Item& it = problem_.items[item];
  for (int32_t k = it.first_span; k < it.first_span + it.num_spans; ++k) {
    int32_t node = positions_[k];
    ends_[0][node] = 0;
    for (size_t level = 1; level < ends_.size(); ++level) {
      const std::vector<int32_t>& below = ends_[level - 1];
      node >>= kShift;
      const auto first = below.begin() + (node << kShift);
      const auto last = below.begin() + std::min<size_t>((node + 1) << kShift, below.size());
      const int32_t end = first == last ? 0 : *std::max_element(first, last);
      if (ends_[level][node] == end) break;
      ends_[level][node] = end;
    }
  }
}

}  // namespace usmp
