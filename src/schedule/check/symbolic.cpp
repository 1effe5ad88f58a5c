#include "schedule/check/symbolic.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace stretto::schedule {

Contributions Contributions::of_first(std::int32_t ranks) {
  Contributions first;
  if (ranks > 0) first.runs_.push_back({0, ranks - 1});
  return first;
}

std::int32_t Contributions::shared(const Contributions& other) const {
  auto a = runs_.begin();
  auto b = other.runs_.begin();
  while (a != runs_.end() && b != other.runs_.end()) {
    if (a->last < b->first) {
      ++a;
    } else if (b->last < a->first) {
      ++b;
    } else {
      return std::max(a->first, b->first);
    }
  }
  return -1;
}

bool Contributions::precedes(const Contributions& other) const {
  return runs_.size() == 1 && other.runs_.size() == 1 && runs_.front().last + 1 == other.runs_.front().first;
}

void Contributions::add(const Contributions& other) {
  std::vector<Run> merged(runs_.size() + other.runs_.size());
  std::merge(runs_.begin(), runs_.end(), other.runs_.begin(), other.runs_.end(), merged.begin(),
             [](const Run& a, const Run& b) { return a.first < b.first; });
  runs_.clear();
  for (const Run& run : merged) {
    if (!runs_.empty() && runs_.back().last + 1 == run.first) {
      runs_.back().last = run.last;
    } else {
      runs_.push_back(run);
    }
  }
}

std::string Contributions::text() const {
  std::string s;
  for (const Run& run : runs_) {
    if (!s.empty()) s += ", ";
    s += run.first == run.last ? fmt::format("{}", run.first) : fmt::format("{}-{}", run.first, run.last);
  }
  return s.empty() ? "none" : s;
}

Brackets::Sum Brackets::combined(Sum a, Sum b) {
  if (a > b) std::swap(a, b);
  const Sum next = ranks_ + static_cast<Sum>(operands_.size());
  const auto [at, is_new] = known_.try_emplace(std::uint64_t{a} << 32 | b, next);
  if (is_new) operands_.emplace_back(a, b);
  return at->second;
}

std::string Brackets::text(Sum sum, std::size_t most) const {
  std::string text;
  write(sum, true, most, &text);
  if (text.size() > most) text = text.substr(0, most) + "...";
  return text;
}

void Brackets::write(Sum sum, bool outermost, std::size_t most, std::string* text) const {
  if (text->size() > most) return;
  if (sum < ranks_) {
    *text += fmt::format("{}", sum);
    return;
  }
  const auto [a, b] = operands_[sum - ranks_];
  if (!outermost) *text += "(";
  write(a, false, most, text);
  *text += " + ";
  write(b, false, most, text);
  if (!outermost) *text += ")";
}

}  // namespace stretto::schedule
