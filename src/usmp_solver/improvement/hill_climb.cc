#include "usmp_solver/improvement/hill_climb.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "usmp_solver/heuristics/greedy.h"
#include "usmp_solver/improvement/ordered_plan.h"

namespace usmp {

namespace {

/*! \brief Number of orders that TVM places, including the first one. */
constexpr int64_t kAttempts = 500;

/*! \brief Fixed cost of an attempt for each buffer, in visited buffers. */
constexpr int64_t kOverhead = 12;

/*! \brief Most visited buffers over all attempts; very large graphs get fewer attempts. */
constexpr int64_t kWork = 1'000'000'000;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

/*!
 * \brief The random numbers of `rand_r` in the GNU C library from seed 0, which TVM uses.
 *
 * A number has 11, 10 and 10 bits of three steps of the linear congruential generator in the C
 * standard. Other C libraries differ, so it is implemented here for all platforms.
 */
class Random {
 public:
  /*! \brief Return a number from 0 to count - 1. */
  size_t Below(size_t count) {
    uint32_t number = Bits(11);
    number = number << 10 ^ Bits(10);
    number = number << 10 ^ Bits(10);
    return number % count;
  }

 private:
  uint32_t Bits(int count) {
    state_ = state_ * 1103515245 + 12345;
    return (state_ >> 16) % (uint32_t{1} << count);
  }

  uint32_t state_ = 0;
};

class Climber {
 public:
  Climber(const Problem& problem, const ConflictGraph& conflicts)
      : problem_(problem), conflicts_(conflicts) {}

  Solution Run(int64_t enough) {
    enough_ = enough;
    const std::vector<size_t> by_size = OrderBySize(problem_, conflicts_);
    const Solution first = FirstFit(problem_, conflicts_, by_size);
    Keep(first);
    if (Done()) return std::move(best_);
    std::optional<OrderedPlan::Placements> fixed = PlaceFixedPart(by_size);
    if (fixed) {
      plan_.emplace(problem_, conflicts_, std::move(*fixed));
      Start(by_size, first);
      start_work_ = plan_->work();
      FollowTvm();
    }
    if (!Done()) {
      const std::vector<size_t> by_conflicts = OrderByConflicts(problem_, conflicts_);
      const Solution second = FirstFit(problem_, conflicts_, by_conflicts);
      Keep(second);
      if (fixed && !Done()) ClimbOn(by_conflicts, second);
    }
    if (fixed) Account(plan_->Result());
    best_.work += choice_work_;
    return std::move(best_);
  }

 private:
  using Outcome = OrderedPlan::Outcome;

  /*! \brief Two positions of the order; equal if there is no change. */
  using Change = std::pair<size_t, size_t>;

  bool Done() const { return best_total_ <= enough_; }

  /*! \brief Return whether the placement of the buffer is independent of the order. */
  bool IsFixed(size_t b) const {
    const Problem::Buffer& buffer = problem_.buffers[b];
    return buffer.fixed_offset ||
           std::all_of(buffer.pools.begin(), buffer.pools.end(),
                       [&](size_t p) { return problem_.pools[p].is_constant; });
  }

  std::vector<size_t> Movable(std::vector<size_t> order) const {
    order.erase(std::remove_if(order.begin(), order.end(), [&](size_t b) { return IsFixed(b); }),
                order.end());
    return order;
  }

