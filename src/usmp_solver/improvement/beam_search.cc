#include "usmp_solver/improvement/beam_search.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

namespace usmp {

namespace {

/*! \brief The lowest offset of a placed item, and the floor of a completed section. */
constexpr int32_t kNone = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostCells = 32'000'000;
constexpr int32_t kWeights = 4096;

uint64_t Mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

/*! \brief The score and the identity of a state. */
struct Summary {
  /*! \brief Sum of the section weights: less is better. */
  int64_t score = 0;
  uint64_t placed_hash = 0;
  uint64_t floor_hash = 0;
  /*! \brief The last placement. */
  int32_t step = -1;
};

/*! \brief A placement, and the index of the previous one. */
struct Step {
  int32_t before;
  int32_t item;
  int32_t place;
};

/*! \brief The cells of a state: lowest offsets by item, then loads and floors by section. */
struct State {
  int32_t* lowest;
  int32_t* load;
  int32_t* floor;
};

/*! \brief The states after one step. */
class States {
 public:
  States(const BeamModel& model, size_t count)
      : num_items_(model.num_items),
        num_sections_(model.num_sections),
        stride_(static_cast<size_t>(num_items_) + 2 * static_cast<size_t>(num_sections_)),
        cells_(count * stride_),
        summaries(count) {}

  State operator[](size_t index) {
    int32_t* cells = cells_.data() + index * stride_;
    return {cells, cells + num_items_, cells + num_items_ + num_sections_};
  }
  /*! \brief Copy a state; `target` may be one past the last. */
  void Copy(States* from, size_t source, size_t target) {
    if (target == summaries.size()) {
      cells_.resize(cells_.size() + stride_);
      summaries.emplace_back();
    }
    const int32_t* cells = from->cells_.data() + source * stride_;
    std::copy(cells, cells + stride_, cells_.data() + target * stride_);
    summaries[target] = from->summaries[source];
  }
  size_t stride() const { return stride_; }

 private:
  int32_t num_items_;
  int32_t num_sections_;
  size_t stride_;
  std::vector<int32_t> cells_;

 public:
  std::vector<Summary> summaries;
};

class Beam {
 public:
  Beam(const BeamModel& model, int32_t peak, const BeamSettings& settings, Budget* budget)
      : model_(model), peak_(peak), settings_(settings), budget_(budget), scratch_(model, 2) {
    while ((peak_ >> shift_) >= kWeights) ++shift_;
    // Falling powers in integers, so that the result is the same on every machine.
    const int64_t parts = std::max(2, (peak_ >> shift_) / settings_.sharpness);
    weights_.push_back(int64_t{1} << 40);
    for (int32_t k = 1; k < kWeights; ++k) {
      weights_.push_back(weights_.back() - weights_.back() / parts);
    }
  }

  BeamResult Run() {
    States now(model_, 1), next(model_, 1);
    if (!Begin(&now)) return {{}, true};
    size_t count = 1;
    while (count > 0) {
      kept_.clear();
      seen_.clear();
      sequence_ = 0;
      for (size_t k = 0; k < count; ++k) {
        scratch_.Copy(&now, k, 0);
        if (Expand(&next)) return {Places(now.summaries[k].step), false};
        if (!budget_->Spend(std::exchange(work_, 0) / kLooksInStep)) return {{}, false};
      }
      for (const Kept& kept : kept_) {
        steps_.push_back(kept.step);
        next.summaries[kept.slot].step = static_cast<int32_t>(steps_.size()) - 1;
      }
      count = kept_.size();
      std::swap(now, next);
    }
    return {{}, !narrowed_};
  }

 private:
  // Work is counted in looks at single entries of lists. These costs in looks are measured.
  static constexpr int64_t kLooksInStep = 5;
  static constexpr int64_t kLooksToPlace = 100;
  static constexpr int64_t kLooksToKeep = 200;

