#include "usmp_solver/model/pool_problem.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

namespace usmp {

namespace {

using Span = PoolProblem::Span;

/*! \brief A live range of an item. */
struct Live {
  int64_t start;
  int64_t stop;
  int32_t item;
};

/*!
 * \brief Number the sections and append spans. Return the number of sections.
 *
 * A new section begins at each start that follows a stop. The span of a live range reaches from the
 * section of its start to the last section that begins before its stop.
 */
int32_t AddTimeSections(std::vector<Live> live, std::vector<std::vector<Span>>* spans) {
  std::vector<int64_t> stops;
  stops.reserve(live.size());
  for (const Live& range : live) stops.push_back(range.stop);
  std::sort(stops.begin(), stops.end());
  std::sort(live.begin(), live.end(),
            [](const Live& lhs, const Live& rhs) { return lhs.start < rhs.start; });
  // By section, the position at which its last live range starts: all of the section is live there.
  std::vector<int64_t> last_start;
  size_t ended = 0;
  for (const Live& range : live) {
    bool stopped = false;
    while (ended < stops.size() && stops[ended] <= range.start) {
      stopped = true;
      ++ended;
    }
    if (stopped || last_start.empty()) last_start.push_back(range.start);
    last_start.back() = range.start;
    (*spans)[range.item].push_back({static_cast<int32_t>(last_start.size()) - 1, 0});
  }
  std::vector<size_t> filled(spans->size(), 0);
  for (const Live& range : live) {
    const auto end = std::lower_bound(last_start.begin(), last_start.end(), range.stop);
    (*spans)[range.item][filled[range.item]++].end = static_cast<int32_t>(end - last_start.begin());
  }
  return static_cast<int32_t>(last_start.size());
}

/*! \brief Sort the spans, and merge spans that intersect or touch. */
void Normalize(std::vector<Span>* spans) {
  if (spans->size() < 2) return;
  std::sort(spans->begin(), spans->end(),
            [](const Span& lhs, const Span& rhs) { return lhs.begin < rhs.begin; });
  size_t last = 0;
  for (size_t i = 1; i < spans->size(); ++i) {
    const Span& span = (*spans)[i];
    if (span.begin <= (*spans)[last].end) {
      (*spans)[last].end = std::max((*spans)[last].end, span.end);
    } else {
      (*spans)[++last] = span;
    }
  }
  spans->resize(last + 1);
}

/*!
 * \brief Cover `pairs`, which share no section yet, by sets of items that conflict pairwise. Return
 *        the new number of sections.
 *
 * Each uncovered pair becomes a section, extended greedily, in ascending order, by items that
 * conflict with all its members. `adjacent` is symmetric and sorted, and has all conflicts of the
 * items in pairs.
 */
int32_t AddConflictSections(const std::vector<std::vector<int32_t>>& pairs,
                            const std::vector<std::vector<int32_t>>& adjacent, int32_t sections,
                            std::vector<std::vector<Span>>* spans) {
  std::vector<std::vector<bool>> covered;
  covered.reserve(pairs.size());
  for (const std::vector<int32_t>& others : pairs) covered.emplace_back(others.size(), false);
  const auto cover = [&](int32_t a, int32_t b) {
    const auto it = std::lower_bound(pairs[a].begin(), pairs[a].end(), b);
    if (it != pairs[a].end() && *it == b) covered[a][it - pairs[a].begin()] = true;
  };
  for (int32_t a = 0; a < static_cast<int32_t>(pairs.size()); ++a) {
    for (size_t k = 0; k < pairs[a].size(); ++k) {
      if (covered[a][k]) continue;
      std::vector<int32_t> clique = {a, pairs[a][k]};
      std::vector<int32_t> common;
      std::set_intersection(adjacent[a].begin(), adjacent[a].end(), adjacent[pairs[a][k]].begin(),
                            adjacent[pairs[a][k]].end(), std::back_inserter(common));
      while (!common.empty()) {
        const int32_t next = common.front();
        clique.push_back(next);
        std::vector<int32_t> rest;
        std::set_intersection(common.begin(), common.end(), adjacent[next].begin(),
                              adjacent[next].end(), std::back_inserter(rest));
        common = std::move(rest);
      }
      for (int32_t x : clique) {
        (*spans)[x].push_back({sections, sections + 1});
        for (int32_t y : clique) cover(x, y);
      }
      ++sections;
    }
  }
  return sections;
}

/*!
 * \brief Return all conflicts of the items that are in `pairs`.
 *
 * An item that intersects a span either lives in the span's first section or begins in a later one.
 * So the live items are listed only for the first sections of those spans.
 */
std::vector<std::vector<int32_t>> Adjacency(const std::vector<std::vector<int32_t>>& pairs,
                                            const std::vector<std::vector<Span>>& spans,
                                            int32_t sections) {
  std::vector<int32_t> asked;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].empty()) continue;
    for (const Span& span : spans[i]) asked.push_back(span.begin);
  }
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  std::vector<std::vector<int32_t>> living(sections);
  std::vector<std::vector<int32_t>> beginning(sections);
  for (size_t i = 0; i < spans.size(); ++i) {
    for (const Span& span : spans[i]) {
      beginning[span.begin].push_back(i);
      auto it = std::lower_bound(asked.begin(), asked.end(), span.begin);
      for (; it != asked.end() && *it < span.end; ++it) living[*it].push_back(i);
    }
  }
  std::vector<std::vector<int32_t>> adjacent = pairs;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].empty()) continue;
    std::vector<int32_t>& others = adjacent[i];
    for (const Span& span : spans[i]) {
      others.insert(others.end(), living[span.begin].begin(), living[span.begin].end());
      for (int32_t s = span.begin + 1; s < span.end; ++s) {
        others.insert(others.end(), beginning[s].begin(), beginning[s].end());
      }
    }
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    others.erase(std::remove(others.begin(), others.end(), static_cast<int32_t>(i)), others.end());
  }
  return adjacent;
}

