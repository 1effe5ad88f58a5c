#include "schedule/check/printer.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/core.h>

#include "schedule/names.hpp"

namespace stretto::schedule {
namespace {

std::string numbers(const Range& range) {
  return range.count == 1 ? fmt::format("{}", range.first)
                          : fmt::format("{}-{}", range.first, range.first + range.count - 1);
}

std::string blocks(const Range& range) {
  return range.count == 0 ? "signal" : fmt::format("{}[{}]", name(range.buffer), numbers(range));
}

bool is_split(const Schedule& s) {
  return std::any_of(s.steps.begin(), s.steps.end(), [](const Step& step) { return step.lane != Lane::beside; });
}

std::string cell(const Step& step) {
  const auto entry = [&](char direction, char how, const Range& range) {
    return range.count == 0 ? fmt::format("{}{}", direction, step.peer)
                            : fmt::format("{}{}{}{}", direction, step.peer, how, numbers(range));
  };
  switch (step.kind) {
    case Kind::send: return entry('>', ':', step.src);
    case Kind::recv_replace: return entry('<', ':', step.dst);
    case Kind::recv_combine: return entry('<', '+', step.dst);
    case Kind::copy:
    case Kind::combine: break;
  }
  return "";
}

}  // namespace

std::string text(const Step& step) {
  const char* order = step.incoming_first ? ", incoming first" : "";
  switch (step.kind) {
    case Kind::send: return fmt::format("{} {} -> {}", name(step.kind), blocks(step.src), step.peer);
    case Kind::recv_replace: return fmt::format("{} {} <- {}", name(step.kind), blocks(step.dst), step.peer);
    case Kind::recv_combine: return fmt::format("{} {} <- {}{}", name(step.kind), blocks(step.dst), step.peer, order);
    case Kind::copy: return fmt::format("{} {} = {}", name(step.kind), blocks(step.dst), blocks(step.src));
    case Kind::combine: return fmt::format("{} {} += {}{}", name(step.kind), blocks(step.dst), blocks(step.src), order);
  }
  return "unknown step";
}

std::string text(const Schedule& s) {
  const std::string root = rooted(s.collective) ? fmt::format(" root {},", s.root) : "";
  std::string lines = fmt::format("{} {}: rank {} of {},{} {} blocks, {}\n", name(s.collective), s.algorithm, s.rank,
                                  s.ranks, root, s.blocks, s.keeps_order ? "keeps order" : "any order");
  const bool split = is_split(s);
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    const std::string lane = split ? fmt::format("{:<7}", name(s.steps[i].lane)) : "";
    lines += fmt::format("{:5}  L{:<4} {}{}\n", i, s.steps[i].level, lane, text(s.steps[i]));
  }
  return lines;
}

std::string picture(std::span<const Schedule> all) {
  if (all.empty()) return "";
  std::map<std::uint32_t, std::vector<std::string>> rows;
  std::map<std::uint32_t, Lane> lane_of;
  const bool split = std::any_of(all.begin(), all.end(), is_split);
  std::size_t width = 1;
  for (std::size_t r = 0; r < all.size(); ++r) {
    for (const Step& step : all[r].steps) {
      const std::string entry = cell(step);
      if (entry.empty()) continue;
      auto& row = rows[step.level];
      row.resize(all.size());
      lane_of[step.level] = step.lane;
      row[r] += row[r].empty() ? entry : " " + entry;
      width = std::max(width, row[r].size());
    }
  }
  const Schedule& s = all.front();
  std::string lines = fmt::format("{} {}: {} ranks, {} blocks\n", name(s.collective), s.algorithm, s.ranks, s.blocks);
  const auto line = [&](const std::string& label, const auto& text_of) {
    std::string l = fmt::format("{:>5} |", label);
    for (std::size_t r = 0; r < all.size(); ++r) l += fmt::format(" {:<{}}", text_of(r), width);
    l.erase(l.find_last_not_of(' ') + 1);
    lines += l + "\n";
  };
  line(split ? "lane   level" : "level", [](std::size_t r) { return fmt::format("{}", r); });
  for (const auto& [level, row] : rows) {
    line(split ? fmt::format("{:<6} {:>5}", name(lane_of[level]), level) : fmt::format("{}", level),
         [&row = row](std::size_t r) { return row[r].empty() ? std::string(".") : row[r]; });
  }
  return lines;
}

}  // namespace stretto::schedule