  struct Kept {
    int64_t score;
    int64_t sequence;
    size_t slot;
    Step step;
    bool operator<(const Kept& other) const {
      return std::make_pair(score, sequence) < std::make_pair(other.score, other.sequence);
    }
  };

  /*! \brief Write the state of the pinned items alone; return false if it is too high. */
  bool Begin(States* states) {
    const State state = (*states)[0];
    std::fill(state.load, state.load + model_.num_sections, 0);
    for (int32_t i = 0; i < model_.num_items; ++i) {
      state.lowest[i] = model_.pins[i] >= 0 ? kNone : model_.Next(i, 0);
      const int32_t end = model_.pins[i] >= 0 ? model_.pins[i] : state.lowest[i];
      if (end > peak_ - model_.sizes[i]) return false;
    }
    // Sums of overlapping items may need 64 bits.
    for (int32_t s = 0; s < model_.num_sections; ++s) {
      int64_t load = 0;
      for (const int32_t* i = model_.members.begin(s); i != model_.members.end(s); ++i) {
        load += model_.sizes[*i];
        for (const auto* it = model_.shared.begin(*i); it != model_.shared.end(*i); ++it) {
          if (it->item > *i && IsIn(it->item, s)) load -= it->amount;
        }
      }
      if (load > peak_) return false;
      state.load[s] = static_cast<int32_t>(load);
    }
    Summary* summary = &states->summaries[0];
    *summary = Summary{};
    for (int32_t s = 0; s < model_.num_sections; ++s) {
      state.floor[s] = Floor(state, s, 0);
      if (IsTooHigh(state, s)) return false;
      Count(state, s, summary);
    }
    return true;
  }

  bool IsIn(int32_t item, int32_t section) const {
    return std::binary_search(model_.sections.begin(item), model_.sections.end(item), section);
  }

  /*! \brief Return the lowest offset of the unplaced items of a section, at least `least`. */
  int32_t Floor(const State& state, int32_t section, int32_t least) {
    int32_t floor = kNone;
    const int32_t* it = model_.members.begin(section);
    const int32_t* const end = model_.members.end(section);
    for (; it != end && floor > least; ++it) floor = std::min(floor, state.lowest[*it]);
    work_ += it - model_.members.begin(section);
    return floor;
  }

  bool IsTooHigh(const State& state, int32_t section) const {
    return state.floor[section] != kNone && state.load[section] > peak_ - state.floor[section];
  }

  int64_t Weight(const State& state, int32_t section) const {
    // Loads that include overlaps may leave more slack than the peak.
    if (state.floor[section] == kNone) return 0;
    const int32_t spare = (peak_ - state.floor[section] - state.load[section]) >> shift_;
    return weights_[std::min(spare, kWeights - 1)];
  }

  uint64_t Hash(const State& state, int32_t section) const {
    return Mixed((static_cast<uint64_t>(section) << 32) +
                 static_cast<uint32_t>(state.floor[section]));
  }

  void Count(const State& state, int32_t section, Summary* summary) const {
    summary->score += Weight(state, section);
    summary->floor_hash += Hash(state, section);
  }

  void Discount(const State& state, int32_t section, Summary* summary) const {
    summary->score -= Weight(state, section);
    summary->floor_hash -= Hash(state, section);
  }

  /*! \brief Return the range of sections that contain the unplaced items of the section. */
  BeamModel::Reach Around(const State& state, int32_t section) {
    BeamModel::Reach around{section, section + 1};
    for (const int32_t* i = model_.members.begin(section); i != model_.members.end(section); ++i) {
      if (state.lowest[*i] == kNone) continue;
      around.begin = std::min(around.begin, *model_.sections.begin(*i));
      around.end = std::max(around.end, *(model_.sections.end(*i) - 1) + 1);
    }
    return around;
  }