/*! \brief Return the index of each buffer among the members with bytes; -1 for other buffers. */
std::vector<int32_t> ItemsOf(const Problem& problem, const std::vector<size_t>& members,
                             std::vector<size_t>* buffers) {
  std::vector<int32_t> items(problem.buffers.size(), -1);
  for (size_t b : members) {
    if (problem.buffers[b].size == 0) continue;
    items[b] = static_cast<int32_t>(buffers->size());
    buffers->push_back(b);
  }
  return items;
}

/*! \brief Return the conflicts that do not follow from spans: symmetric and sorted. */
std::vector<std::vector<int32_t>> FurtherPairs(const Problem& problem,
                                               const std::vector<int32_t>& items,
                                               const std::vector<std::vector<Span>>& spans) {
  std::vector<std::vector<int32_t>> pairs(spans.size());
  for (const Problem::Conflict& conflict : problem.conflicts) {
    const int32_t a = items[conflict.first];
    const int32_t b = items[conflict.second];
    if (a < 0 || b < 0 || a == b || Intersect(spans[a], spans[b])) continue;
    pairs[a].push_back(b);
    pairs[b].push_back(a);
  }
  for (std::vector<int32_t>& others : pairs) {
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
  }
  return pairs;
}

/*! \brief Return the distance, rounded up so that both are aligned; nullopt if it overflows. */
std::optional<int64_t> AlignedDistance(const Problem& problem, const Problem::Overlap& overlap) {
  return AlignUp(overlap.distance, std::gcd(problem.buffers[overlap.output].alignment,
                                            problem.buffers[overlap.input].alignment));
}

}  // namespace

