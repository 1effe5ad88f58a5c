// Evaluates the cost line of every row of the registry: rounds against the schedule, bytes against the walk; and checks
// its place in docs/algorithms.md.
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedule/check/metrics.hpp"
#include "schedule/floors.hpp"
#include "world.hpp"

namespace stretto::model {
namespace {

using schedule::Algorithm;

struct Symbols {
  double p, k, B, H, D;
  double of(char symbol) const {
    const auto up = [](double x) { return std::ceil(std::log2(x) - 1e-9); };
    const auto power = [](double x) { return static_cast<double>(std::bit_floor(static_cast<unsigned>(x))); };
    switch (symbol) {
      case 'n': return 1;
      case 'p': return p;
      case 'q': return power(p);
      case 'Q': return power(H);
      case 'L': return up(p);
      case 'K': return (k - 1) * std::ceil(std::log2(p) / std::log2(k) - 1e-9);
      case 'k': return k;
      case 'B': return B;
      case 'H': return H;
      case 'D': return D;
      case 'l': return up(D);
      case 'h': return up(H);
      case 't': return std::floor(std::log2(p) + 1e-9) + 1;
      default: return NAN;
    }
  }
};

// sums of products, a factor next to another multiplied: "2(p-1)/p n (+n)".
class Expression {
 public:
  Expression(std::string_view text, const Symbols& symbols, bool folded)
      : text_(text), symbols_(symbols), folded_(folded) {}
  // Not a number where it is none.
  double value() {
    const double v = sum();
    return at_ == text_.size() ? v : NAN;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool eat(std::string_view what) {
    skip();
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  double sum() {
    double v = product();
    while (true) {
      if (eat("(+")) {
        const double more = sum();
        if (!eat(")")) return NAN;
        v += folded_ ? more : 0;
      } else if (eat("+")) {
        v += product();
      } else if (eat("-")) {
        v -= product();
      } else {
        return v;
      }
    }
  }
  double product() {
    double v = factor();
    while (true) {
      if (eat("/")) {
        v /= factor();
        continue;
      }
      skip();
      const std::string_view rest = text_.substr(at_);
      if (rest.empty() || rest.starts_with("(+") || rest[0] == '+' || rest[0] == '-' || rest[0] == ')') return v;
      v *= factor();
    }
  }
  double factor() {
    if (eat("log2")) return std::log2(factor());
    if (eat("(")) {
      const double v = sum();
      return eat(")") ? v : NAN;
    }
    skip();
    if (at_ == text_.size()) return NAN;
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) == 0) return symbols_.of(text_[at_++]);
    double v = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0)
      v = 10 * v + (text_[at_++] - '0');
    return v;
  }

