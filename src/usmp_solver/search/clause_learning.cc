#include "usmp_solver/search/clause_learning.h"

#include <algorithm>

#include "usmp_solver/search/luby.h"
#include "usmp_solver/search/placing_rules.h"

namespace usmp {

namespace {

constexpr int64_t kFailuresOfShortRun = 100;
/*! \brief Number of clauses that are always kept, and its increase with every restart. */
constexpr size_t kFewestClauses = 2'000;
constexpr size_t kClausesARestart = 50;
/*! \brief Clauses of so few levels are never forgotten. */
constexpr int32_t kFewLevels = 2;
constexpr double kActivityDecay = 0.95;
constexpr double kMostActivity = 1e100;

}  // namespace

ClauseLearning::ClauseLearning(const PoolProblem& problem)
    : problem_(problem),
      ranges_(problem),
      watchers_(2 * ranges_.num_pairs()),
      assigned_(ranges_.num_pairs(), -1),
      level_of_(ranges_.num_pairs(), 0),
      reasons_(ranges_.num_pairs()),
      activity_(ranges_.num_pairs(), 0),
      seen_(ranges_.num_pairs(), 0) {
  for (int32_t pair = 0; pair < ranges_.num_pairs(); ++pair) {
    // Prefer the larger item below.
    const Order order = 2 * pair;
    const bool is_larger =
        problem.items[ranges_.lower(order)].size >= problem.items[ranges_.upper(order)].size;
    preferred_.push_back(is_larger ? order : Reverse(order));
    by_activity_.emplace(0, pair);
  }
}

Verdict ClauseLearning::Run(int64_t capacity, Budget* budget) {
  if (capacity != capacity_ && !Start(capacity, budget)) is_infeasible_ = true;
  while (!is_infeasible_ && !budget->exhausted()) {
    std::vector<Order> failed;
    if (!Propagate(budget, &failed)) {
      is_infeasible_ = !Learn(failed, budget);
      continue;
    }
    if (failures_ >= next_restart_) {
      Backtrack(0);
      Forget(budget);
      next_restart_ = failures_ + kFailuresOfShortRun * Luby(++restarts_);
    }
    const Order order = Choose();
    if (order < 0) {
      offsets_ = ranges_.earliest();
      return Verdict::kPlaced;
    }
    levels_.push_back({trail_.size(), ranges_.mark()});
    Assign(order, {});
  }
  return is_infeasible_ ? Verdict::kInfeasible : Verdict::kUndecided;
}

/*! \brief Set the capacity; return false if an item does not fit. A smaller capacity keeps all
 *         clauses, a larger one none. */
bool ClauseLearning::Start(int64_t capacity, Budget* budget) {
  Backtrack(0);
  std::vector<Order> facts = trail_;
  for (Order order : trail_) {
    assigned_[order >> 1] = -1;
    by_activity_.emplace(-activity_[order >> 1], order >> 1);
  }
  trail_.clear();
  propagated_ = 0;
  const bool is_smaller = capacity_ >= 0 && capacity <= capacity_;
  capacity_ = capacity;
  refused_.clear();
  const bool fits = ranges_.Reset(capacity, budget, &refused_);
  if (is_smaller) {
    for (Order order : facts) Assign(order, {});
  } else {
    is_infeasible_ = false;
    clauses_.clear();
    for (std::vector<int32_t>& list : watchers_) list.clear();
    BreakSymmetry();
  }
  AssignRefused();
  return fits;
}

/*! \brief Order equal items by index. If there are none, fix one order where symmetry allows. */
void ClauseLearning::BreakSymmetry() {
  const std::vector<int32_t> next_twin = NextTwins(problem_);
  for (Order order = 0; order < 2 * ranges_.num_pairs(); ++order) {
    if (next_twin[ranges_.lower(order)] == ranges_.upper(order)) Assign(order, {});
  }
  const bool is_plain =
      problem_.overlaps.empty() &&
      std::all_of(problem_.items.begin(), problem_.items.end(),
                  [](const auto& item) { return item.fixed_offset < 0 && item.alignment == 1; });
  if (!is_plain || !trail_.empty() || ranges_.num_pairs() == 0) return;
  const auto bytes = [&](int32_t pair) {
    return problem_.items[ranges_.lower(2 * pair)].size +
           problem_.items[ranges_.upper(2 * pair)].size;
  };
  int32_t largest = 0;
  for (int32_t pair = 1; pair < ranges_.num_pairs(); ++pair) {
    if (bytes(pair) > bytes(largest)) largest = pair;
  }
  Assign(preferred_[largest], {});
}

void ClauseLearning::Assign(Order order, const Reason& reason) {
  const int32_t pair = order >> 1;
  assigned_[pair] = order;
  level_of_[pair] = level();
  reasons_[pair] = reason;
  trail_.push_back(order);
}

/*! \brief Propagate orders; return false if some exclude each other: those are put in `failed`. */
bool ClauseLearning::Propagate(Budget* budget, std::vector<Order>* failed) {
  while (propagated_ < trail_.size()) {
    const Order order = trail_[propagated_++];
    if (!PropagateClauses(order, budget, failed)) return false;
    refused_.clear();
    if (!ranges_.Decide(order, budget, &refused_, failed)) return false;
    AssignRefused();
  }
  return true;
}

void ClauseLearning::AssignRefused() {
  for (const StartRanges::Refused& refused : refused_) {
    // A decided order fails later, when it is propagated.
    if (IsOpen(refused.order)) Assign(Reverse(refused.order), {-1, true, refused.latest});
  }
}

bool ClauseLearning::PropagateClauses(Order order, Budget* budget, std::vector<Order>* failed) {
  const Order wrong = Reverse(order);
  std::vector<int32_t>& watchers = watchers_[wrong];
  budget->Spend(static_cast<int64_t>(watchers.size()));
  size_t kept = 0;
  for (size_t w = 0; w < watchers.size(); ++w) {
    std::vector<Order>& orders = clauses_[watchers[w]].orders;
    if (orders[0] == wrong) std::swap(orders[0], orders[1]);
    if (!IsTrue(orders[0])) {
      const auto other = std::find_if(orders.begin() + 2, orders.end(),
                                      [&](Order each) { return !IsFalse(each); });
      if (other != orders.end()) {
        std::swap(orders[1], *other);
        watchers_[orders[1]].push_back(watchers[w]);
        continue;
      }
      if (IsFalse(orders[0])) {
        for (Order each : orders) failed->push_back(Reverse(each));
        watchers.erase(watchers.begin() + kept, watchers.begin() + w);
        return false;
      }
      Assign(orders[0], {watchers[w]});
    }
    watchers[kept++] = watchers[w];
  }
  watchers.resize(kept);
  return true;
}

/*! \brief Return orders that hold and imply `order`. */
std::vector<Order> ClauseLearning::ReasonOf(Order order) const {
  const Reason& reason = reasons_[order >> 1];
  std::vector<Order> why;
  if (reason.is_refused) ranges_.Explain({Reverse(order), reason.latest}, &why);
  if (reason.clause >= 0) {
    for (Order each : clauses_[reason.clause].orders) {
      if (each != order) why.push_back(Reverse(each));
    }
  }
  return why;
}

/*! \brief Learn a clause from a failure, and backtrack to the level where it implies an order.
 *         Return false if there is no such level, because nothing fits. */
bool ClauseLearning::Learn(const std::vector<Order>& failed, Budget* budget) {
  ++failures_;
  if (level() == 0) return false;
  // The order of the last level comes first.
  std::vector<Order> learned = Resolve(failed, budget);
  DropImplied(&learned, budget);
  for (Order order : learned) seen_[order >> 1] = 0;
  const auto level_of = [&](Order order) { return level_of_[order >> 1]; };
  if (learned.size() > 1) {
    std::iter_swap(learned.begin() + 1,
                   std::max_element(learned.begin() + 1, learned.end(),
                                    [&](Order a, Order b) { return level_of(a) < level_of(b); }));
  }
  std::vector<int32_t> levels;
  for (Order& order : learned) {
    levels.push_back(level_of(order));
    order = Reverse(order);
  }
  const int32_t level = learned.size() > 1 ? level_of(learned[1]) : 0;
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  Backtrack(level);
  increment_ /= kActivityDecay;
  const Order implied = learned[0];
  Reason reason;
  if (learned.size() > 1) {
    reason.clause = AddClause({std::move(learned), static_cast<int32_t>(levels.size())});
  }
  Assign(implied, reason);
  return true;
}

/*!
 * \brief Replace orders of the last level by their reasons until one remains, which comes first.
 *
 * Exactly the pairs of the result are marked in `seen_`.
 */
std::vector<Order> ClauseLearning::Resolve(const std::vector<Order>& failed, Budget* budget) {
  std::vector<Order> learned = {-1};
  int32_t of_last_level = 0;
  const auto add = [&](const std::vector<Order>& orders) {
    budget->Spend(static_cast<int64_t>(orders.size()));
    for (Order order : orders) {
      const int32_t pair = order >> 1;
      if (seen_[pair] || level_of_[pair] == 0) continue;
      seen_[pair] = 1;
      Bump(pair);
      if (level_of_[pair] == level()) {
        ++of_last_level;
      } else {
        learned.push_back(order);
      }
    }
  };
  add(failed);
  for (size_t t = trail_.size(); t-- > 0;) {
    const Order order = trail_[t];
    if (!seen_[order >> 1]) continue;
    if (--of_last_level == 0) {
      learned[0] = order;
      break;
    }
    add(ReasonOf(order));
    seen_[order >> 1] = 0;
  }
  return learned;
}

/*! \brief Drop orders that the others imply. */
void ClauseLearning::DropImplied(std::vector<Order>* learned, Budget* budget) {
  const auto follows = [&](Order order) {
    const std::vector<Order> why = ReasonOf(order);
    budget->Spend(static_cast<int64_t>(why.size()));
    return !why.empty() && std::all_of(why.begin(), why.end(), [&](Order each) {
      return seen_[each >> 1] || level_of_[each >> 1] == 0;
    });
  };
  std::vector<Order> dropped;
  for (size_t i = 1; i < learned->size(); ++i) {
    if (follows((*learned)[i])) dropped.push_back((*learned)[i]);
  }
  for (Order order : dropped) {
    seen_[order >> 1] = 0;
    learned->erase(std::find(learned->begin(), learned->end(), order));
  }
}

void ClauseLearning::Backtrack(int32_t level) {
  if (this->level() <= level) return;
  const Level& begin = levels_[level];
  while (trail_.size() > begin.trail) {
    const Order order = trail_.back();
    const int32_t pair = order >> 1;
    preferred_[pair] = order;
    assigned_[pair] = -1;
    by_activity_.emplace(-activity_[pair], pair);
    trail_.pop_back();
  }
  ranges_.Undo(begin.mark);
  propagated_ = trail_.size();
  levels_.resize(level);
}

void ClauseLearning::Bump(int32_t pair) {
  const bool was_listed = by_activity_.erase({-activity_[pair], pair}) > 0;
  activity_[pair] += increment_;
  if (was_listed) by_activity_.emplace(-activity_[pair], pair);
  if (activity_[pair] < kMostActivity) return;
  std::set<std::pair<double, int32_t>> scaled;
  for (double& each : activity_) each /= kMostActivity;
  for (const auto& [key, listed] : by_activity_) scaled.emplace(-activity_[listed], listed);
  by_activity_ = std::move(scaled);
  increment_ /= kMostActivity;
}

/*! \brief Return an order of an open pair; -1 if all are decided. */
Order ClauseLearning::Choose() {
  while (!by_activity_.empty()) {
    const int32_t pair = by_activity_.begin()->second;
    by_activity_.erase(by_activity_.begin());
    if (assigned_[pair] < 0) return preferred_[pair];
  }
  return -1;
}

/*! \brief At level 0, forget clauses that hold. If too many remain, forget the worse half. */
void ClauseLearning::Forget(Budget* budget) {
  if (clauses_.size() <= kFewestClauses + kClausesARestart * static_cast<size_t>(restarts_)) return;
  std::stable_sort(clauses_.begin(), clauses_.end(),
                   [](const Clause& lhs, const Clause& rhs) { return lhs.levels < rhs.levels; });
  std::vector<Clause> clauses = std::move(clauses_);
  clauses_.clear();
  for (std::vector<int32_t>& list : watchers_) list.clear();
  for (size_t c = 0; c < clauses.size(); ++c) {
    std::vector<Order>& orders = clauses[c].orders;
    budget->Spend(static_cast<int64_t>(orders.size()));
    if (c > clauses.size() / 2 && clauses[c].levels > kFewLevels) break;
    if (std::any_of(orders.begin(), orders.end(), [&](Order each) { return IsTrue(each); })) {
      continue;
    }
    orders.erase(
        std::remove_if(orders.begin(), orders.end(), [&](Order each) { return IsFalse(each); }),
        orders.end());
    AddClause(std::move(clauses[c]));
  }
}

int32_t ClauseLearning::AddClause(Clause clause) {
  const int32_t number = static_cast<int32_t>(clauses_.size());
  for (size_t k = 0; k < 2; ++k) watchers_[clause.orders[k]].push_back(number);
  clauses_.push_back(std::move(clause));
  return number;
}

}  // namespace usmp
