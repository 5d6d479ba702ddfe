#include "hill_climb.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "greedy.h"

namespace usmp {

namespace {

/*! \brief Attempts that are made at least, and placements of everything whose work all attempts
 *         together may take: most place only a part anew. */
constexpr int kAttempts = 500;

/*! \brief Placed buffers that all attempts together may look at; large graphs get fewer. */
constexpr int64_t kWork = 100'000'000;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

class Climber {
 public:
  Climber(const Problem& problem, const ConflictGraph& conflicts)
      : problem_(problem), conflicts_(conflicts) {}

  Solution Run(int64_t memory_pressure) {
    const std::vector<std::vector<size_t>> orders = {OrderBySize(problem_, conflicts_),
                                                     OrderByConflicts(problem_, conflicts_)};
    for (const std::vector<size_t>& order : orders) Keep(FirstFit(problem_, conflicts_, order));
    std::optional<Placements> fixed_part = PlaceFixedPart(orders[0]);
    if (!fixed_part) return std::move(best_);
    placer_.emplace(problem_, conflicts_, std::move(*fixed_part));
    for (const std::vector<size_t>& order : orders) Try(Movable(order), 0);
    Climb(memory_pressure);
    Account(placer_->Result(std::nullopt));
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

  /*! \brief Where greedy put it, or would have if something else had not been left out; nothing if
   *         that is nowhere. */
  std::optional<Placements> PlaceFixedPart(const std::vector<size_t>& order) {
    Placer placer(problem_, conflicts_);
    for (size_t b : PinnedFirst(problem_, order)) {
      if (!IsFixed(b)) continue;
      const std::optional<Placement>& known = best_.placements[b];
      const bool placed = known && !best_.unplaced ? placer.TryPlace(b, known->pool, known->offset)
                                                   : placer.TryPlace(b);
      if (!placed) return std::nullopt;
    }
    return placer.placements();
  }

  void Climb(int64_t memory_pressure) {
    int64_t all = 0;
    for (size_t b : order_) all += Work(b);
    replaced_ = 0;
    for (int64_t attempt = 0; attempt < kAttempts || attempt + replaced_ < kAttempts * all;
         ++attempt) {
      if (best_total_ <= memory_pressure || best_.work + placer_->work() >= kWork) break;
      Attempt();
    }
  }

  void Attempt() {
    const auto [from, to] = ChooseMove();
    if (from == to) return;
    std::vector<size_t> order = order_;
    std::rotate(order.begin() + to, order.begin() + from, order.begin() + from + 1);
    Try(std::move(order), to);
  }

  /*!
   * \brief Place in the order, and go on from it unless it is worse. What fits nowhere goes beyond
   *        a limit, so that the peaks tell how far off the order is.
   *
   * \param begin the position up to which the order is as before: these buffers stay.
   */
  void Try(std::vector<size_t> order, size_t begin) {
    const std::vector<bool> beyond_before = beyond_;
    Placements before;
    beyond_.resize(problem_.buffers.size());
    for (size_t k = begin; k < order.size(); ++k) {
      before.push_back(placer_->placements()[order[k]]);
      placer_->Remove(order[k]);
      beyond_[order[k]] = false;
    }
    const int64_t total = PlaceFrom(order, begin);
    if (std::find(beyond_.begin(), beyond_.end(), true) == beyond_.end() && total < best_total_) {
      best_.placements = placer_->placements();
      best_.unplaced = std::nullopt;
      best_total_ = total;
    }
    if (total <= current_total_) {
      current_total_ = total;
      order_ = std::move(order);
      tops_ = Tops();
      return;
    }
    for (size_t k = begin; k < order.size(); ++k) placer_->Restore(order[k], before[k - begin]);
    beyond_ = beyond_before;
  }

  /*! \brief Place the buffers from this position on; the sum of the peaks, or kMax as soon as it is
   *         clear that it is too high. */
  int64_t PlaceFrom(const std::vector<size_t>& order, size_t begin) {
    std::vector<int64_t> peaks = Peaks(problem_, placer_->placements());
    int64_t total = Total(peaks);
    bool beyond = std::find(beyond_.begin(), beyond_.end(), true) != beyond_.end();
    for (size_t k = begin; k < order.size(); ++k) {
      const size_t b = order[k];
      replaced_ += Work(b);
      if (!placer_->TryPlace(b)) {
        beyond = beyond_[b] = true;
        placer_->PlaceBeyondLimit(b);
      }
      const std::optional<Placement>& place = placer_->placements()[b];
      const int64_t size = problem_.buffers[b].size;
      if (!place || size == 0 || place->offset + size <= peaks[place->pool]) continue;
      peaks[place->pool] = place->offset + size;
      total = Total(peaks);
      if (total > current_total_ && (beyond || total >= best_total_)) return kMax;
    }
    return total;
  }

  /*! \brief What it takes to place the buffer, in one pool and whatever the limits: so these do not
   *         decide how many attempts are made. */
  int64_t Work(size_t b) const { return 1 + static_cast<int64_t>(conflicts_.Degree(b)); }

  /*! \brief Two positions in the order: the buffer at the first goes to the second, before it. */
  std::pair<size_t, size_t> ChooseMove() {
    if (tops_.empty()) return {0, 0};
    size_t a = tops_[Random(tops_.size())];
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
    const Placements& placements = placer_->placements();
    const std::vector<int64_t> peaks = Peaks(problem_, placements);
    std::vector<size_t> tops;
    for (size_t b = 0; b < placements.size(); ++b) {
      const std::optional<Placement>& place = placements[b];
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
  int64_t Total(const std::vector<int64_t>& peaks) const {
    int64_t total = 0;
    for (size_t p = 0; p < peaks.size(); ++p) {
      if (!IsConstantPool(p)) total = CheckedAdd(total, peaks[p]).value_or(kMax);
    }
    return total;
  }

  /*! \brief Keep a greedy solution if it is the best, or the first of those that leave a buffer
   *         out. */
  void Keep(const Solution& solution) {
    const int64_t total = solution.unplaced ? kMax : Total(Peaks(problem_, solution.placements));
    if (best_.refused.empty()) {
      best_ = solution;
      best_total_ = total;
      return;
    }
    Account(solution);
    if (total >= best_total_) return;
    best_.placements = solution.placements;
    best_.unplaced = solution.unplaced;
    best_total_ = total;
  }

  /*! \brief Take over what was done for a solution, whatever became of it. */
  void Account(const Solution& solution) {
    best_.work += solution.work;
    for (size_t p = 0; p < problem_.pools.size(); ++p) {
      best_.refused[p] = std::min(best_.refused[p], solution.refused[p]);
      best_.highest_ends[p] = std::max(best_.highest_ends[p], solution.highest_ends[p]);
    }
  }

  /*! \brief Of 0 to count - 1. The generator's numbers are the standard's; its distributions' are
   *         each library's own. */
  size_t Random(size_t count) { return static_cast<size_t>(random_() % count); }

  const Problem& problem_;
  const ConflictGraph& conflicts_;
  std::mt19937_64 random_;
  /*! \brief The order to go on from. */
  std::vector<size_t> order_;
  /*! \brief Holds the places in that order, and of the buffers that moves do not touch. */
  std::optional<Placer> placer_;
  /*! \brief By buffer, whether it found no place within the limits. */
  std::vector<bool> beyond_;
  /*! \brief Work of the buffers that attempts placed anew. */
  int64_t replaced_ = 0;
  /*! \brief The buffers at the top of their workspace pools. */
  std::vector<size_t> tops_;
  int64_t current_total_ = kMax;
  Solution best_;
  int64_t best_total_ = kMax;
};

}  // namespace

Solution HillClimb(const Problem& problem, const ConflictGraph& conflicts,
                   int64_t memory_pressure) {
  return Climber(problem, conflicts).Run(memory_pressure);
}

}  // namespace usmp
