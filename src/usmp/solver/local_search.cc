#include "local_search.h"

#include <algorithm>

#include "beam_search.h"

namespace usmp {

namespace {

/*! \brief Different ways of one width: what fails one of them may be easy for the next. */
constexpr BeamSettings kWays[] = {
    {0, 3, 50, false}, {0, 0, 50, false}, {0, 1, 50, true},
    {0, 9, 50, false}, {0, 0, 100, true}, {0, 1, 100, false},
};
constexpr int32_t kFirstWidth = 4;

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
  int64_t part = 4;
  for (int32_t width = std::min(widest, kFirstWidth);;) {
    bool found = false;
    for (BeamSettings settings : kWays) {
      settings.width = width;
      while (true) {
        // Multiples of the unit below the peak; pins and alignment may make a peak that is none.
        const int64_t highest = (peak - 1) / unit;
        if (highest < bound) return;
        const int64_t aim = highest - (highest - bound) / part;
        const std::vector<int32_t> places =
            SearchBeam(*model, static_cast<int32_t>(aim), settings, budget);
        if (budget->exhausted()) return;
        if (places.empty()) break;
        found = true;
        for (size_t i = 0; i < places.size(); ++i) (*best)[i] = places[i] * unit;
        peak = Peak(problem, *best);
        if (improved) improved(peak);
      }
    }
    if (found) continue;
    part *= 2;
    if (width == widest) return;
    width = std::min(widest, 2 * width);
  }
}

}  // namespace usmp
