#include "usmp_solver/improvement/beam_model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "usmp_solver/model/scale.h"
#include "usmp_solver/model/separations.h"

namespace usmp {

namespace {

using Lists = std::vector<std::vector<int32_t>>;

/*! \brief Limit of offsets in units, so that sums of a few of them fit int32. */
constexpr int64_t kMostUnits = std::numeric_limits<int32_t>::max() / 4;
/*! \brief Most entries in any list of the model. */
constexpr int64_t kMostEntries = 4'000'000;

/*! \brief List the conflicting items of each item; return false if there are too many. */
bool ListNeighbors(const Lists& sections, const Lists& members, Lists* neighbors) {
  std::vector<int32_t> seen_by(sections.size(), -1);
  int64_t entries = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    const int32_t self = static_cast<int32_t>(i);
    seen_by[i] = self;
    for (int32_t s : sections[i]) {
      for (int32_t j : members[s]) {
        if (seen_by[j] == self) continue;
        seen_by[j] = self;
        (*neighbors)[i].push_back(j);
      }
    }
    entries += (*neighbors)[i].size();
    if (entries > kMostEntries) return false;
  }
  return true;
}

std::vector<std::vector<BeamModel::Forbidden>> ForbiddenPlaces(const PoolProblem& problem,
                                                               int64_t unit,
                                                               const Lists& neighbors) {
  const Separations separation(problem);
  std::vector<std::vector<BeamModel::Forbidden>> forbidden(problem.items.size());
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const int64_t pin = problem.items[i].fixed_offset;
    if (pin < 0) continue;
    const int32_t self = static_cast<int32_t>(i);
    for (int32_t j : neighbors[i]) {
      forbidden[j].push_back({static_cast<int32_t>((pin - separation(j, self)) / unit),
                              static_cast<int32_t>((pin + separation(self, j)) / unit)});
    }
  }
  for (auto& places : forbidden) {
    std::sort(places.begin(), places.end(),
              [](const BeamModel::Forbidden& lhs, const BeamModel::Forbidden& rhs) {
                return std::make_pair(lhs.after, lhs.until) < std::make_pair(rhs.after, rhs.until);
              });
  }
  return forbidden;
}

std::vector<BeamModel::Reach> ReachOf(const Lists& sections, const Lists& neighbors) {
  std::vector<BeamModel::Reach> reach;
  for (size_t i = 0; i < sections.size(); ++i) {
    BeamModel::Reach hull{sections[i].front(), sections[i].back() + 1};
    for (int32_t j : neighbors[i]) {
      hull.begin = std::min(hull.begin, sections[j].front());
      hull.end = std::max(hull.end, sections[j].back() + 1);
    }
    reach.push_back(hull);
  }
  return reach;
}

/*!
 * \brief Return whether the load of each section, plus all bytes that its items may share, fits
 *        int32.
 *
 * Loads of overlapping items are not bounded by the peak.
 */
bool LoadsFit(const Lists& members, const std::vector<int32_t>& sizes,
              const std::vector<std::vector<BeamModel::Shared>>& shared) {
  std::vector<int64_t> most(sizes.begin(), sizes.end());
  for (size_t i = 0; i < shared.size(); ++i) {
    for (const BeamModel::Shared& with : shared[i]) most[i] += with.amount;
  }
  return std::all_of(members.begin(), members.end(), [&](const std::vector<int32_t>& section) {
    int64_t sum = 0;
    for (int32_t i : section) sum += most[i];
    return sum <= std::numeric_limits<int32_t>::max();
  });
}

/*! \brief Remove the pinned items from each list. */
void RemovePinned(const PoolProblem& problem, Lists* lists) {
  for (std::vector<int32_t>& list : *lists) {
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](int32_t i) { return problem.items[i].fixed_offset >= 0; }),
               list.end());
  }
}

}  // namespace

std::optional<BeamModel> MakeBeamModel(const PoolProblem& problem, int64_t peak) {
  const size_t count = problem.items.size();
  const int64_t unit = CompactUnit(problem);
  int64_t longest = peak / unit;
  for (const PoolProblem::Item& item : problem.items) {
    if (unit % item.alignment != 0) longest = std::max(longest, item.alignment / unit);
  }
  if (longest > kMostUnits) return std::nullopt;
  if (NumListed(problem) > kMostEntries) return std::nullopt;
  Lists sections(count), members = ItemsBySection(problem), neighbors(count);
  for (size_t i = 0; i < count; ++i) {
    ForSections(problem, i, [&](int32_t s) { sections[i].push_back(s); });
  }
  if (!ListNeighbors(sections, members, &neighbors)) return std::nullopt;
  const std::vector<BeamModel::Reach> reach = ReachOf(sections, neighbors);
  const auto forbidden = ForbiddenPlaces(problem, unit, neighbors);
  RemovePinned(problem, &members);
  RemovePinned(problem, &neighbors);

  std::vector<std::vector<BeamModel::Input>> inputs(count);
  std::vector<std::vector<BeamModel::Shared>> shared(count);
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    const PoolProblem::Item& output = problem.items[overlap.output];
    const PoolProblem::Item& input = problem.items[overlap.input];
    if (output.fixed_offset >= 0 || input.fixed_offset >= 0) continue;
    inputs[overlap.output].push_back(
        {overlap.input, static_cast<int32_t>(overlap.distance / unit)});
    std::vector<int32_t>& others = neighbors[overlap.output];
    others.erase(std::remove(others.begin(), others.end(), overlap.input), others.end());
    const int32_t amount =
        static_cast<int32_t>(std::min(output.size - overlap.distance, input.size) / unit);
    shared[overlap.output].push_back({overlap.input, amount});
    shared[overlap.input].push_back({overlap.output, amount});
  }
  std::vector<int32_t> sizes, alignments, pins;
  for (size_t i = 0; i < count; ++i) {
    const PoolProblem::Item& item = problem.items[i];
    sizes.push_back(static_cast<int32_t>(item.size / unit));
    alignments.push_back(unit % item.alignment == 0 ? 1
                                                    : static_cast<int32_t>(item.alignment / unit));
    pins.push_back(item.fixed_offset < 0 ? -1 : static_cast<int32_t>(item.fixed_offset / unit));
  }
  if (!LoadsFit(members, sizes, shared)) return std::nullopt;
  return BeamModel{unit,
                   static_cast<int32_t>(count),
                   problem.num_sections,
                   std::move(sizes),
                   std::move(alignments),
                   std::move(pins),
                   Rows<int32_t>(sections),
                   Rows<int32_t>(members),
                   Rows<int32_t>(neighbors),
                   Rows<BeamModel::Input>(inputs),
                   Rows<BeamModel::Shared>(shared),
                   Rows<BeamModel::Forbidden>(forbidden),
                   reach};
}

}  // namespace usmp
