#include "hill_climb.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "greedy.h"
#include "wide_bytes.h"

namespace usmp {

namespace {

/*! \brief Placements of everything whose work all attempts together may take; most place only a
 *         part anew. TVM makes as many. */
constexpr int64_t kPlacements = 500;

/*! \brief What an attempt takes whatever it places, for each buffer, in buffers looked at. */
constexpr int64_t kOverhead = 6;

/*! \brief Of the random numbers. */
constexpr uint64_t kSeed = 1;

/*! \brief Placed buffers that all attempts together may look at; large graphs get fewer. */
constexpr int64_t kWork = 100'000'000;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

class Climber {
 public:
  Climber(const Problem& problem, const ConflictGraph& conflicts)
      : problem_(problem), conflicts_(conflicts) {}

  Solution Run(int64_t memory_pressure) {
    for (const auto& order_by : {OrderBySize, OrderByConflicts}) {
      start_orders_.push_back(order_by(problem_, conflicts_));
      Keep(FirstFit(problem_, conflicts_, start_orders_.back()));
      if (best_total_ <= memory_pressure) return std::move(best_);
    }
    std::optional<Placements> fixed_part = PlaceFixedPart(start_orders_.front());
    if (!fixed_part) return std::move(best_);
    fixed_peaks_ = Peaks(problem_, *fixed_part);
    placer_.emplace(problem_, conflicts_, std::move(*fixed_part));
    placer_->RankBy(&ranks_);
    Climb(memory_pressure);
    Account(placer_->Result(std::nullopt));
    best_.work += marking_work_;
    return std::move(best_);
  }

 private:
  using Placements = std::vector<std::optional<Placement>>;

  struct Change {
    size_t buffer;
    std::optional<Placement> before;
    bool was_beyond;
  };

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
    StartFromBest();
    int64_t all = 0;
    for (size_t b : order_) all += 1 + static_cast<int64_t>(conflicts_.Degree(b));
    const int64_t overhead = 1 + kOverhead * static_cast<int64_t>(order_.size());
    for (int64_t attempt = 0; attempt * overhead + Work() < kPlacements * all; ++attempt) {
      if (best_total_ <= memory_pressure || Work() >= kWork) break;
      Attempt();
    }
  }

  int64_t Work() const { return best_.work + placer_->work() + marking_work_; }

  /*! \brief Go on from the better of the orders that greedy takes. */
  void StartFromBest() {
    size_t best = 0;
    for (size_t k : {size_t{0}, size_t{1}}) {
      const int64_t total = Start(start_orders_[k]);
      if (total > current_total_) continue;
      current_total_ = total;
      best = k;
    }
    if (best != 1) Start(start_orders_[best]);
    current_height_ = Height();
    tops_ = Tops();
  }

  /*! \brief Place all in the order. */
  int64_t Start(const std::vector<size_t>& order) {
    order_ = Movable(order);
    ranks_.assign(problem_.buffers.size(), 0);
    marked_.assign(problem_.buffers.size(), false);
    beyond_.assign(problem_.buffers.size(), false);
    for (size_t k = 0; k < order_.size(); ++k) {
      ranks_[order_[k]] = k + 1;
      marked_[order_[k]] = true;
      placer_->Remove(order_[k]);
    }
    return Place();
  }

  void Attempt() {
    const bool exchange = Random(2) == 0;
    const auto [from, to] = exchange ? ChooseExchange() : ChooseMove();
    if (from == to) return;
    Move(from, to);
    marked_[order_[to]] = true;
    if (exchange) {
      Move(to + 1, from);
      MarkOpened(from, to);
    }
    const int64_t total = Place();
    const WideBytes height = total > current_total_ ? 0 : Height();
    if (total > current_total_ || (total == current_total_ && height > current_height_)) {
      if (exchange) Move(from, to + 1);
      Move(to, from);
      Undo();
      return;
    }
    current_total_ = total;
    current_height_ = height;
    tops_ = Tops();
  }

