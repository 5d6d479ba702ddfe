#include "usmp_solver/pools/pool_domains.h"

#include <algorithm>

#include "usmp_solver/model/separations.h"

namespace usmp {

PoolDomains::PoolDomains(const Problem& problem, const PoolProblem& together)
    : problem_(problem),
      together_(together),
      num_pools_(problem.pools.size()),
      weight_(SmallestSeparations(together)),
      members_(ItemsBySection(together)) {
  for (size_t pool = 0; pool < num_pools_; ++pool) {
    std::vector<bool> has(num_pools_, false);
    has[pool] = true;
    AddSet(has);
  }
  std::vector<bool> any(num_pools_, false);
  for (size_t buffer : together.buffers) {
    std::vector<bool> has(num_pools_, false);
    for (size_t pool : problem.buffers[buffer].pools) has[pool] = any[pool] = true;
    AddSet(has);
  }
  AddSet(any);
}

void PoolDomains::AddSet(const std::vector<bool>& has) {
  for (const PoolSet& set : sets_) {
    if (set.has == has) return;
  }
  sets_.emplace_back();
  sets_.back().has = has;
}

bool PoolDomains::Reset(const std::vector<int64_t>& capacities) {
  const size_t num_items = together_.items.size();
  allowed_.assign(num_items * num_pools_, false);
  num_allowed_.assign(num_items, 0);
  forbidden_.clear();
  forbidden_of_.assign(num_items, {});
  changes_.clear();
  levels_.clear();
  to_follow_.clear();
  for (PoolSet& set : sets_) {
    set.capacity = 0;
    for (size_t pool = 0; pool < num_pools_; ++pool) {
      if (!set.has[pool]) continue;
      set.capacity = CheckedAdd(set.capacity, capacities[pool]).value_or(kNoLimit);
    }
    set.demand.assign(together_.num_sections, 0);
    set.confined.assign(num_items, false);
  }
  steps_ += num_items * sets_.size();
  for (size_t i = 0; i < num_items; ++i) {
    const PoolProblem::Item& item = together_.items[i];
    for (size_t pool : problem_.buffers[together_.buffers[i]].pools) {
      if (capacities[pool] - item.size < std::max<int64_t>(item.fixed_offset, 0)) continue;
      allowed_[i * num_pools_ + pool] = true;
      ++num_allowed_[i];
    }
    if (num_allowed_[i] == 0) return false;
  }
  for (size_t i = 0; i < num_items; ++i) {
    for (size_t s = 0; s < sets_.size(); ++s) {
      if (ConfinedTo(i, sets_[s]) && !Confine(i, s)) return false;
    }
  }
  return Follow();
}

bool PoolDomains::ConfinedTo(int32_t item, const PoolSet& set) const {
  for (size_t pool = 0; pool < num_pools_; ++pool) {
    if (Allows(item, pool) && !set.has[pool]) return false;
  }
  return true;
}

bool PoolDomains::Confine(int32_t item, size_t set) {
  PoolSet& pools = sets_[set];
  if (pools.confined[item]) return true;
  pools.confined[item] = true;
  changes_.push_back({item, set, true});
  bool within = true;
  ForSections(together_, item, [&](int32_t s) {
    pools.demand[s] += weight_[item];
    within = within && pools.demand[s] <= pools.capacity;
    ++steps_;
  });
  if (set < num_pools_) {
    for (size_t id : forbidden_of_[item]) {
      if (forbidden_[id].pool == set) ++forbidden_[id].count;
    }
    to_follow_.push_back(item);
  }
  return within;
}

bool PoolDomains::Remove(int32_t item, size_t pool) {
  if (!Allows(item, pool)) return true;
  allowed_[item * num_pools_ + pool] = false;
  changes_.push_back({item, pool, false});
  if (--num_allowed_[item] == 0) return false;
  steps_ += sets_.size();
  for (size_t s = 0; s < sets_.size(); ++s) {
    if (!sets_[s].confined[item] && ConfinedTo(item, sets_[s]) && !Confine(item, s)) return false;
  }
  return true;
}

bool PoolDomains::FollowDecided(int32_t item) {
  const size_t pool = PoolOf(item);
  const PoolSet& set = sets_[pool];
  bool possible = true;
  ForSections(together_, item, [&](int32_t s) {
    const int64_t free_bytes = set.capacity - set.demand[s];
    steps_ += static_cast<int64_t>(members_[s].size());
    for (int32_t other : members_[s]) {
      if (!possible) return;
      if (weight_[other] > free_bytes && !set.confined[other]) possible = Remove(other, pool);
    }
  });
  for (size_t k = 0; possible && k < forbidden_of_[item].size(); ++k) {
    const Forbidden& forbidden = forbidden_[forbidden_of_[item][k]];
    if (forbidden.pool != pool || forbidden.count + 1 < forbidden.items.size()) continue;
    if (forbidden.count == forbidden.items.size()) return false;
    for (int32_t other : forbidden.items) {
      if (!set.confined[other] && !Remove(other, pool)) return false;
    }
  }
  return possible;
}

bool PoolDomains::Follow() {
  while (!to_follow_.empty()) {
    const int32_t item = to_follow_.back();
    to_follow_.pop_back();
    if (!FollowDecided(item)) {
      to_follow_.clear();
      return false;
    }
  }
  return true;
}

bool PoolDomains::Decide(int32_t item, size_t pool) {
  levels_.push_back(changes_.size());
  for (size_t other = 0; other < num_pools_; ++other) {
    if (other != pool && !RuleOut(item, other)) return false;
  }
  return true;
}

bool PoolDomains::RuleOut(int32_t item, size_t pool) {
  if (Remove(item, pool)) return Follow();
  to_follow_.clear();
  return false;
}

void PoolDomains::Undo() {
  for (; changes_.size() > levels_.back(); changes_.pop_back()) {
    const Change& change = changes_.back();
    if (!change.is_confinement) {
      allowed_[change.item * num_pools_ + change.pool_or_set] = true;
      ++num_allowed_[change.item];
      continue;
    }
    PoolSet& set = sets_[change.pool_or_set];
    set.confined[change.item] = false;
    ForSections(together_, change.item, [&](int32_t s) { set.demand[s] -= weight_[change.item]; });
    if (change.pool_or_set >= num_pools_) continue;
    for (size_t id : forbidden_of_[change.item]) {
      if (forbidden_[id].pool == change.pool_or_set) --forbidden_[id].count;
    }
  }
  levels_.pop_back();
}

bool PoolDomains::Forbid(size_t pool, const std::vector<int32_t>& items) {
  Forbidden forbidden = {pool, items, 0};
  int32_t last = -1;
  for (int32_t item : items) {
    forbidden_of_[item].push_back(forbidden_.size());
    if (sets_[pool].confined[item]) {
      ++forbidden.count;
    } else {
      last = item;
    }
  }
  const size_t missing = items.size() - forbidden.count;
  forbidden_.push_back(std::move(forbidden));
  return missing > 1 || (missing == 1 && RuleOut(last, pool));
}

size_t PoolDomains::PoolOf(int32_t item) const {
  size_t pool = 0;
  while (!Allows(item, pool)) ++pool;
  return pool;
}

}  // namespace usmp
