#include "usmp_solver/improvement/local_search.h"

#include <algorithm>
#include <iterator>

#include "usmp_solver/improvement/beam_search.h"

namespace usmp {

namespace {

/*! \brief Settings for one width. A problem may be hard for one setting and easy for the next. */
constexpr BeamSettings kWays[] = {
    {0, 3, 50, false, false}, {0, 0, 50, false, false}, {0, 1, 50, true, false},
    {0, 9, 50, false, false}, {0, 0, 100, true, false}, {0, 1, 100, false, false},
    {0, 3, 50, false, true},
};
constexpr int64_t kSmallestPart = int64_t{1} << 40;

}  // namespace

void LocalSearch::Run(int64_t lower_bound, Budget* budget, Offsets* best,
                      const std::function<void(int64_t)>& improved) {
  const int64_t peak = Peak(*problem_, *best);
  if (has_ended_ || problem_->items.empty() || peak <= lower_bound || budget->exhausted()) return;
  if (!model_) {
    model_ = MakeBeamModel(*problem_, peak);
    has_ended_ = !model_;
    if (has_ended_) return;
    width_ = std::min(width_, WidestBeam(*model_));
  }
  const int64_t unit = model_->unit;
  const int64_t bound = lower_bound / unit + (lower_bound % unit != 0);
  while (TryWay(bound, budget, best, improved)) {
    if (++way_ < std::size(kWays)) continue;
    way_ = 0;
    if (!found_ && !Widen()) {
      has_ended_ = true;
      return;
    }
    found_ = false;
    is_exhausted_ = true;
  }
}

/*! \brief Lower the peak with the present settings; return false to stop for now. */
bool LocalSearch::TryWay(int64_t bound, Budget* budget, Offsets* best,
                         const std::function<void(int64_t)>& improved) {
  BeamSettings settings = kWays[way_];
  settings.width = width_;
  while (true) {
    // The highest multiple of the unit below the peak.
    const int64_t highest = (Peak(*problem_, *best) - 1) / model_->unit;
    if (highest < bound) return false;
    const int64_t aim = highest - (highest - bound) / part_;
    aims_highest_ = aim == highest;
    const BeamResult result = SearchBeam(*model_, static_cast<int32_t>(aim), settings, budget);
    // A search that the budget interrupted is repeated.
    if (budget->exhausted() && result.places.empty()) return false;
    if (result.places.empty()) {
      is_exhausted_ = is_exhausted_ && result.is_exhausted;
      return true;
    }
    found_ = true;
    for (size_t i = 0; i < best->size(); ++i) (*best)[i] = result.places[i] * model_->unit;
    if (improved) improved(Peak(*problem_, *best));
  }
}

/*! \brief Widen the beam or raise the target after failures; return false if that is impossible. */
bool LocalSearch::Widen() {
  if (is_exhausted_) {
    if (aims_highest_) return false;
    part_ = kSmallestPart;
    return true;
  }
  const int32_t widest = WidestBeam(*model_);
  if (width_ == widest && aims_highest_) return false;
  part_ = std::min(kSmallestPart, 2 * part_);
  width_ = std::min(widest, 2 * width_);
  return true;
}

}  // namespace usmp
