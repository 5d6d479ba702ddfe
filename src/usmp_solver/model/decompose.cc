#include "usmp_solver/model/decompose.h"

#include <algorithm>
#include <utility>

namespace usmp {

namespace {

using Span = PoolProblem::Span;

/*! \brief Most levels of peeling. Each level looks at all remaining items once. */
constexpr int kMaxLevels = 64;

/*!
 * \brief Return, for each new section, the last old section in which a span starts.
 *
 * As with live ranges, a new section begins at each start that follows an end.
 */
std::vector<int32_t> SectionsOf(std::vector<int32_t> starts, std::vector<int32_t> ends) {
  std::sort(starts.begin(), starts.end());
  std::sort(ends.begin(), ends.end());
  std::vector<int32_t> last_start;
  size_t ended = 0;
  for (int32_t start : starts) {
    const size_t before = ended;
    while (ended < ends.size() && ends[ended] <= start) ++ended;
    if (ended > before || last_start.empty()) last_start.push_back(start);
    last_start.back() = start;
  }
  return last_start;
}

/*! \brief Return the first section whose last start is at `position` or later. */
int32_t SectionFrom(const std::vector<int32_t>& last_start, int32_t position) {
  const auto it = std::lower_bound(last_start.begin(), last_start.end(), position);
  return static_cast<int32_t>(it - last_start.begin());
}

void SelectOverlaps(const PoolProblem& problem, const std::vector<int32_t>& items,
                    PoolProblem* selected) {
  if (problem.overlaps.empty()) return;
  for (size_t i = 0; i < items.size(); ++i) {
    auto it = std::lower_bound(problem.overlaps.begin(), problem.overlaps.end(), items[i],
                               [](const PoolProblem::Overlap& overlap, int32_t output) {
                                 return overlap.output < output;
                               });
    for (; it != problem.overlaps.end() && it->output == items[i]; ++it) {
      const auto input = std::lower_bound(items.begin(), items.end(), it->input);
      if (input == items.end() || *input != it->input) continue;
      selected->overlaps.push_back(
          {static_cast<int32_t>(i), static_cast<int32_t>(input - items.begin()), it->distance});
    }
  }
}

bool LivesThroughout(const PoolProblem& problem, size_t item) {
  const PoolProblem::Item& it = problem.items[item];
  return it.num_spans == 1 && problem.BeginOf(it) == 0 && problem.EndOf(it) == problem.num_sections;
}

/*!
 * \brief Return the items of a component that can lie below all others.
 *
 * Each size must be a multiple of the alignments of all items that may rise above it.
 */
std::vector<int32_t> Peelable(const PoolProblem& problem) {
  std::vector<bool> overlaps(problem.items.size(), false);
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    overlaps[overlap.output] = overlaps[overlap.input] = true;
  }
  // Require that all alignments divide the largest, as powers of two do, so that only the largest
  // has to divide sizes.
  int64_t alignment = 1;
  for (const PoolProblem::Item& item : problem.items) {
    if (item.fixed_offset >= 0) return {};
    alignment = std::max(alignment, item.alignment);
  }
  for (const PoolProblem::Item& item : problem.items) {
    if (alignment % item.alignment != 0) return {};
  }
  std::vector<int32_t> peelable;
  for (size_t i = 0; i < problem.items.size(); ++i) {
    if (!overlaps[i] && problem.items[i].size % alignment == 0 && LivesThroughout(problem, i)) {
      peelable.push_back(static_cast<int32_t>(i));
    }
  }
  return peelable;
}

std::vector<int32_t> Others(const PoolProblem& problem, const std::vector<int32_t>& items) {
  const std::vector<int32_t> all = AllItems(problem);
  std::vector<int32_t> others;
  std::set_difference(all.begin(), all.end(), items.begin(), items.end(),
                      std::back_inserter(others));
  return others;
}

/*! \brief Return a part of a part. Its items are numbered as in the whole problem. */
Part SubPart(const Part& part, const std::vector<int32_t>& items, int64_t base) {
  Part result;
  result.problem = Select(part.problem, items);
  result.items.reserve(items.size());
  for (int32_t item : items) result.items.push_back(part.items[item]);
  result.base = base;
  if (part.problem.capacity != kNoLimit) {
    result.problem.capacity = part.problem.capacity - (base - part.base);
  }
  return result;
}

/*! \brief Split off the peelable items, and add the remaining components to `left`. Return false if
 *         no item is peelable. */
bool Peel(const Part& component, std::vector<Part>* peeled, std::vector<Part>* left) {
  const std::vector<int32_t> bottom = Peelable(component.problem);
  if (bottom.empty()) return false;
  int64_t base = component.base;
  for (int32_t item : bottom) {
    peeled->push_back(SubPart(component, {item}, base));
    base += component.problem.items[item].size;
  }
  const Part rest = SubPart(component, Others(component.problem, bottom), base);
  for (const std::vector<int32_t>& items : Components(rest.problem)) {
    left->push_back(SubPart(rest, items, base));
  }
  return true;
}

}  // namespace