PoolProblem MakePoolProblem(const Problem& problem, size_t pool,
                            const std::vector<size_t>& members) {
  PoolProblem result;
  result.capacity = problem.pools[pool].limit;
  const std::vector<int32_t> items = ItemsOf(problem, members, &result.buffers);
  std::vector<std::vector<Span>> spans(result.buffers.size());
  std::vector<Live> live;
  for (size_t i = 0; i < result.buffers.size(); ++i) {
    for (const Problem::LiveRange& range : problem.buffers[result.buffers[i]].live_ranges) {
      if (range.start >= range.stop) continue;
      live.push_back({range.start, range.stop, static_cast<int32_t>(i)});
    }
  }
  result.num_time_sections = AddTimeSections(std::move(live), &spans);
  for (std::vector<Span>& list : spans) Normalize(&list);
  result.num_sections = result.num_time_sections;
  if (!problem.conflicts.empty()) {
    const auto pairs = FurtherPairs(problem, items, spans);
    result.num_sections = AddConflictSections(pairs, Adjacency(pairs, spans, result.num_sections),
                                              result.num_sections, &spans);
  }
  for (size_t i = 0; i < spans.size(); ++i) {
    // An item without conflicts has a section of its own.
    if (spans[i].empty()) {
      spans[i].push_back({result.num_sections, result.num_sections + 1});
      ++result.num_sections;
    }
    Normalize(&spans[i]);
    const Problem::Buffer& buffer = problem.buffers[result.buffers[i]];
    result.items.push_back({buffer.size, buffer.alignment, buffer.fixed_offset.value_or(-1),
                            static_cast<int32_t>(result.spans.size()),
                            static_cast<int32_t>(spans[i].size())});
    result.spans.insert(result.spans.end(), spans[i].begin(), spans[i].end());
  }
  for (const Problem::Overlap& overlap : problem.overlaps) {
    const int32_t output = items[overlap.output];
    const int32_t input = items[overlap.input];
    if (output < 0 || input < 0 || output == input) continue;
    const std::optional<int64_t> distance = AlignedDistance(problem, overlap);
    if (!distance || *distance >= problem.buffers[overlap.output].size) continue;
    if (!Intersect(spans[output], spans[input])) continue;
    result.overlaps.push_back({output, input, *distance});
  }
  std::sort(result.overlaps.begin(), result.overlaps.end(),
            [](const PoolProblem::Overlap& lhs, const PoolProblem::Overlap& rhs) {
              return std::pair(lhs.output, lhs.input) < std::pair(rhs.output, rhs.input);
            });
  return result;
}

int64_t Peak(const PoolProblem& problem, const Offsets& offsets, int64_t unit) {
  int64_t peak = 0;
  for (size_t i = 0; i < offsets.size(); ++i) {
    peak = std::max(peak, offsets[i] + problem.items[i].size * unit);
  }
  return peak;
}

int32_t Duration(const PoolProblem& problem, const PoolProblem::Item& item) {
  int32_t duration = 0;
  for (const Span& span : problem.SpansOf(item)) duration += span.end - span.begin;
  return duration;
}

std::vector<int32_t> AllItems(const PoolProblem& problem) {
  std::vector<int32_t> items(problem.items.size());
  std::iota(items.begin(), items.end(), 0);
  return items;
}

void SortBySize(const PoolProblem& problem, std::vector<int32_t>* items) {
  std::stable_sort(items->begin(), items->end(), [&](int32_t lhs, int32_t rhs) {
    return problem.items[lhs].size > problem.items[rhs].size;
  });
}

std::vector<std::vector<int32_t>> ItemsBySection(const PoolProblem& problem) {
  std::vector<std::vector<int32_t>> items(problem.num_sections);
  for (int32_t i : AllItems(problem)) {
    ForSections(problem, i, [&](int32_t s) { items[s].push_back(i); });
  }
  return items;
}

int64_t NumListed(const PoolProblem& problem) {
  int64_t listed = 0;
  for (const Span& span : problem.spans) listed += span.end - span.begin;
  return listed;
}

std::vector<int64_t> Loads(const PoolProblem& problem) {
  std::vector<int64_t> loads(problem.num_sections + 1, 0);
  for (const PoolProblem::Item& item : problem.items) {
    for (const Span& span : problem.SpansOf(item)) {
      loads[span.begin] += item.size;
      loads[span.end] -= item.size;
    }
  }
  for (int32_t s = 1; s <= problem.num_sections; ++s) loads[s] += loads[s - 1];
  loads.pop_back();
  return loads;
}

}  // namespace usmp