  /*! \brief Return a section whose floor is a local minimum; -1 if all items are placed. */
  int32_t Choose(const State& state) {
    int32_t chosen = -1;
    int32_t fewest = kNone;
    for (int32_t s = 0; s < model_.num_sections; ++s) {
      const int32_t floor = state.floor[s];
      if (floor == kNone || (s > 0 && state.floor[s - 1] == floor)) continue;
      int32_t choices = 0;
      for (const int32_t* i = model_.members.begin(s); i != model_.members.end(s); ++i) {
        choices += state.lowest[*i] == floor;
      }
      work_ += model_.members.end(s) - model_.members.begin(s);
      if (choices >= fewest) continue;
      const BeamModel::Reach around = Around(state, s);
      work_ += around.end - around.begin;
      if (*std::min_element(state.floor + around.begin, state.floor + around.end) < floor) continue;
      chosen = s;
      fewest = choices;
      if (settings_.leftmost) break;
    }
    return chosen;
  }

  /*! \brief Keep the successors of scratch state 0. Return true if all items are placed. */
  bool Expand(States* next) {
    const State state = scratch_[0];
    for (int32_t skip = 0;; ++skip) {
      const int32_t section = Choose(state);
      if (section < 0) return true;
      const int32_t floor = state.floor[section];
      for (const int32_t* i = model_.members.begin(section); i != model_.members.end(section);
           ++i) {
        if (state.lowest[*i] != floor) continue;
        scratch_.Copy(&scratch_, 0, 1);
        work_ += kLooksToPlace + static_cast<int64_t>(scratch_.stride()) / 8;
        if (Place(scratch_[1], *i, &scratch_.summaries[1])) {
          Keep({scratch_.summaries[0].step, *i, floor}, next);
        }
      }
      if (skip == settings_.skips || !LeaveEmpty(state, section, &scratch_.summaries[0])) {
        return false;
      }
    }
  }

  /*! \brief Keep the state in scratch slot 1 if it is new and among the best. */
  void Keep(const Step& step, States* next) {
    const Summary& summary = scratch_.summaries[1];
    const bool full = kept_.size() == static_cast<size_t>(settings_.width);
    narrowed_ = narrowed_ || full;
    if (full && summary.score >= kept_.front().score) return;
    if (!seen_.insert(summary.placed_hash + summary.floor_hash).second) return;
    work_ += kLooksToKeep + static_cast<int64_t>(scratch_.stride()) / 8;
    size_t slot = kept_.size();
    if (full) {
      std::pop_heap(kept_.begin(), kept_.end());
      slot = kept_.back().slot;
      kept_.pop_back();
    }
    next->Copy(&scratch_, 1, slot);
    kept_.push_back({summary.score, sequence_++, slot, step});
    std::push_heap(kept_.begin(), kept_.end());
  }

  /*! \brief Place an item at its lowest offset; return false if the peak is exceeded then. */
  bool Place(const State& state, int32_t item, Summary* summary) {
    const int32_t place = state.lowest[item];
    const int32_t top = place + model_.sizes[item];
    state.lowest[item] = kNone;
    summary->placed_hash += Mixed(static_cast<uint64_t>(item) + 1);
    work_ += model_.neighbors.end(item) - model_.neighbors.begin(item);
    for (const int32_t* j = model_.neighbors.begin(item); j != model_.neighbors.end(item); ++j) {
      if (state.lowest[*j] < top && !Raise(state, *j, top)) return false;
    }
    for (const auto* it = model_.inputs.begin(item); it != model_.inputs.end(item); ++it) {
      const int32_t above = place + it->distance;
      if (state.lowest[it->item] < above && !Raise(state, it->item, above)) return false;
    }
    for (const int32_t* s = model_.sections.begin(item); s != model_.sections.end(item); ++s) {
      Discount(state, *s, summary);
      state.load[*s] -= model_.sizes[item];
    }
    // Items that are still unplaced can no longer share bytes with this item.
    for (const auto* it = model_.shared.begin(item); it != model_.shared.end(item); ++it) {
      if (state.lowest[it->item] == kNone) continue;
      for (const int32_t* s = model_.sections.begin(item); s != model_.sections.end(item); ++s) {
        if (IsIn(it->item, *s)) state.load[*s] += it->amount;
      }
    }
    for (const int32_t* s = model_.sections.begin(item); s != model_.sections.end(item); ++s) {
      state.floor[*s] = Floor(state, *s, state.floor[*s]);
      if (IsTooHigh(state, *s)) return false;
      Count(state, *s, summary);
    }
    return Settle(state, model_.reach[item], top, summary);
  }

