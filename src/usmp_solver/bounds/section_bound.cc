#include "usmp_solver/bounds/section_bound.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "usmp_solver/bounds/overlap_savings.h"
#include "usmp_solver/model/wide_bytes.h"

namespace usmp {

namespace {

/*! \brief Most alignments that are tried as the smallest one; problems have two or three. */
constexpr size_t kMaxAlignments = 16;

/*! \brief Sizes rounded up to multiples of `unit` bytes; 0 for items that are left out. */
struct RoundedSizes {
  int64_t unit = 0;
  std::vector<int64_t> sizes;
};

/*! \brief Round sizes of items of at least this alignment; nullopt if one overflows int64. */
std::optional<RoundedSizes> RoundSizes(const PoolProblem& problem, int64_t least_alignment) {
  RoundedSizes rounded;
  for (const PoolProblem::Item& item : problem.items) {
    if (item.alignment >= least_alignment) rounded.unit = std::gcd(rounded.unit, item.alignment);
  }
  rounded.sizes.reserve(problem.items.size());
  for (const PoolProblem::Item& item : problem.items) {
    if (item.alignment < least_alignment) {
      rounded.sizes.push_back(0);
      continue;
    }
    const std::optional<int64_t> size = AlignUp(item.size, rounded.unit);
    if (!size) return std::nullopt;
    rounded.sizes.push_back(*size);
  }
  return rounded;
}

std::vector<WideBytes> RoundedLoads(const PoolProblem& problem, const RoundedSizes& rounded) {
  std::vector<WideBytes> loads = SumBySection(problem, [&](size_t i) { return rounded.sizes[i]; });
  if (problem.overlaps.empty()) return loads;
  const std::vector<WideBytes> savings = OverlapSavings(problem, rounded.sizes);
  for (size_t s = 0; s < loads.size(); ++s) loads[s] -= savings[s];
  return loads;
}

/*! \brief Return the most bytes that rounding added to an item of each section. */
std::vector<int64_t> MostAdded(const PoolProblem& problem, const RoundedSizes& rounded) {
  struct Added {
    int32_t begin;
    int32_t end;
    int64_t bytes;
  };
  std::vector<Added> spans;
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const PoolProblem::Item& item = problem.items[i];
    const int64_t added = rounded.sizes[i] == 0 ? 0 : rounded.sizes[i] - item.size;
    if (added == 0) continue;
    for (const PoolProblem::Span& span : problem.SpansOf(item)) {
      spans.push_back({span.begin, span.end, added});
    }
  }
  std::sort(spans.begin(), spans.end(),
            [](const Added& lhs, const Added& rhs) { return lhs.begin < rhs.begin; });
  std::priority_queue<std::pair<int64_t, int32_t>> live;
  std::vector<int64_t> most(problem.num_sections, 0);
  size_t next = 0;
  for (int32_t s = 0; s < problem.num_sections; ++s) {
    for (; next < spans.size() && spans[next].begin == s; ++next) {
      live.push({spans[next].bytes, spans[next].end});
    }
    while (!live.empty() && live.top().second <= s) live.pop();
    if (!live.empty()) most[s] = live.top().first;
  }
  return most;
}

int64_t BoundOfAlignment(const PoolProblem& problem, int64_t least_alignment) {
  const std::optional<RoundedSizes> rounded = RoundSizes(problem, least_alignment);
  if (!rounded) return 0;
  const std::vector<WideBytes> loads = RoundedLoads(problem, *rounded);
  std::vector<int64_t> added;
  if (rounded->unit > 1) added = MostAdded(problem, *rounded);
  WideBytes bound = 0;
  for (size_t s = 0; s < loads.size(); ++s) {
    bound = std::max(bound, loads[s] - (added.empty() ? 0 : added[s]));
  }
  return Clamp(bound);
}

}  // namespace

int64_t SectionBound(const PoolProblem& problem, Budget* budget) {
  std::vector<int64_t> alignments;
  int64_t bound = 0;
  for (const PoolProblem::Item& item : problem.items) {
    alignments.push_back(item.alignment);
    bound = std::max(bound, item.size);
  }
  std::sort(alignments.begin(), alignments.end());
  alignments.erase(std::unique(alignments.begin(), alignments.end()), alignments.end());
  if (alignments.size() > kMaxAlignments) alignments.resize(kMaxAlignments);
  const int64_t steps = problem.spans.size() + problem.num_sections + problem.overlaps.size();
  for (int64_t least : alignments) {
    bound = std::max(bound, BoundOfAlignment(problem, least));
    if (!budget->Spend(steps)) break;
  }
  return bound;
}

}  // namespace usmp