  std::string_view text_;
  const Symbols& symbols_;
  bool folded_;
  std::size_t at_ = 0;
};

// "at most X rounds" and so on.
struct Term {
  std::string text;  // without the last word
  std::string what;  // rounds, sent, inside, between, received, combined
  bool at_most = false;
  double value(const Symbols& s) const {
    const double p = s.of('p');
    const bool folded = s.of('q') < p && s.of('D') == 1 ? true : s.of('Q') < s.of('H');
    return Expression(at_most ? std::string_view(text).substr(8) : text, s, folded).value();
  }
};

std::vector<Term> terms(const Algorithm& a) {
  std::vector<Term> all;
  std::istringstream line{std::string(a.cost)};
  for (std::string part; std::getline(line, part, ',');) {
    if (part.starts_with(' ')) part.erase(0, 1);
    const std::size_t space = part.rfind(' ');
    all.push_back({part.substr(0, space), part.substr(space + 1), part.starts_with("at most ")});
  }
  return all;
}

struct Row : testing::TestWithParam<Algorithm> {};

TEST_P(Row, CostsWhatItsLineSays) {
  const Algorithm& a = GetParam();
  for (const auto& [hosts, per_host] :
       {std::pair(2, 1), {3, 1}, {4, 1}, {7, 1}, {8, 1}, {13, 1}, {16, 1}, {24, 1}, {1, 4}, {4, 2}, {3, 4}, {8, 3}}) {
    if (per_host > 1 && !a.uses_groups) continue;
    const int p = hosts * per_host;
    const auto where = topology::Topology::regular(p, per_host);
    const schedule::Groups groups = groups_of(where);
    schedule::Request request;
    request.collective = a.collective;
    request.ranks = p;
    request.blocks = 6;
    request.radix = 3;
    request.groups = &groups;
    const Symbols symbols{static_cast<double>(p), 3, 6, static_cast<double>(hosts), static_cast<double>(per_host)};

    schedule::Metrics metrics;
    ASSERT_EQ(measure(build_all(a, request), &metrics), Status::ok) << message();
    Programs programs;
    ASSERT_EQ(make_programs(a, request, where, {.allowed = false}, &programs), Status::ok) << message();
    Machine sums = uniform(0, 0);
    sums.combine = {0, 1};
    constexpr double n = 5040 * 1024;
    const double whole = a.collective == schedule::Collective::alltoall ? n * p : n;  // n: bytes of a rank
    const Prediction walked = predict(programs, {}, sums, {whole, 0, 0, false});

    double sent = 0;
    bool sends = false, sends_at_most = false;
    const auto same = [&](const Term& t, double formula, double found) {
      const std::string text = fmt::format("{} {} on {} hosts of {}: {} {}", schedule::name(a.collective), a.name,
                                           hosts, per_host, t.text, t.what);
      ASSERT_FALSE(std::isnan(formula)) << text;
      EXPECT_LE(found, formula * (1 + 1e-9)) << text;
      // On two ranks a term "at most" may vanish, as the sums of an exscan do.
      const double least = !t.at_most ? formula * (1 - 1e-9) : p > 2 ? formula / 4 : 0;
      EXPECT_GE(found, least) << text;
    };
    for (const Term& t : terms(a)) {
      const double value = t.value(symbols);
      if (t.what == "rounds") {
        same(t, value, static_cast<double>(metrics.rounds));
      } else if (t.what == "combined") {
        same(t, value, walked.work / n);
      } else if (t.what == "received") {
        same(t, value, static_cast<double>(metrics.blocks_received_max) / programs.blocks);
      } else {
        ASSERT_TRUE(t.what == "sent" || t.what == "inside" || t.what == "between") << t.what;
        sends = true;
        sends_at_most |= t.at_most;
        sent += value;
      }
    }
    if (sends) same({"all that is", "sent", sends_at_most}, sent, walked.wire / n);
  }
}

TEST_P(Row, StandsInTheTableOfTheDocument) {
  const Algorithm& a = GetParam();
  std::array<std::string, 3> cells;  // rounds, sent (or received), combined
  for (const Term& t : terms(a)) {
    std::string& cell = cells[t.what == "rounds" ? 0 : t.what == "combined" ? 2 : 1];
    const bool plain = t.what == "rounds" || t.what == "combined" || t.what == "sent";
    cell += (cell.empty() ? "" : ", ") + t.text + (plain ? "" : " " + t.what);
  }
  const std::string row = fmt::format("| `{}` | {} |{}{} |{}{} |", a.name, cells[0], cells[1].empty() ? "" : " ",
                                      cells[1], cells[2].empty() ? "" : " ", cells[2]);
  std::ifstream file(STRETTO_ALGORITHMS_TEXT);
  std::string collective;
  bool found = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| ") && !line.starts_with("| |")) collective = line.substr(2, line.find(' ', 2) - 2);
    found = found || (collective == schedule::name(a.collective) && line.find(row) != std::string::npos);
  }
  EXPECT_TRUE(found) << schedule::name(a.collective) << ": " << row;
}

INSTANTIATE_TEST_SUITE_P(All, Row, testing::ValuesIn(schedule::algorithms()), [](const auto& info) {
  return fmt::format("{}_{}", schedule::name(info.param.collective), info.param.name);
});

}  // namespace
}  // namespace stretto::model
