#include "local_search.h"

#include <algorithm>

#include "beam_search.h"

namespace usmp {

namespace {

/*! \brief Different ways of one width: what fails one of them may be easy for the next. */
constexpr BeamSettings kWays[] = {
    {0, 3, 50, false, false}, {0, 0, 50, false, false}, {0, 1, 50, true, false},
    {0, 9, 50, false, false}, {0, 0, 100, true, false}, {0, 1, 100, false, false},
    {0, 3, 50, false, true},
};
constexpr int32_t kFirstWidth = 4;
constexpr int64_t kSmallestPart = int64_t{1} << 40;

}  // namespace

void SearchLocally(const PoolProblem& problem, int64_t lower_bound, Budget* budget, Offsets* best,
                   const std::function<void(int64_t)>& improved) {
  int64_t peak = Peak(problem, *best);
  if (problem.items.empty() || peak <= lower_bound || budget->exhausted()) return;
  const std::optional<BeamModel> model = MakeBeamModel(problem, peak);
  if (!model) return;
  const int32_t widest = WidestBeam(*model);
  const int64_t unit = model->unit;
  const int64_t bound = lower_bound / unit + (lower_bound % unit != 0);
  // The aim goes this part of the way from the peak to the bound; less after failures.
  int64_t part = 4;
  for (int32_t width = std::min(widest, kFirstWidth);;) {
    bool found = false;
    bool is_exhausted = true;
    int64_t highest = 0;
    int64_t aim = 0;
    for (BeamSettings settings : kWays) {
      settings.width = width;
      while (true) {
        // Of the multiples of the unit below the peak.
        highest = (peak - 1) / unit;
        if (highest < bound) return;
        aim = highest - (highest - bound) / part;
        const BeamResult result = SearchBeam(*model, static_cast<int32_t>(aim), settings, budget);
        if (result.places.empty()) {
          is_exhausted = is_exhausted && result.is_exhausted;
          break;
        }
        found = true;
        for (size_t i = 0; i < best->size(); ++i) (*best)[i] = result.places[i] * unit;
        peak = Peak(problem, *best);
        if (improved) improved(peak);
      }
      if (budget->exhausted()) return;
    }
    if (found) continue;
    if (is_exhausted) {
      if (aim == highest) return;
      part = kSmallestPart;
    } else {
      part = std::min(kSmallestPart, 2 * part);
      if (width == widest && aim == highest) return;
      width = std::min(widest, 2 * width);
    }
  }
}

}  // namespace usmp
