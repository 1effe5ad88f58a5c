#include "forms_arranged.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace api_test {
namespace {

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// Blocks in a buffer, one a rank.
struct Blocks {
  std::vector<std::size_t> counts, at;
  std::size_t end = 0;
  Blocks(std::vector<std::size_t> of, std::size_t gap) : counts(std::move(of)) {
    for (const std::size_t n : counts) {
      end += gap;
      at.push_back(end);
      end += n;
    }
    end += gap;
  }
};

class Arranger {
 public:
  Arranger(const Form& form, int ranks, int rank) : f_(form), p_(ranks), rank_(rank) {
    counts_ = f_.counts.empty() ? std::vector<std::size_t>(static_cast<std::size_t>(p_), f_.count) : f_.counts;
    a_.counts = counts_;
  }

  Arrangement arranged() {
    switch (f_.collective) {
      case STRETTO_ALLREDUCE:
      case STRETTO_ALLREDUCE_MULTI: reduction(f_.count, {0, f_.count}, true); break;
      case STRETTO_REDUCE: reduction(f_.count, {0, f_.count}, rank_ == f_.root); break;
      case STRETTO_REDUCE_SCATTER_BLOCK:
      case STRETTO_REDUCE_SCATTER: {
        const Blocks blocks(counts_, 0);
        reduction(blocks.end, {blocks.at[own()], counts_[own()]}, true);
        break;
      }
      case STRETTO_SCAN: prefix(rank_ + 1); break;
      case STRETTO_EXSCAN: prefix(rank_); break;
      case STRETTO_ALLGATHER:
      case STRETTO_ALLGATHERV: gathering(true); break;
      case STRETTO_GATHER:
      case STRETTO_GATHERV: gathering(rank_ == f_.root); break;
      case STRETTO_SCATTER:
      case STRETTO_SCATTERV: scattering(); break;
      case STRETTO_BCAST: broadcast(); break;
      case STRETTO_ALLTOALL:
      case STRETTO_ALLTOALLV: exchange(); break;
      case STRETTO_BARRIER: break;
    }
    a_.range = high_ > low_ ? high_ - low_ : 0;
    return std::move(a_);
  }

 private:
  struct Part {
    std::size_t first, count;
  };

  std::size_t own() const { return static_cast<std::size_t>(rank_); }

  double input(int r, int j, std::size_t i) {
    const double v = value(f_, r, j, i);
    low_ = std::min(low_, v);
    high_ = std::max(high_, v);
    return v;
  }

  std::vector<double> vector_of(int r, int j, std::size_t n) {
    std::vector<double> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = input(r, j, i);
    return v;
  }

  void want(std::size_t at, double number, bool exact = false) { a_.wanted.push_back({at, number, exact}); }

  // Elements that belong to no block stay as they are.
  void keep_gaps(const Blocks& blocks) {
    std::vector<bool> in_block(blocks.end);
    for (std::size_t b = 0; b < blocks.at.size(); ++b)
      std::fill_n(in_block.begin() + static_cast<std::ptrdiff_t>(blocks.at[b]), blocks.counts[b], true);
    for (std::size_t i = 0; i < blocks.end; ++i)
      if (!in_block[i]) want(i, kUntouched, true);
  }

  static void put(std::vector<double>* buffer, std::size_t at, const std::vector<double>& block) {
    std::copy(block.begin(), block.end(), buffer->begin() + static_cast<std::ptrdiff_t>(at));
  }

  void reduction(std::size_t n, Part part, bool here) {
    std::vector<double> sum;
    a_.contributions = 0;
    for (int r = 0; r < p_; ++r) {
      for (int j = 0; j < inputs(f_, p_, r); ++j, ++a_.contributions) {
        const auto v = vector_of(r, j, n);
        if (r == rank_) a_.several.push_back(v);
        if (a_.contributions == 0) sum = v;
        for (std::size_t i = 0; a_.contributions > 0 && i < n; ++i) sum[i] = combined(sum[i], v[i]);
      }
    }
    if (f_.collective != STRETTO_ALLREDUCE_MULTI) a_.send = a_.several.front();
    a_.send_in_place = f_.in_place && here;
    a_.recv_given = here;
    if (!here) return;
    a_.recv.assign(part.count, kUntouched);
    if (a_.send_in_place) a_.recv = a_.send;
    for (std::size_t i = 0; i < part.count; ++i)
      want(i, f_.op == STRETTO_MEAN ? sum[part.first + i] / a_.contributions : sum[part.first + i]);
  }

  // Over the first `n` ranks. The buffer of a rank without a result is left as it is.
  void prefix(int n) {
    std::vector<double> sum;
    for (int r = 0; r < p_; ++r) {
      const auto v = vector_of(r, 0, f_.count);
      if (r == rank_) a_.send = v;
      for (std::size_t i = 0; r > 0 && r < n && i < v.size(); ++i) sum[i] = combined(sum[i], v[i]);
      if (r == 0) sum = v;
    }
    a_.several.push_back(a_.send);
    a_.contributions = std::max(n, 1);
    a_.send_in_place = f_.in_place;
    a_.recv.assign(f_.count, kUntouched);
    if (f_.in_place) a_.recv = a_.send;
    for (std::size_t i = 0; i < f_.count; ++i) want(i, n > 0 ? sum[i] : a_.recv[i], n == 0);
  }