  /*! \brief Mark a buffer that was moved back, and those that it no longer keeps out of a place. */
  void MarkOpened(size_t position, size_t before) {
    const size_t moved = order_[position];
    marked_[moved] = true;
    marking_work_ += static_cast<int64_t>(conflicts_.Degree(moved));
    conflicts_.ForEach(moved, [&](const ConflictGraph::Neighbour& neighbour) {
      const size_t rank = ranks_[neighbour.buffer];
      if (rank <= before + 1 || rank > position) return;
      if (Opens(placer_->placements()[moved], neighbour)) marked_[neighbour.buffer] = true;
    });
  }

  /*! \brief How high the buffers lie, above all those that many conflict with. */
  WideBytes Height() const {
    WideBytes height = 0;
    for (size_t b : order_) {
      const std::optional<Placement>& place = placer_->placements()[b];
      if (place) height += WideBytes{place->offset} * static_cast<int64_t>(conflicts_.Degree(b));
    }
    return height;
  }

  void Move(size_t from, size_t to) {
    const auto at = [&](size_t position) { return order_.begin() + position; };
    if (from > to) {
      std::rotate(at(to), at(from), at(from + 1));
    } else {
      std::rotate(at(from), at(from + 1), at(to + 1));
    }
    for (size_t k = std::min(from, to); k <= std::max(from, to); ++k) ranks_[order_[k]] = k + 1;
  }

  /*!
   * \brief Place what is marked anew, and what that affects. What fits nowhere goes beyond a limit,
   *        so that the peaks tell how far off the order is.
   *
   * \return the sum of the peaks, or kMax as soon as it is clear that it is too high.
   */
  int64_t Place() {
    changes_.clear();
    std::vector<int64_t> peaks = fixed_peaks_;
    int64_t total = Total(peaks);
    bool beyond = false;
    for (size_t b : order_) {
      if (marked_[b]) PlaceAnew(b);
      beyond = beyond || beyond_[b];
      const std::optional<Placement>& place = placer_->placements()[b];
      const int64_t size = problem_.buffers[b].size;
      if (!place || size == 0 || place->offset + size <= peaks[place->pool]) continue;
      peaks[place->pool] = place->offset + size;
      total = Total(peaks);
      if (total <= current_total_ || (!beyond && total < best_total_)) continue;
      std::fill(marked_.begin(), marked_.end(), false);
      return kMax;
    }
    if (beyond || total >= best_total_) return total;
    best_.placements = placer_->placements();
    best_.unplaced = std::nullopt;
    best_total_ = total;
    return total;
  }

  void PlaceAnew(size_t b) {
    marked_[b] = false;
    const Change change = {b, placer_->placements()[b], beyond_[b]};
    placer_->Remove(b);
    beyond_[b] = !placer_->TryPlace(b);
    if (beyond_[b]) placer_->PlaceBeyondLimit(b);
    const std::optional<Placement>& now = placer_->placements()[b];
    const bool same =
        now.has_value() == change.before.has_value() &&
        (!now || (now->pool == change.before->pool && now->offset == change.before->offset));
    if (same && beyond_[b] == change.was_beyond) return;
    changes_.push_back(change);
    marking_work_ += static_cast<int64_t>(conflicts_.Degree(b));
    conflicts_.ForEach(b, [&](const ConflictGraph::Neighbour& neighbour) {
      const size_t c = neighbour.buffer;
      if (ranks_[c] <= ranks_[b] || marked_[c]) return;
      marked_[c] = Opens(change.before, neighbour) || Blocks(now, neighbour);
    });
  }

  /*! \brief Whether the neighbour may go lower, or to a better pool, when a buffer leaves there. */
  bool Opens(const std::optional<Placement>& left,
             const ConflictGraph::Neighbour& neighbour) const {
    const std::optional<Placement>& place = placer_->placements()[neighbour.buffer];
    if (!left) return false;
    return !place || place->pool != left->pool || left->offset - neighbour.above < place->offset;
  }

