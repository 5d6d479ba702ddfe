#include "usmp_solver/bounds/overlap_savings.h"

#include <algorithm>
#include <utility>

#include "usmp_solver/model/separations.h"

namespace usmp {

namespace {

/*! \brief The other item of an overlap. */
struct Partner {
  int32_t item;
  int64_t size;
  int64_t distance;
  /*! \brief Most bytes that the two items can share. */
  int64_t common;
};

/*! \brief With more partners, savings are summed regardless of where the partners lie. */
constexpr size_t kMaxPartnersCompared = 64;

bool AnyOverlap(const PoolProblem& problem, const std::vector<Partner>& partners) {
  for (const Partner& a : partners) {
    for (const Partner& b : partners) {
      if (FindDistance(problem.overlaps, a.item, b.item)) return true;
    }
  }
  return false;
}

/*! \brief Return the sum of the shared bytes of all pairs: an upper bound, wherever they lie. */
WideBytes SumOfCommon(const std::vector<Partner>& live) {
  WideBytes sum = 0;
  for (const Partner& partner : live) sum += partner.common;
  return sum;
}

/*!
 * \brief Return the most bytes of an input that disjoint outputs cover.
 *
 * An output that overlaps the input starts at or below it, so it covers the first byte of the
 * input: only one output can.
 */
WideBytes CoveredByOutputs(const std::vector<Partner>& live) {
  int64_t most = 0;
  for (const Partner& partner : live) most = std::max(most, partner.common);
  return most;
}

/*! \brief The begin or the end of a range of sections that a partner shares with the item. */
struct Change {
  int32_t section;
  int32_t partner;
  bool begins;
};

std::vector<Change> Changes(const PoolProblem& problem, int32_t item,
                            const std::vector<Partner>& partners) {
  const auto spans = problem.SpansOf(problem.items[item]);
  std::vector<Change> changes;
  for (size_t k = 0; k < partners.size(); ++k) {
    const auto of_partner = problem.SpansOf(problem.items[partners[k].item]);
    AnyIntersection(spans, of_partner, [&](PoolProblem::Span common) {
      changes.push_back({common.begin, static_cast<int32_t>(k), true});
      changes.push_back({common.end, static_cast<int32_t>(k), false});
      return false;
    });
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& lhs, const Change& rhs) { return lhs.section < rhs.section; });
  return changes;
}

/*!
 * \brief Add the savings of an item to `savings`, as differences from section to section.
 *
 * \param saved returns the bytes saved with the given live partners, in their order.
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
  std::vector<Partner> live;
  WideBytes before = 0;
  for (size_t c = 0; c < changes.size();) {
    const int32_t section = changes[c].section;
    // In one section, an end and a begin come in any order. They never belong to the same partner,
    // because the spans of an item are not adjacent.
    for (; c < changes.size() && changes[c].section == section; ++c) {
      is_live[changes[c].partner] = changes[c].begins;
    }
    live.clear();
    for (size_t k = 0; k < partners.size(); ++k) {
      if (is_live[k]) live.push_back(partners[k]);
    }
    const WideBytes now = saved(live);
    (*savings)[section] += now - before;
    before = now;
  }
}

}  // namespace

// The union of all buffers is at least the sum of the sizes minus the bytes that each pair shares
// (Bonferroni's inequality). One sum counts each pair at its output, another sum counts it at its
// input; the smaller sum is returned.
std::vector<WideBytes> OverlapSavings(const PoolProblem& problem,
                                      const std::vector<int64_t>& sizes) {
  std::vector<std::vector<Partner>> inputs(problem.items.size());
  std::vector<std::vector<Partner>> outputs(problem.items.size());
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    const int64_t output = sizes[overlap.output];
    const int64_t input = sizes[overlap.input];
    if (input == 0 || overlap.distance >= output) continue;
    const int64_t common = std::min(input, output - overlap.distance);
    inputs[overlap.output].push_back({overlap.input, input, overlap.distance, common});
    outputs[overlap.input].push_back({overlap.output, output, overlap.distance, common});
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
          problem, i, partners, [&](const auto& live) { return CoveredBytes(0, live, sizes[i]); },
          &at_outputs);
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
