#include "usmp_solver/pools/minimize_pools.h"

#include <algorithm>
#include <utility>

#include "usmp_solver/bounds/lower_bound.h"
#include "usmp_solver/model/decompose.h"
#include "usmp_solver/model/scale.h"
#include "usmp_solver/pools/portfolio.h"

namespace usmp {

namespace {

/*! \brief Steps of the first slice of search; doubled from slice to slice. */
constexpr int64_t kFirstMinimizeSlice = 50'000;
/*! \brief Steps of each pool in the first round; doubled from round to round. */
constexpr int64_t kFirstMinimizeRound = 4'000'000;
/*! \brief Most items to place one by one, which visits all pairs. */
constexpr size_t kMaxOneByOne = 5'000;
/*! \brief Repacking a pool may use one in this many steps of the remaining budget. */
constexpr int64_t kShareOfRepacking = 8;

/*! \brief Compare two plans by the peaks of their pools, from the least preferred. */
bool Better(const std::vector<int64_t>& peaks, const std::vector<int64_t>& than) {
  return std::lexicographical_compare(peaks.rbegin(), peaks.rend(), than.rbegin(), than.rend());
}

std::vector<int64_t> PeaksOf(const Problem& problem, const PoolProblem& together,
                             const Placements& plan) {
  std::vector<int64_t> peaks(problem.pools.size(), 0);
  for (size_t i = 0; i < plan.size(); ++i) {
    int64_t& peak = peaks[plan[i].pool];
    peak = std::max(peak, plan[i].offset + together.items[i].size);
  }
  return peaks;
}

std::vector<std::vector<int32_t>> Orders(const PoolProblem& together) {
  std::vector<double> area;
  for (const PoolProblem::Item& item : together.items) {
    area.push_back(Duration(together, item) * static_cast<double>(item.size));
  }
  std::vector<std::vector<int32_t>> orders(4, AllItems(together));
  SortBySize(together, &orders[0]);
  std::stable_sort(orders[1].begin(), orders[1].end(),
                   [&](int32_t lhs, int32_t rhs) { return area[lhs] > area[rhs]; });
  // Shortest duration (area / size) first, because short-lived items keep few others out.
  std::stable_sort(orders[2].begin(), orders[2].end(), [&](int32_t lhs, int32_t rhs) {
    return area[lhs] * static_cast<double>(together.items[rhs].size) <
           area[rhs] * static_cast<double>(together.items[lhs].size);
  });
  return orders;
}

}  // namespace

struct PoolsMinimizer::Stage {
  Component* component;
  /*! \brief Proved lower bound of its peak in the pool. */
  int64_t lower_bound;
  int64_t peak;
  /*! \brief Set if the items in the pool have no other candidate: then it is a one-pool problem. */
  std::optional<Portfolio> alone;
  /*! \brief All peaks are multiples of this number of bytes. */
  int64_t step;
};

PoolsMinimizer::PoolsMinimizer(const Problem& problem, const std::vector<size_t>& members,
                               std::vector<size_t> pools, int64_t enough)
    : problem_(problem), pools_(std::move(pools)), lower_bounds_(problem.pools.size(), 0) {
  for (const Problem::Pool& pool : problem.pools) {
    limits_.push_back(std::min(pool.limit, enough));
  }
  capacities_ = limits_;
  reached_ = limits_;
  PoolProblem together = MakePoolProblem(problem, pools_.front(), members);
  together.capacity = enough;
  for (const std::vector<int32_t>& items : Components(together)) {
    components_.emplace_back(problem, Select(together, items));
  }
}

void PoolsMinimizer::Start(Component* component, Budget* budget) {
  const PoolProblem& together = component->together;
  std::vector<int64_t> best;
  const auto offer = [&](std::optional<Placements> plan) {
    if (!plan) return;
    std::vector<int64_t> peaks = PeaksOf(problem_, together, *plan);
    if (!component->plan.empty() && !Better(peaks, best)) return;
    component->plan = std::move(*plan);
    best = std::move(peaks);
  };
  if (together.items.size() <= kMaxOneByOne) {
    for (const std::vector<int32_t>& order : Orders(together)) {
      offer(PlaceByPreference(problem_, together, order));
      if (!budget->Spend(static_cast<int64_t>(order.size() * order.size()))) break;
    }
  }
  if (component->plan.empty() || !budget->exhausted()) {
    offer(PlaceBySpilling(problem_, together, budget));
  }
}

bool PoolsMinimizer::found() const {
  return std::none_of(components_.begin(), components_.end(),
                      [](const Component& component) { return component.plan.empty(); });
}

void PoolsMinimizer::Start(Budget* budget, const Report& report) {
  for (Component& component : components_) {
    if (component.search.Overloaded(capacities_, budget)) {
      Refute(component);
      return;
    }
    Start(&component, budget);
  }
  if (!found() || !report) return;
  for (size_t pool : pools_) report(pool, peak(pool), 0);
}

void PoolsMinimizer::FindAny(Budget* budget) {
  Start(budget);
  if (!infeasible_) FindPlans(SolverEffort::kAuto, budget);
}

void PoolsMinimizer::Refute(const Component& component) {
  infeasible_ = true;
  culprits_ = component.together.buffers;
}

/*! \brief Return whether exact search is unlikely ever to decide the component. */
bool PoolsMinimizer::IsHopeless(const Component& component, SolverEffort effort) const {
  return effort == SolverEffort::kExact && spent_ >= kDefaultWorkBudget &&
         ExactSearch(component.together).is_too_large();
}

void PoolsMinimizer::FindPlans(SolverEffort effort, Budget* budget) {
  for (int64_t slice = kFirstMinimizeSlice; !found() && !given_up_ && !budget->exhausted();) {
    for (Component& component : components_) {
      if (!component.plan.empty()) continue;
      Budget share(budget, slice);
      const Verdict verdict = component.search.Place(capacities_, &share, &component.plan);
      if (verdict == Verdict::kInfeasible) return Refute(component);
      spent_ += share.spent();
      if (verdict == Verdict::kUndecided && IsHopeless(component, effort)) given_up_ = true;
    }
    if (slice < Budget::kUnlimited / 2) slice *= 2;
  }
}

int64_t PoolsMinimizer::PeakOf(const Component& component, size_t pool) const {
  return PeaksOf(problem_, component.together, component.plan)[pool];
}

int64_t PoolsMinimizer::peak(size_t pool) const {
  int64_t peak = 0;
  for (const Component& component : components_) peak = std::max(peak, PeakOf(component, pool));
  return peak;
}

std::vector<int32_t> PoolsMinimizer::MembersOf(const Component& component, size_t pool) const {
  std::vector<int32_t> members;
  for (size_t i = 0; i < component.plan.size(); ++i) {
    if (component.plan[i].pool == pool) members.push_back(static_cast<int32_t>(i));
  }
  return members;
}

int64_t PoolsMinimizer::FirstPossible(Component* component, size_t pool, Budget* budget) const {
  std::vector<int64_t> capacities = capacities_;
  int64_t low = 0;
  for (int64_t high = PeakOf(*component, pool); low < high && !budget->exhausted();) {
    capacities[pool] = low + (high - low) / 2;
    if (component->search.Overloaded(capacities, budget)) {
      low = capacities[pool] + 1;
    } else {
      high = capacities[pool];
    }
  }
  return low;
}

PoolsMinimizer::Stage PoolsMinimizer::Open(Component* component, size_t pool,
                                           Budget* budget) const {
  Stage stage = {component,
                 FirstPossible(component, pool, budget),
                 PeakOf(*component, pool),
                 {},
                 CompactUnit(component->together)};
  const std::vector<int32_t> members = MembersOf(*component, pool);
  const std::vector<int32_t> forced = component->search.Forced(capacities_, pool, budget);
  PoolProblem selected = Select(component->together, forced);
  selected.capacity = stage.peak;
  if (forced.size() == members.size()) {
    stage.alone.emplace(selected);
    stage.alone->Start(budget);
    stage.lower_bound = std::max(stage.lower_bound, stage.alone->lower_bound());
  } else {
    stage.lower_bound = std::max(stage.lower_bound, LowerBound(selected, budget));
  }
  return stage;
}

void PoolsMinimizer::TakeOver(Stage* stage, size_t pool, const Portfolio& portfolio) const {
  if (!portfolio.peak() || *portfolio.peak() >= stage->peak) return;
  const std::vector<int32_t> members = MembersOf(*stage->component, pool);
  const Offsets offsets = portfolio.offsets();
  for (size_t k = 0; k < members.size(); ++k) {
    stage->component->plan[members[k]].offset = offsets[k];
  }
  stage->peak = *portfolio.peak();
}

void PoolsMinimizer::Improve(Stage* stage, size_t pool, int64_t bound, SolverEffort effort,
                             Budget* budget) {
  if (stage->alone) {
    stage->alone->StopAt(bound);
    stage->alone->Improve(effort, budget);
    TakeOver(stage, pool, *stage->alone);
    stage->lower_bound = stage->alone->lower_bound();
    return;
  }
  Budget share(budget, budget->left() / kShareOfRepacking);
  Repack(stage, pool, bound, &share);
  // The bound may be the optimum. A capacity one step below the peak is easy to place, or proves
  // the peak. Trying the capacity halfway between these saves steps.
  const int64_t below = stage->peak - stage->step;
  const int64_t between = bound + (below - bound) / (2 * stage->step) * stage->step;
  for (int64_t capacity : {bound, below, between}) {
    capacity = std::max({capacity, bound, stage->lower_bound});
    if (capacity >= stage->peak) continue;
    Budget part(budget, budget->left() / 3);
    TryCapacity(stage, pool, capacity, &part);
  }
}

void PoolsMinimizer::TryCapacity(Stage* stage, size_t pool, int64_t capacity, Budget* budget) {
  std::vector<int64_t> capacities = capacities_;
  capacities[pool] = capacity;
  Component* component = stage->component;
  const Verdict verdict = component->search.Place(capacities, budget, &component->plan);
  if (verdict == Verdict::kPlaced) stage->peak = PeakOf(*component, pool);
  if (verdict == Verdict::kInfeasible) {
    stage->lower_bound = *AlignUp(capacity + 1, stage->step);
  }
}

void PoolsMinimizer::Repack(Stage* stage, size_t pool, int64_t bound, Budget* budget) const {
  PoolProblem selected = Select(stage->component->together, MembersOf(*stage->component, pool));
  selected.capacity = stage->peak;
  Portfolio portfolio(selected);
  portfolio.StopAt(bound);
  portfolio.Start(budget);
  portfolio.Improve(SolverEffort::kAuto, budget);
  TakeOver(stage, pool, portfolio);
}

/*! \brief Compute bounds, then search where the peak is highest until it is proved. */
void PoolsMinimizer::Minimize(size_t pool, SolverEffort effort, Budget* budget,
                              const Report& report) {
  // More preferred pools may grow again to make this pool smaller.
  for (size_t other : pools_) {
    if (other < pool) capacities_[other] = limits_[other];
  }
  capacities_[pool] = peak(pool);
  std::vector<Stage> stages;
  int64_t bound = lower_bounds_[pool];
  for (Component& component : components_) {
    stages.push_back(Open(&component, pool, budget));
    bound = std::max(bound, stages.back().lower_bound);
  }
  for (int64_t slice = kFirstMinimizeSlice;;) {
    Stage* hardest = &stages.front();
    for (Stage& stage : stages) {
      if (stage.peak > hardest->peak) hardest = &stage;
    }
    capacities_[pool] = hardest->peak;
    lower_bounds_[pool] = bound;
    if (report) report(pool, hardest->peak, bound);
    if (hardest->peak <= bound || given_up_ || budget->exhausted()) break;
    Budget share(budget, slice);
    Improve(hardest, pool, bound, effort, &share);
    // Spend at least one step, so that the watcher is polled.
    share.Spend(1);
    spent_ += share.spent();
    bound = std::max(bound, hardest->lower_bound);
    if (hardest->peak > bound) {
      given_up_ =
          hardest->alone ? hardest->alone->ended() : IsHopeless(*hardest->component, effort);
    }
    if (slice < Budget::kUnlimited / 2) slice *= 2;
  }
}

void PoolsMinimizer::Improve(SolverEffort effort, Budget* budget, const Report& report) {
  if (!found()) FindPlans(effort, budget);
  if (infeasible_ || !found()) return;
  for (int64_t slice = kFirstMinimizeRound; !ended() && !budget->exhausted();) {
    closed_ = true;
    bool same = true;
    for (size_t k = pools_.size(); k-- > 0;) {
      const size_t pool = pools_[k];
      // A bound of a pool is valid only while the peaks of less preferred pools stay as they are.
      if (!same) lower_bounds_[pool] = 0;
      Budget share(budget, slice);
      Minimize(pool, effort, &share, report);
      same = same && capacities_[pool] == reached_[pool];
      reached_[pool] = capacities_[pool];
      closed_ = closed_ && capacities_[pool] <= lower_bounds_[pool];
    }
    if (slice < Budget::kUnlimited / 2) slice *= 2;
  }
}

void PoolsMinimizer::Write(std::vector<Placement>* by_buffer) const {
  for (const Component& component : components_) {
    for (size_t i = 0; i < component.plan.size(); ++i) {
      (*by_buffer)[component.together.buffers[i]] = component.plan[i];
    }
  }
}

}  // namespace usmp
