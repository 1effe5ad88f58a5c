#include "node/hierarchy/hierarchy_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>

namespace stretto::node {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != std::string_view::npos; text.remove_prefix(std::min(text.size(), end + 1))) {
    end = text.find(at);
    parts.push_back(text.substr(0, end));
  }
  return parts;
}

bool read(std::string_view text, int* number) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number >= 0 && *number < 1 << 24;
}

// Parses "0-3" or "5". Refuses ranges longer than any machine.
bool read_range(std::string_view text, int* first, int* last) noexcept {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return read(text, first) && read(text, last);
  return read(text.substr(0, dash), first) && read(text.substr(dash + 1), last) && *first <= *last &&
         *last - *first < 1 << 20;
}

Status parse_level(std::string_view text, std::span<const int> numbers, std::vector<int>* label) {
  std::map<int, int> group_of;
  const std::vector<std::string_view> groups = split(text, '|');
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const std::string_view range : split(groups[g], ',')) {
      int first = 0, last = 0;
      if (!read_range(range, &first, &last))
        return fail(Status::invalid_argument, "'{}' is neither a rank nor a range of ranks", range);
      for (int n = first; n <= last; ++n)
        if (!group_of.emplace(n, static_cast<int>(g)).second)
          return fail(Status::invalid_argument, "rank {} is named twice in '{}'", n, text);
    }
  label->clear();
  for (std::size_t r = 0; r < numbers.size(); ++r) {
    const auto at = group_of.find(numbers[r]);
    label->push_back(at != group_of.end() ? at->second : static_cast<int>(groups.size() + r));
  }
  return Status::ok;
}

Status parse_levels(std::string_view text, std::span<const topology::Place> places, std::span<const int> numbers,
                    Hierarchy* hierarchy) {
  const int ranks = static_cast<int>(places.size());
  if (text == "flat") {
    *hierarchy = Hierarchy(ranks);
    return Status::ok;
  }
  const bool groups = !text.empty() && text.front() >= '0' && text.front() <= '9';
  if (!groups) {
    const Status s = text.empty() ? fail(Status::invalid_argument, "nothing is named")
                                  : Hierarchy::from_places(places, std::string(text), hierarchy);
    return s == Status::ok ? s
                           : fail(s,
                                  "'{}' is no hierarchy ({}): flat, a list of l3, numa and socket, or groups of ranks "
                                  "(0-3|4-7)",
                                  text, message());
  }
  std::vector<std::vector<int>> labels;
  for (const std::string_view level : split(text, '/'))
    if (const Status s = parse_level(level, numbers, &labels.emplace_back()); s != Status::ok) return s;
  const Status s = Hierarchy::from_labels(labels, ranks, hierarchy);
  return s == Status::ok ? s : fail(s, "'{}': {}", text, message());
}

}  // namespace

Status parse_hierarchies(std::string_view text, std::span<const topology::Place> places, std::span<const int> numbers,
                         Hierarchies* hierarchies) {
  constexpr std::array kinds = {Collective::barrier, Collective::bcast, Collective::reduce, Collective::allreduce,
                                Collective::reduce_scatter};
  Hierarchies all;
  // A machine's description need not nest. No user asked for levels, so one level serves.
  if (parse_levels(topology::kAllLevels, places, numbers, &all.usual) != Status::ok)
    all.usual = Hierarchy(static_cast<int>(places.size()));
  if (text.empty()) {
    *hierarchies = std::move(all);
    return Status::ok;
  }
  for (const std::string_view part : split(text, ';')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      if (const Status s = parse_levels(part, places, numbers, &all.usual); s != Status::ok) return s;
      continue;
    }
    const std::string_view operation = part.substr(0, equals);
    const auto* kind = std::find_if(kinds.begin(), kinds.end(), [&](Collective k) { return operation == name(k); });
    if (kind == kinds.end())
      return fail(Status::invalid_argument,
                  "'{}' is no operation with a hierarchy: barrier, bcast, reduce, allreduce, reduce_scatter",
                  operation);
    Hierarchy own;
    if (const Status s = parse_levels(part.substr(equals + 1), places, numbers, &own); s != Status::ok) return s;
    all.of.emplace_back(*kind, std::move(own));
  }
  *hierarchies = std::move(all);
  return Status::ok;
}

}  // namespace stretto::node
