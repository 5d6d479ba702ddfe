#include "usmp_solver/bounds/overlap_savings.h"

#include <algorithm>
#include <utility>

#include "usmp_solver/model/separations.h"

namespace usmp {

namespace {

/*! \brief The other buffer of an overlap. */
struct Partner {
  int32_t item;
  int64_t distance;
  /*! \brief Bytes that the two can have in common. */
  int64_t common;
};

/*! \brief Groups with more partners are counted without regard to where these can lie. */
constexpr size_t kMaxPartnersCompared = 64;

bool AnyOverlap(const PoolProblem& problem, const std::vector<Partner>& partners) {
  for (const Partner& a : partners) {
    for (const Partner& b : partners) {
      if (FindDistance(problem.overlaps, a.item, b.item)) return true;
    }
  }
  return false;
}

/*! \brief The pairs may have no more in common than this, whatever else overlaps. */
WideBytes SumOfCommon(const std::vector<const Partner*>& live) {
  WideBytes sum = 0;
  for (const Partner* partner : live) sum += partner->common;
  return sum;
}

/*!
 * \brief The most bytes of an output that inputs cover which do not overlap each other.
 *
 * Each starts at its distance from the start of the output or later, as jobs with release dates do
 * on one machine: until the end of the output, the machine is busy the longest if it never waits
 * while there is a job.
 *
 * \param live by distance.
 */
WideBytes CoveredByInputs(const std::vector<const Partner*>& live, int64_t output_size,
                          const std::vector<int64_t>& sizes) {
  WideBytes covered = 0;
  int64_t end = 0;
  for (const Partner* partner : live) {
    const int64_t start = std::max(end, partner->distance);
    if (start >= output_size) break;
    end = start + std::min(output_size - start, sizes[partner->item]);
    covered += end - start;
  }
  return covered;
}

/*!
 * \brief The most bytes of an input that outputs cover which do not overlap each other.
 *
 * An output that has bytes in common with it starts no higher than it does, so covers its first
 * byte: only one of them can.
 */
WideBytes CoveredByOutputs(const std::vector<const Partner*>& live) {
  int64_t most = 0;
  for (const Partner* partner : live) most = std::max(most, partner->common);
  return most;
}

/*! \brief One of the partners begins or ends to have sections in common with the item. */
struct Change {
  int32_t section;
  int32_t partner;
  bool begins;
};

std::vector<Change> Changes(const PoolProblem& problem, int32_t item,
                            const std::vector<Partner>& partners) {
  const PoolProblem::Span* const spans = problem.spans.data();
  const PoolProblem::Item& a = problem.items[item];
  std::vector<Change> changes;
  for (size_t k = 0; k < partners.size(); ++k) {
    const PoolProblem::Item& b = problem.items[partners[k].item];
    for (int32_t i = a.first_span, j = b.first_span;
         i < a.first_span + a.num_spans && j < b.first_span + b.num_spans;) {
      const int32_t begin = std::max(spans[i].begin, spans[j].begin);
      const int32_t end = std::min(spans[i].end, spans[j].end);
      if (begin < end) {
        changes.push_back({begin, static_cast<int32_t>(k), true});
        changes.push_back({end, static_cast<int32_t>(k), false});
      }
      spans[i].end < spans[j].end ? ++i : ++j;
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& lhs, const Change& rhs) { return lhs.section < rhs.section; });
  return changes;
}

/*!
 * \brief Add what an item saves to the differences of `savings` from section to section.
 *
 * \param saved by the partners that are live, in their order, the bytes that are saved.
 */
template <typename Saved>
void AddSavings(const PoolProblem& problem, int32_t item, const std::vector<Partner>& partners,
                const Saved& saved, std::vector<WideBytes>* savings) {
  const std::vector<Change> changes = Changes(problem, item, partners);
  if (partners.size() > kMaxPartnersCompared) {
    for (const Change& change : changes) {
      const WideBytes common = partners[change.partner].common;
      (*savings)[change.section] += change.begins ? common : -common;
    }
    return;
  }
  std::vector<bool> is_live(partners.size(), false);
  std::vector<const Partner*> live;
  WideBytes before = 0;
  for (size_t c = 0; c < changes.size();) {
    const int32_t section = changes[c].section;
    // An end may stand before the begin of the next span in the same section, or after it: spans
    // of one item do not meet, so the two are never of the same partner.
    for (; c < changes.size() && changes[c].section == section; ++c) {
      is_live[changes[c].partner] = changes[c].begins;
    }
    live.clear();
    for (size_t k = 0; k < partners.size(); ++k) {
      if (is_live[k]) live.push_back(&partners[k]);
    }
    const WideBytes now = saved(live);
    (*savings)[section] += now - before;
    before = now;
  }
}

}  // namespace

// The bytes that are taken are at least the sizes less what each pair has in common (Bonferroni's
// inequality). Pairs are counted at their outputs, then at their inputs; the smaller sum holds.
std::vector<WideBytes> OverlapSavings(const PoolProblem& problem,
                                      const std::vector<int64_t>& sizes) {
  std::vector<std::vector<Partner>> inputs(problem.items.size());
  std::vector<std::vector<Partner>> outputs(problem.items.size());
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    const int64_t output = sizes[overlap.output];
    const int64_t input = sizes[overlap.input];
    if (input == 0 || overlap.distance >= output) continue;
    const int64_t common = std::min(input, output - overlap.distance);
    inputs[overlap.output].push_back({overlap.input, overlap.distance, common});
    outputs[overlap.input].push_back({overlap.output, overlap.distance, common});
  }
  std::vector<WideBytes> at_outputs(problem.num_sections + 1, 0);
  std::vector<WideBytes> at_inputs(problem.num_sections + 1, 0);
  for (size_t i = 0; i < problem.items.size(); ++i) {
    std::vector<Partner>& partners = inputs[i];
    std::stable_sort(partners.begin(), partners.end(), [](const Partner& lhs, const Partner& rhs) {
      return lhs.distance < rhs.distance;
    });
    const bool few_inputs = partners.size() <= kMaxPartnersCompared;
    if (few_inputs && !AnyOverlap(problem, partners)) {
      AddSavings(
          problem, i, partners,
          [&](const auto& live) { return CoveredByInputs(live, sizes[i], sizes); }, &at_outputs);
    } else {
      AddSavings(problem, i, partners, SumOfCommon, &at_outputs);
    }
    const bool few_outputs = outputs[i].size() <= kMaxPartnersCompared;
    if (few_outputs && !AnyOverlap(problem, outputs[i])) {
      AddSavings(problem, i, outputs[i], CoveredByOutputs, &at_inputs);
    } else {
      AddSavings(problem, i, outputs[i], SumOfCommon, &at_inputs);
    }
  }
  at_outputs = Accumulate(std::move(at_outputs));
  at_inputs = Accumulate(std::move(at_inputs));
  for (size_t s = 0; s < at_outputs.size(); ++s) {
    at_outputs[s] = std::min(at_outputs[s], at_inputs[s]);
  }
  return at_outputs;
}

}  // namespace usmp
