#include "usmp_solver/bounds/overlap_free.h"

namespace usmp {

OverlapFree::OverlapFree(const PoolProblem& problem)
    : partners_(2 * problem.overlaps.size()),
      first_partner_(problem.items.size() + 1, 0),
      is_out_(problem.items.size(), 0) {
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    ++first_partner_[overlap.output];
    ++first_partner_[overlap.input];
  }
  for (size_t i = 1; i < first_partner_.size(); ++i) first_partner_[i] += first_partner_[i - 1];
  // Fill from the end, so that each entry finally points to the first partner of its item.
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    partners_[--first_partner_[overlap.output]] = overlap.input;
    partners_[--first_partner_[overlap.input]] = overlap.output;
  }
}

const std::vector<int32_t>& OverlapFree::Pick(const std::vector<int32_t>& items, int32_t excluded) {
  const auto mark_partners = [&](int32_t item, char is_out) {
    for (size_t k = first_partner_[item]; k < first_partner_[item + 1]; ++k) {
      is_out_[partners_[k]] = is_out;
    }
  };
  picked_.clear();
  for (int32_t item : items) {
    if (item == excluded || is_out_[item]) continue;
    picked_.push_back(item);
    mark_partners(item, 1);
  }
  for (int32_t item : picked_) mark_partners(item, 0);
  return picked_;
}

}  // namespace usmp