PoolProblem Select(const PoolProblem& problem, const std::vector<int32_t>& items) {
  std::vector<int32_t> starts;
  std::vector<int32_t> ends;
  for (int32_t i : items) {
    for (const Span& span : problem.SpansOf(problem.items[i])) {
      starts.push_back(span.begin);
      ends.push_back(span.end);
    }
  }
  const std::vector<int32_t> last_start = SectionsOf(std::move(starts), std::move(ends));
  PoolProblem result;
  result.num_sections = static_cast<int32_t>(last_start.size());
  result.num_time_sections = SectionFrom(last_start, problem.num_time_sections);
  result.capacity = problem.capacity;
  for (int32_t i : items) {
    PoolProblem::Item item = problem.items[i];
    const size_t first_span = result.spans.size();
    for (const Span& old : problem.SpansOf(item)) {
      const Span span = {SectionFrom(last_start, old.begin), SectionFrom(last_start, old.end)};
      if (result.spans.size() > first_span && result.spans.back().end >= span.begin) {
        result.spans.back().end = span.end;
      } else {
        result.spans.push_back(span);
      }
    }
    item.first_span = static_cast<int32_t>(first_span);
    item.num_spans = static_cast<int32_t>(result.spans.size() - first_span);
    result.items.push_back(item);
    result.buffers.push_back(problem.buffers[i]);
  }
  SelectOverlaps(problem, items, &result);
  return result;
}

std::vector<std::vector<int32_t>> Components(const PoolProblem& problem) {
  struct Live {
    Span span;
    int32_t item;
  };
  std::vector<Live> lives;
  lives.reserve(problem.spans.size());
  const int32_t num_items = static_cast<int32_t>(problem.items.size());
  for (int32_t i = 0; i < num_items; ++i) {
    for (const Span& span : problem.SpansOf(problem.items[i])) lives.push_back({span, i});
  }
  std::sort(lives.begin(), lives.end(), [](const Live& lhs, const Live& rhs) {
    return lhs.span.begin != rhs.span.begin ? lhs.span.begin < rhs.span.begin : lhs.item < rhs.item;
  });
  DisjointSets sets(problem.items.size());
  int32_t reach = 0;
  for (size_t k = 0; k < lives.size(); ++k) {
    if (k > 0 && lives[k].span.begin < reach) sets.Unite(lives[k - 1].item, lives[k].item);
    reach = std::max(reach, lives[k].span.end);
  }
  std::vector<int32_t> number(problem.items.size(), -1);
  std::vector<std::vector<int32_t>> components;
  for (int32_t i = 0; i < num_items; ++i) {
    int32_t& at = number[sets.Find(i)];
    if (at < 0) {
      at = static_cast<int32_t>(components.size());
      components.emplace_back();
    }
    components[at].push_back(i);
  }
  return components;
}

std::vector<int32_t> ComponentOf(const PoolProblem& problem, int32_t item) {
  std::vector<std::vector<int32_t>> components = Components(problem);
  const auto it = std::find_if(
      components.begin(), components.end(), [&](const std::vector<int32_t>& component) {
        return std::binary_search(component.begin(), component.end(), item);
      });
  return std::move(*it);
}

std::vector<Part> Decompose(const PoolProblem& problem) {
  Part whole;
  whole.problem = problem;
  whole.items = AllItems(problem);
  std::vector<Part> open;
  const auto components = Components(problem);
  if (components.size() == 1) {
    open.push_back(std::move(whole));
  } else {
    for (const auto& items : components) open.push_back(SubPart(whole, items, 0));
  }
  std::vector<Part> parts;
  for (int level = 0; level < kMaxLevels && !open.empty(); ++level) {
    std::vector<Part> next;
    for (Part& component : open) {
      if (component.items.size() == 1 || !Peel(component, &parts, &next)) {
        parts.push_back(std::move(component));
      }
    }
    open = std::move(next);
  }
  for (Part& component : open) parts.push_back(std::move(component));
  return parts;
}

}  // namespace usmp