  /*! \brief Whether the neighbour must leave its place when a buffer comes there. */
  bool Blocks(const std::optional<Placement>& taken,
              const ConflictGraph::Neighbour& neighbour) const {
    const std::optional<Placement>& place = placer_->placements()[neighbour.buffer];
    if (!taken || !place || place->pool != taken->pool) return false;
    return taken->offset - neighbour.above < place->offset &&
           place->offset < taken->offset + neighbour.below;
  }

  void Undo() {
    for (const Change& change : changes_) {
      placer_->Restore(change.buffer, change.before);
      beyond_[change.buffer] = change.was_beyond;
    }
  }

  /*! \brief Two positions in the order: the buffer at the first goes to the second, before it. */
  std::pair<size_t, size_t> ChooseMove() {
    if (tops_.empty()) return {0, 0};
    size_t a = tops_[Random(tops_.size())];
    if (Random(2) == 0) a = Neighbour(a);
    size_t b = Neighbour(a);
    if (Random(2) == 0) b = Neighbour(b);
    if (IsFixed(a) || IsFixed(b)) return {0, 0};
    return {std::max(ranks_[a], ranks_[b]) - 1, std::min(ranks_[a], ranks_[b]) - 1};
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

  /*!
   * \brief Two positions whose buffers change places: TVM's choice, of two that were placed before
   *        a top and conflict with it, or one that was placed before and conflicts with such a one.
   */
  std::pair<size_t, size_t> ChooseExchange() {
    if (tops_.empty()) return {0, 0};
    const std::vector<size_t> first = Earlier(tops_[Random(tops_.size())]);
    if (first.empty()) return {0, 0};
    const size_t a = first[Random(first.size())];
    size_t b = first[Random(first.size())];
    const std::vector<size_t> second = Earlier(b);
    if (!second.empty() && Random(4) != 0) b = second[Random(second.size())];
    if (a == b) return {0, 0};
    return {std::max(ranks_[a], ranks_[b]) - 1, std::min(ranks_[a], ranks_[b]) - 1};
  }

  /*! \brief The neighbours that were placed before it and can be moved. */
  std::vector<size_t> Earlier(size_t b) {
    std::vector<size_t> earlier;
    marking_work_ += static_cast<int64_t>(conflicts_.Degree(b));
    conflicts_.ForEach(b, [&](const ConflictGraph::Neighbour& neighbour) {
      const size_t rank = ranks_[neighbour.buffer];
      if (rank != 0 && rank < ranks_[b]) earlier.push_back(neighbour.buffer);
    });
    return earlier;
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
  std::mt19937_64 random_{kSeed};
  std::vector<std::vector<size_t>> start_orders_;
  /*! \brief By pool, the peak of the buffers that moves do not touch. */
  std::vector<int64_t> fixed_peaks_;
  /*! \brief The order to go on from. */
  std::vector<size_t> order_;
  /*! \brief Holds the places in that order, and of the buffers that moves do not touch. */
  std::optional<Placer> placer_;
  /*! \brief By buffer, its position in the order, from 1 on; 0 for those that moves do not touch.
   */
  std::vector<size_t> ranks_;
  /*! \brief By buffer, whether it is to be placed anew. */
  std::vector<bool> marked_;
  /*! \brief By buffer, whether it found no place within the limits. */
  std::vector<bool> beyond_;
  /*! \brief What the last attempt changed. */
  std::vector<Change> changes_;
  /*! \brief Buffers that were looked at for being affected. */
  int64_t marking_work_ = 0;
  /*! \brief The buffers at the top of their workspace pools. */
  std::vector<size_t> tops_;
  int64_t current_total_ = kMax;
  WideBytes current_height_ = 0;
  Solution best_;
  int64_t best_total_ = kMax;
};

}  // namespace

Solution HillClimb(const Problem& problem, const ConflictGraph& conflicts,
                   int64_t memory_pressure) {
  return Climber(problem, conflicts).Run(memory_pressure);
}

}  // namespace usmp