  /*! \brief Raise the lowest offset of an item to `position`; return whether it still fits. */
  bool Raise(const State& state, int32_t item, int32_t position) {
    state.lowest[item] = model_.Next(item, position);
    return state.lowest[item] <= peak_ - model_.sizes[item];
  }

  /*! \brief Update the floors below `top`. */
  bool Settle(const State& state, const BeamModel::Reach& reach, int32_t top, Summary* summary) {
    work_ += reach.end - reach.begin;
    for (int32_t s = reach.begin; s < reach.end; ++s) {
      if (state.floor[s] >= top) continue;
      const int32_t floor = Floor(state, s, state.floor[s]);
      if (floor == state.floor[s]) continue;
      Discount(state, s, summary);
      state.floor[s] = floor;
      if (IsTooHigh(state, s)) return false;
      Count(state, s, summary);
    }
    return true;
  }

  /*! \brief Leave the floor empty up to the next one around it. */
  bool LeaveEmpty(const State& state, int32_t section, Summary* summary) {
    const BeamModel::Reach around = Around(state, section);
    const int32_t floor = state.floor[section];
    int32_t next = kNone;
    for (int32_t s = around.begin; s < around.end; ++s) {
      if (state.floor[s] > floor) next = std::min(next, state.floor[s]);
      if (!settings_.small_gaps || state.floor[s] != floor || s == section) continue;
      work_ += model_.members.end(s) - model_.members.begin(s);
      for (const int32_t* i = model_.members.begin(s); i != model_.members.end(s); ++i) {
        if (state.lowest[*i] != floor || IsIn(*i, section)) continue;
        next = std::min(next, floor + model_.sizes[*i]);
      }
    }
    if (next == kNone) return false;
    for (const int32_t* i = model_.members.begin(section); i != model_.members.end(section); ++i) {
      if (state.lowest[*i] < next && !Raise(state, *i, next)) return false;
    }
    return Settle(state, around, next, summary);
  }

  std::vector<int32_t> Places(int32_t step) const {
    std::vector<int32_t> places = model_.pins;
    for (; step >= 0; step = steps_[step].before) places[steps_[step].item] = steps_[step].place;
    return places;
  }

  const BeamModel& model_;
  const int32_t peak_;
  const BeamSettings settings_;
  Budget* budget_;
  int32_t shift_ = 0;
  std::vector<int64_t> weights_;
  /*! \brief The state to expand, and its successor. */
  States scratch_;
  std::vector<Step> steps_;
  /*! \brief A heap with the worst state on top. */
  std::vector<Kept> kept_;
  std::unordered_set<uint64_t> seen_;
  int64_t sequence_ = 0;
  bool narrowed_ = false;
  /*! \brief Looks that are not yet spent from the budget. */
  int64_t work_ = 0;
};

}  // namespace

int32_t WidestBeam(const BeamModel& model) {
  const int64_t cells =
      8 + 4 * static_cast<int64_t>(model.num_items) + 2 * int64_t{model.num_sections};
  return static_cast<int32_t>(std::min<int64_t>(1 << 16, kMostCells / cells));
}

BeamResult SearchBeam(const BeamModel& model, int32_t peak, const BeamSettings& settings,
                      Budget* budget) {
  return Beam(model, peak, settings, budget).Run();
}

}  // namespace usmp