  double combined(double a, double b) const {
    if (f_.op == STRETTO_MIN) return std::min(a, b);
    if (f_.op == STRETTO_MAX) return std::max(a, b);
    return f_.op == STRETTO_DIFFERENCE ? a - b : a + b;
  }

  void gathering(bool here) {
    const Blocks blocks(counts_, f_.gap);
    a_.recv_given = here;
    a_.send_in_place = f_.in_place && here;
    if (here) a_.recv.assign(blocks.end, kUntouched);
    if (f_.gap > 0) a_.recv_displs = blocks.at;
    for (int r = 0; r < p_; ++r) {
      const auto b = static_cast<std::size_t>(r);
      const auto v = vector_of(r, 0, counts_[b]);
      if (r == rank_) a_.send = v;
      for (std::size_t i = 0; here && i < v.size(); ++i) want(blocks.at[b] + i, v[i]);
    }
    if (a_.send_in_place) put(&a_.recv, blocks.at[own()], a_.send);
    if (here) keep_gaps(blocks);
  }

  void scattering() {
    const Blocks blocks(counts_, f_.gap);
    const bool root = rank_ == f_.root;
    a_.send_given = root;
    a_.recv_in_place = f_.in_place && root;
    if (root) a_.send.assign(blocks.end, kUntouched);
    if (f_.gap > 0) a_.send_displs = blocks.at;
    a_.recv.assign(counts_[own()], kUntouched);
    for (std::size_t b = 0, first = 0; b < counts_.size(); first += counts_[b++]) {
      for (std::size_t i = 0; i < counts_[b]; ++i) {
        const double v = input(f_.root, 0, first + i);
        if (root) a_.send[blocks.at[b] + i] = v;
        if (b == own() && !a_.recv_in_place) want(i, v);
      }
    }
  }

  void broadcast() {
    a_.send_given = false;
    const auto v = vector_of(f_.root, 0, f_.count);
    a_.recv.assign(f_.count, kUntouched);
    if (rank_ == f_.root) a_.recv = v;
    for (std::size_t i = 0; i < f_.count; ++i) want(i, v[i], rank_ == f_.root);
  }

  // Rank s has counts[(s + d) % p] elements for rank d: equal in both directions, as an in-place exchange requires.
  void exchange() {
    const auto lengths = [&](int s) {
      std::vector<std::size_t> all;
      for (int d = 0; d < p_; ++d) all.push_back(counts_[static_cast<std::size_t>((s + d) % p_)]);
      return all;
    };
    const Blocks blocks(lengths(rank_), f_.gap);
    a_.counts = blocks.counts;
    a_.send.assign(blocks.end, kUntouched);
    a_.recv.assign(blocks.end, kUntouched);
    a_.send_in_place = f_.in_place;
    if (f_.gap > 0) a_.send_displs = a_.recv_displs = blocks.at;
    for (int s = 0; s < p_; ++s) {
      const Blocks theirs(lengths(s), 0);
      const auto v = vector_of(s, 0, theirs.end);
      const auto from = static_cast<std::size_t>(s);
      for (std::size_t i = 0; i < blocks.counts[from]; ++i) want(blocks.at[from] + i, v[theirs.at[own()] + i]);
      for (std::size_t d = 0; s == rank_ && d < counts_.size(); ++d)
        std::copy_n(v.begin() + static_cast<std::ptrdiff_t>(theirs.at[d]), theirs.counts[d],
                    a_.send.begin() + static_cast<std::ptrdiff_t>(blocks.at[d]));
    }
    if (a_.send_in_place) a_.recv = a_.send;
    keep_gaps(blocks);
  }

  const Form& f_;
  int p_, rank_;
  std::vector<std::size_t> counts_;
  Arrangement a_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_;
};

}  // namespace

double value(const Form& f, int r, int j, std::size_t i) {
  const std::uint64_t input = static_cast<std::uint64_t>(r) * 4 + static_cast<std::uint64_t>(j);
  const std::uint64_t noise = mixed(f.seed + input * 0x9e3779b97f4a7c15u + i);
  if (f.type == STRETTO_I32 || f.type == STRETTO_I64)
    return static_cast<double>(noise % 41) - 20 + (f.wavy ? static_cast<double>(i / 100) : 0);
  const auto bits = static_cast<double>(noise >> 48) - 0x1p15;
  if (!f.wavy) return bits * 0x1p-15;
  const auto phase = static_cast<double>((i + 300 * input) % 2048);
  return std::abs(phase - 1024) * 0x1p-10 - 0.5 + std::floor(bits * 0x1p-7) * 0x1p-15;
}

int inputs(const Form& f, int ranks, int r) {
  if (f.collective != STRETTO_ALLREDUCE_MULTI) return 1;
  const bool may_be_none = f.op == STRETTO_SUM || f.op == STRETTO_MEAN;
  return may_be_none && ranks > 2 ? (r + f.root) % 3 : 1 + (r + f.root) % 2;
}

Arrangement arrange(const Form& form, int ranks, int rank) { return Arranger(form, ranks, rank).arranged(); }

}  // namespace api_test