  /*! \brief Place the fixed buffers as greedy did, or would have done without the movable
   *         buffers; nullopt if a fixed buffer has no place. */
  std::optional<OrderedPlan::Placements> PlaceFixedPart(const std::vector<size_t>& order) {
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

  /*! \brief Continue from an order whose greedy solution is known. */
  void Start(const std::vector<size_t>& order, const Solution& greedy) {
    const std::vector<size_t> movable = Movable(order);
    // If no limit refused a buffer, each is in its first candidate pool, as in the plan.
    const bool known = !greedy.unplaced && movable.size() == order.size() &&
                       std::all_of(greedy.refused.begin(), greedy.refused.end(),
                                   [](int64_t end) { return end == kMax; });
    Accept(known ? plan_->Start(movable, greedy.placements) : plan_->Start(movable));
  }

  /*!
   * \brief Follow TVM's walk from order to order. The best visited plan is no worse than TVM's
   *        result.
   *
   * If TVM finds no two buffers to swap, it tries the order again, finds it no better, and reverts
   * the last change, even if that was accepted or reverted before. So does this walk.
   */
  void FollowTvm() {
    Change change = {0, 0};
    for (int64_t attempt = 1; attempt < kAttempts && !Done(); ++attempt) {
      if (Work() + attempt * Overhead() >= kWork) return;
      const Change next = ChooseExchange();
      if (next.first != next.second) {
        change = next;
        plan_->Swap(change.first, change.second);
      }
      if (!TryAsTvm(attempt)) plan_->Swap(change.first, change.second);
    }
  }

  /*! \brief Accept a better order, or a worse one with a probability that falls over time. */
  bool TryAsTvm(int64_t attempt) {
    // From attempt 50 on the probability is below 1%, and rounds to 0.
    const std::optional<Outcome> outcome = plan_->Update(attempt < 50 ? kMax : Most(-1));
    const bool better = outcome && Key(*outcome) < Key(current_);
    // Draw a number whenever the order is not better, even if it is not used, as TVM does.
    if (!better && (random_.Below(100) >= (outcome ? Chance(*outcome, attempt) : 0))) {
      if (outcome) plan_->Undo();
      return false;
    }
    Accept(*outcome);
    return true;
  }

  /*! \brief Return the acceptance probability in percent. */
  size_t Chance(const Outcome& outcome, int64_t attempt) const {
    if (outcome.total <= current_.total) return 0;
    const int64_t worse = outcome.total - current_.total;
    // 50 * worse / outcome.total, in steps that do not overflow.
    int64_t chance = 0;
    int64_t rest = 0;
    for (int step = 0; step < 50; ++step) {
      const bool is_whole = rest >= outcome.total - worse;
      rest += is_whole ? worse - outcome.total : worse;
      chance += is_whole;
    }
    return static_cast<size_t>(chance / attempt);
  }

  /*!
   * \brief Climb from the greedy order by conflicts, with moves that TVM's walk lacks.
   *
   * TVM places every buffer in each attempt. The climb is limited to the work that `FollowTvm`
   * saved by placing only affected buffers.
   */
  void ClimbOn(const std::vector<size_t>& by_conflicts, const Solution& greedy) {
    int64_t all = 0;
    for (size_t b : plan_->order()) all += 1 + static_cast<int64_t>(conflicts_.Degree(b));
    const int64_t saved = (kAttempts - 1) * all - (plan_->work() - start_work_);
    Start(by_conflicts, greedy);
    const int64_t end = std::min(kWork, Work() + saved);
    for (int64_t attempt = 1; !Done() && Work() + attempt * Overhead() < end; ++attempt) {
      const Change move = ChooseMove();
      if (move.first == move.second) continue;
      plan_->Move(move.first, move.second);
      const std::optional<Outcome> outcome = plan_->Update(Most(0));
      if (outcome && Key(*outcome) <= Key(current_)) {
        Accept(*outcome);
        continue;
      }
      if (outcome) plan_->Undo();
      plan_->Move(move.second, move.first);
    }
  }

  /*! \brief Return the largest acceptable total: the current one plus `more`. With several
   *         pools there is no limit, because a plan that fits may take more bytes than one
   *         that does not. */
  int64_t Most(int64_t more) const {
    return current_.fits || problem_.pools.size() == 1 ? current_.total + more : kMax;
  }

  /*! \brief Return a sort key: plans that fit first, then smaller totals. */
  static std::pair<bool, int64_t> Key(const Outcome& outcome) {
    return {!outcome.fits, outcome.total};
  }

  void Accept(const Outcome& outcome) {
    plan_->Keep();
    current_ = outcome;
    tops_ = Tops();
    if (!current_.fits || current_.total >= best_total_) return;
    best_.placements = plan_->placements();
    best_.unplaced = std::nullopt;
    best_total_ = current_.total;
  }

  int64_t Overhead() const { return 1 + kOverhead * static_cast<int64_t>(plan_->order().size()); }

  int64_t Work() const { return plan_->work() + choice_work_; }

  /*! \brief Return two positions: the first, later buffer should move before the second. */
  Change ChooseMove() {
    if (tops_.empty()) return {0, 0};
    size_t a = tops_[random_.Below(tops_.size())];
    if (random_.Below(2) == 0) a = Neighbor(a);
    size_t b = Neighbor(a);
    if (random_.Below(2) == 0) b = Neighbor(b);
    if (IsFixed(a) || IsFixed(b)) return {0, 0};
    const auto [earlier, later] = std::minmax(plan_->ranks()[a], plan_->ranks()[b]);
    return {later - 1, earlier - 1};
  }

  size_t Neighbor(size_t b) {
    const size_t degree = conflicts_.Degree(b);
    return degree == 0 ? b : conflicts_.NeighborAt(b, random_.Below(degree));
  }

  /*!
   * \brief Return two positions to swap, or the same position twice if there are none.
   *
   * The first holds an earlier neighbor of a buffer at the top of a pool. The second holds another
   * earlier neighbor or, more often, an earlier neighbor of a neighbor.
   */
  Change ChooseExchange() {
    if (tops_.empty()) return {0, 0};
    std::sort(tops_.begin(), tops_.end(),
              [&](size_t lhs, size_t rhs) { return plan_->ranks()[lhs] < plan_->ranks()[rhs]; });
    const size_t top = tops_[random_.Below(tops_.size())];
    const std::vector<size_t> first = EarlierNeighbors(top);
    const size_t second_count = CountSecondNeighbors(top);
    if (first.empty()) return {0, 0};
    const size_t a = first[random_.Below(first.size())];
    size_t b = a;
    // The loop ends. Two earlier neighbors differ. If there is only one, the second neighbors
    // include the top itself.
    while (b == a) {
      const bool far = second_count > 0 && random_.Below(100) > 25;
      b = far ? SecondNeighbor(random_.Below(second_count)) : first[random_.Below(first.size())];
      if (second_count < 2 && first.size() < 2) break;
    }
    return {a - 1, b - 1};
  }

  /*! \brief Return the buffers at the tops of the workspace pools. */
  std::vector<size_t> Tops() const {
    const OrderedPlan::Placements& placements = plan_->placements();
    const std::vector<int64_t> peaks = Peaks(problem_, placements);
    std::vector<size_t> tops;
    for (size_t b = 0; b < placements.size(); ++b) {
      const std::optional<Placement>& place = placements[b];
      const int64_t size = problem_.buffers[b].size;
      if (!place || size == 0 || problem_.pools[place->pool].is_constant) continue;
      if (place->offset + size == peaks[place->pool]) tops.push_back(b);
    }
    return tops;
  }

  /*! \brief Return the ranks of movable neighbors placed before the buffer, ascending. */
  std::vector<size_t> EarlierNeighbors(size_t b) {
    const std::vector<size_t>& ranks = plan_->ranks();
    std::vector<size_t> earlier;
    conflicts_.ForEach(b, [&](const ConflictGraph::Neighbor& neighbor) {
      const size_t rank = ranks[neighbor.buffer];
      if (rank != 0 && rank < ranks[b]) earlier.push_back(rank);
    });
    std::sort(earlier.begin(), earlier.end());
    return earlier;
  }

  /*! \brief Count, by rank, how often a buffer is an earlier neighbor of a neighbor of `b`. */
  size_t CountSecondNeighbors(size_t b) {
    const std::vector<size_t>& ranks = plan_->ranks();
    times_.assign(plan_->order().size() + 1, 0);
    size_t count = 0;
    conflicts_.ForEach(b, [&](const ConflictGraph::Neighbor& neighbor) {
      const size_t most = ranks[neighbor.buffer];
      choice_work_ += static_cast<int64_t>(conflicts_.Degree(neighbor.buffer));
      conflicts_.ForEach(neighbor.buffer, [&](const ConflictGraph::Neighbor& second) {
        const size_t rank = ranks[second.buffer];
        if (rank == 0 || rank >= most) return;
        ++times_[rank];
        ++count;
      });
    });
    return count;
  }

  /*! \brief Return the rank at `place` in the ascending multiset of second neighbors. */
  size_t SecondNeighbor(size_t place) const {
    size_t rank = 0;
    while (place >= times_[rank]) place -= times_[rank++];
    return rank;
  }

  /*! \brief Keep a greedy solution if it is the first, which may be incomplete, or better than the
   *         best one. */
  void Keep(const Solution& solution) {
    const int64_t total =
        solution.unplaced ? kMax : WorkspaceTotal(problem_, Peaks(problem_, solution.placements));
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

  /*! \brief Add the work and the ends of a solution, whether or not it is kept. */
  void Account(const Solution& solution) {
    best_.work += solution.work;
    for (size_t p = 0; p < problem_.pools.size(); ++p) {
      best_.refused[p] = std::min(best_.refused[p], solution.refused[p]);
      best_.highest_ends[p] = std::max(best_.highest_ends[p], solution.highest_ends[p]);
    }
  }

  const Problem& problem_;
  const ConflictGraph& conflicts_;
  int64_t enough_ = 0;
  Random random_;
  /*! \brief Work of the first order. */
  int64_t start_work_ = 0;
  /*! \brief The current plan; buffers that do not depend on the order are fixed. */
  std::optional<OrderedPlan> plan_;
  Outcome current_ = {kMax, false};
  /*! \brief The buffers at the tops of the workspace pools. */
  std::vector<size_t> tops_;
  /*! \brief How often each rank is a second neighbor. */
  std::vector<size_t> times_;
  /*! \brief Number of visits to neighbors of neighbors. */
  int64_t choice_work_ = 0;
  Solution best_;
  int64_t best_total_ = kMax;
};

}  // namespace

Solution HillClimb(const Problem& problem, const ConflictGraph& conflicts, int64_t enough) {
  return Climber(problem, conflicts).Run(enough);
}

}  // namespace usmp
