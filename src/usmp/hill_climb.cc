#include "hill_climb.h"

#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "greedy.h"
#include "solve.h"

namespace usmp {

namespace {

constexpr int kAttempts = 500;

/*! \brief Placed buffers that all attempts together may look at; large graphs get fewer. */
constexpr int64_t kWork = 1'000'000'000;

class Climb {
 public:
  explicit Climb(const Problem& problem)
      : problem_(problem), refused_(problem.pools.size(), std::numeric_limits<int64_t>::max()) {}

  Solution Run(int64_t memory_pressure) {
    std::vector<size_t> start;
    int64_t start_total = kMax;
    for (const std::vector<size_t>& order : {OrderBySize(problem_), OrderByConflicts(problem_)}) {
      Keep(FirstFit(problem_, order));
      order_ = PinnedFirst(problem_, order);
      Placements placements = FirstFitInOrder();
      if (!start.empty() && current_total_ >= start_total) continue;
      start = order_;
      start_total = current_total_;
      current_ = std::move(placements);
    }
    order_ = std::move(start);
    current_total_ = start_total;
    for (int attempt = 1; attempt <= kAttempts && work_ < kWork; ++attempt) {
      if (best_total_ <= memory_pressure) break;
      Attempt(attempt);
    }
    best_->refused = refused_;
    best_->work = work_;
    return *std::move(best_);
  }

 private:
  using Placements = std::vector<std::optional<Placement>>;

  void Attempt(int attempt) {
    const auto [from, to] = ChooseMove();
    if (from == to) return;
    const std::vector<size_t> order_before = order_;
    const int64_t total_before = current_total_;
    std::rotate(order_.begin() + to, order_.begin() + from, order_.begin() + from + 1);
    Placements placements = FirstFitInOrder();
    if (Acceptable(total_before, current_total_, attempt)) {
      current_ = std::move(placements);
    } else {
      order_ = order_before;
      current_total_ = total_before;
    }
  }

  /*! \brief Place in `order_`; what fits nowhere goes beyond a limit, so that the peaks tell how
   *         far off an order is. Keep the best that needs no such place. */
  Placements FirstFitInOrder() {
    Placer placer(problem_);
    std::optional<size_t> unplaced;
    for (size_t b : order_) {
      if (placer.TryPlace(b)) continue;
      unplaced = b;
      placer.PlaceBeyondLimit(b);
    }
    current_total_ = Total(placer.placements());
    Keep({placer.placements(), unplaced, placer.refused(), placer.work()});
    return placer.placements();
  }

  /*! \brief Two positions in the order: the buffer at the first goes to the second, before it. */
  std::pair<size_t, size_t> ChooseMove() {
    const std::vector<size_t> tops = Tops();
    if (tops.empty()) return {0, 0};
    size_t a = tops[Random(tops.size())];
    if (Random(2) == 0) a = Neighbour(a);
    size_t b = Neighbour(a);
    if (Random(2) == 0) b = Neighbour(b);
    if (problem_.buffers[a].fixed_offset || problem_.buffers[b].fixed_offset) return {0, 0};
    const auto position = [&](size_t buffer) {
      return static_cast<size_t>(std::find(order_.begin(), order_.end(), buffer) - order_.begin());
    };
    return {std::max(position(a), position(b)), std::min(position(a), position(b))};
  }

  /*! \brief The buffers at the top of their pools. */
  std::vector<size_t> Tops() const {
    const std::vector<int64_t> peaks = Peaks(problem_, current_);
    std::vector<size_t> tops;
    for (size_t b = 0; b < current_.size(); ++b) {
      const std::optional<Placement>& place = current_[b];
      const int64_t size = problem_.buffers[b].size;
      if (place && size > 0 && place->offset + size == peaks[place->pool]) tops.push_back(b);
    }
    return tops;
  }

  size_t Neighbour(size_t b) {
    const std::vector<Problem::Conflict>& conflicts = problem_.buffers[b].conflicts;
    return conflicts.empty() ? b : conflicts[Random(conflicts.size())].buffer;
  }

  /*! \brief Up to 2 % worse at first, nothing worse at the end. */
  static bool Acceptable(int64_t before, int64_t after, int attempt) {
    return after - before <= before / 50 / kAttempts * (kAttempts - attempt);
  }

  int64_t Total(const Placements& placements) const {
    int64_t total = 0;
    for (int64_t peak : Peaks(problem_, placements)) total = CheckedAdd(total, peak).value_or(kMax);
    return total;
  }

  /*! \brief Count the work and what was refused; keep the solution if it is the best, or the first
   *         of those that leave a buffer out. */
  void Keep(Solution solution) {
    work_ += solution.work;
    for (size_t p = 0; p < refused_.size(); ++p) {
      refused_[p] = std::min(refused_[p], solution.refused[p]);
    }
    const int64_t total = solution.unplaced ? kMax : Total(solution.placements);
    if (best_ && total >= best_total_) return;
    best_ = std::move(solution);
    best_total_ = total;
  }

  /*! \brief Of 0 to count - 1. The generator's numbers are the standard's; its distributions' are
   *         each library's own. */
  size_t Random(size_t count) { return static_cast<size_t>(random_() % count); }

  static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

  const Problem& problem_;
  std::mt19937_64 random_;
  std::vector<size_t> order_;
  Placements current_;
  int64_t current_total_ = kMax;
  std::optional<Solution> best_;
  int64_t best_total_ = kMax;
  std::vector<int64_t> refused_;
  int64_t work_ = 0;
};

}  // namespace

Solution HillClimb(const Problem& problem, int64_t memory_pressure) {
  return Climb(problem).Run(memory_pressure);
}

namespace {

ffi::Map<BufferInfo, PoolAllocation> HillClimbPlan(const ffi::Array<BufferInfo>& buffers,
                                                   int64_t memory_pressure) {
  return Solve(buffers, [=](const Problem& p) { return HillClimb(p, memory_pressure); });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("tir.usmp.algo.hill_climb", HillClimbPlan);
}

}  // namespace usmp
