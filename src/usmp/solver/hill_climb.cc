#include "hill_climb.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "greedy.h"

namespace usmp {

namespace {

constexpr int kAttempts = 500;

/*! \brief Placed buffers that all attempts together may look at; large graphs get fewer. */
constexpr int64_t kWork = 100'000'000;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

class Climb {
 public:
  Climb(const Problem& problem, const ConflictGraph& conflicts)
      : problem_(problem), conflicts_(conflicts) {}

  Solution Run(int64_t memory_pressure) {
    const std::vector<std::vector<size_t>> orders = {OrderBySize(problem_, conflicts_),
                                                     OrderByConflicts(problem_, conflicts_)};
    for (const std::vector<size_t>& order : orders) Keep(FirstFit(problem_, conflicts_, order));
    if (PlaceFixedPart(orders[0])) {
      for (const std::vector<size_t>& order : orders) Try(Movable(order));
      for (int attempt = 0; attempt < kAttempts && best_.work < kWork; ++attempt) {
        if (best_total_ <= memory_pressure) break;
        Attempt();
      }
    }
    return std::move(best_);
  }

 private:
  using Placements = std::vector<std::optional<Placement>>;

  /*! \brief Whether moves have no say in where the buffer is. */
  bool IsFixed(size_t b) const {
    const Problem::Buffer& buffer = problem_.buffers[b];
    return buffer.fixed_offset || std::all_of(buffer.pools.begin(), buffer.pools.end(),
                                              [&](size_t p) { return IsConstantPool(p); });
  }

  bool IsConstantPool(size_t pool) const { return problem_.pools[pool].is_constant; }

  std::vector<size_t> Movable(std::vector<size_t> order) const {
    order.erase(std::remove_if(order.begin(), order.end(), [&](size_t b) { return IsFixed(b); }),
                order.end());
    return order;
  }

  /*! \brief Where greedy put it, or would have if something else had not been left out; false if
   *         that is nowhere. */
  bool PlaceFixedPart(const std::vector<size_t>& order) {
    Placer placer(problem_, conflicts_);
    for (size_t b : PinnedFirst(problem_, order)) {
      if (!IsFixed(b)) continue;
      const std::optional<Placement>& known = best_.placements[b];
      const bool placed = known && !best_.unplaced ? placer.TryPlace(b, known->pool, known->offset)
                                                   : placer.TryPlace(b);
      if (!placed) return false;
    }
    fixed_part_ = placer.placements();
    return true;
  }

  void Attempt() {
    const auto [from, to] = ChooseMove();
    if (from == to) return;
    std::vector<size_t> order = order_;
    std::rotate(order.begin() + to, order.begin() + from, order.begin() + from + 1);
    Try(std::move(order));
  }

  /*! \brief Place in the order, and go on from it unless it is worse. What fits nowhere goes beyond
   *         a limit, so that the peaks tell how far off the order is. */
  void Try(std::vector<size_t> order) {
    Placer placer(problem_, conflicts_, fixed_part_);
    std::optional<size_t> unplaced;
    for (size_t b : order) {
      if (placer.TryPlace(b)) continue;
      unplaced = b;
      placer.PlaceBeyondLimit(b);
    }
    const int64_t total = Total(placer.placements());
    if (total <= current_total_) {
      current_ = placer.placements();
      current_total_ = total;
      order_ = std::move(order);
    }
    Keep(placer.Result(unplaced));
  }

  /*! \brief Two positions in the order: the buffer at the first goes to the second, before it. */
  std::pair<size_t, size_t> ChooseMove() {
    const std::vector<size_t> tops = Tops();
    if (tops.empty()) return {0, 0};
    size_t a = tops[Random(tops.size())];
    if (Random(2) == 0) a = Neighbour(a);
    size_t b = Neighbour(a);
    if (Random(2) == 0) b = Neighbour(b);
    if (IsFixed(a) || IsFixed(b)) return {0, 0};
    const auto position = [&](size_t buffer) {
      return static_cast<size_t>(std::find(order_.begin(), order_.end(), buffer) - order_.begin());
    };
    return {std::max(position(a), position(b)), std::min(position(a), position(b))};
  }

  /*! \brief The buffers at the top of their workspace pools. */
  std::vector<size_t> Tops() const {
    const std::vector<int64_t> peaks = Peaks(problem_, current_);
    std::vector<size_t> tops;
    for (size_t b = 0; b < current_.size(); ++b) {
      const std::optional<Placement>& place = current_[b];
      const int64_t size = problem_.buffers[b].size;
      if (!place || size == 0 || IsConstantPool(place->pool)) continue;
      if (place->offset + size == peaks[place->pool]) tops.push_back(b);
    }
    return tops;
  }

  size_t Neighbour(size_t b) {
    const size_t degree = conflicts_.Degree(b);
    return degree == 0 ? b : conflicts_.NeighbourAt(b, Random(degree));
  }

  /*! \brief The sum of the peaks of the workspace pools. */
  int64_t Total(const Placements& placements) const {
    const std::vector<int64_t> peaks = Peaks(problem_, placements);
    int64_t total = 0;
    for (size_t p = 0; p < peaks.size(); ++p) {
      if (!IsConstantPool(p)) total = CheckedAdd(total, peaks[p]).value_or(kMax);
    }
    return total;
  }

  /*! \brief Keep the places of the solution if it is the best, or the first of those that leave a
   *         buffer out; and what was done for it in any case. */
  void Keep(const Solution& solution) {
    const int64_t total = solution.unplaced ? kMax : Total(solution.placements);
    if (best_.refused.empty()) {
      best_ = solution;
      best_total_ = total;
      return;
    }
    best_.work += solution.work;
    for (size_t p = 0; p < problem_.pools.size(); ++p) {
      best_.refused[p] = std::min(best_.refused[p], solution.refused[p]);
      best_.highest_ends[p] = std::max(best_.highest_ends[p], solution.highest_ends[p]);
    }
    if (total >= best_total_) return;
    best_.placements = solution.placements;
    best_.unplaced = solution.unplaced;
    best_total_ = total;
  }

  /*! \brief Of 0 to count - 1. The generator's numbers are the standard's; its distributions' are
   *         each library's own. */
  size_t Random(size_t count) { return static_cast<size_t>(random_() % count); }

  const Problem& problem_;
  const ConflictGraph& conflicts_;
  std::mt19937_64 random_;
  /*! \brief Buffers that moves do not touch, at their places. */
  Placements fixed_part_;
  std::vector<size_t> order_;
  Placements current_;
  int64_t current_total_ = kMax;
  Solution best_;
  int64_t best_total_ = kMax;
};

}  // namespace

Solution HillClimb(const Problem& problem, const ConflictGraph& conflicts,
                   int64_t memory_pressure) {
  return Climb(problem, conflicts).Run(memory_pressure);
}

}  // namespace usmp
