#include "mesh.hpp"

#include <algorithm>
#include <climits>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "program.hpp"

namespace stretto::programs {
namespace {

// Adds the time of its life to a phase.
class Stopwatch {
 public:
  explicit Stopwatch(Use* use) : use_(use), start_(MPI_Wtime()) {}
  ~Stopwatch() { use_->seconds += MPI_Wtime() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Use* use_;
  double start_;
};

void allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, Use* use) {
  const Stopwatch watch(use);
  MPI_Allreduce(in, out, count, type, op, MPI_COMM_WORLD);
  int width = 0;
  MPI_Type_size(type, &width);
  use->calls += 1;
  use->bytes += static_cast<double>(count) * width;
}

}  // namespace

bool Sphere::cuts(const std::array<double, 3>& low, double side) const {
  double nearest = 0, farthest = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const double below = low[d] - centre[d], above = centre[d] - (low[d] + side);
    const double outside = std::max({below, above, 0.0}), across = std::max(-below, -above);
    nearest += outside * outside;
    farthest += across * across;
  }
  return nearest <= radius * radius && radius * radius <= farthest;
}

Mesh::Mesh(int roots, int levels, const Shape& shape)
    : shape_(shape), tree_(0, levels), rank_(rank_of(MPI_COMM_WORLD)), ranks_(size_of(MPI_COMM_WORLD)) {
  check_size(static_cast<double>(roots) * roots * roots);
  tree_ = Tree(roots, levels);
  cuts_ = even_cuts();
  blocks_.assign(static_cast<std::size_t>(last() - first()), std::vector<double>(shape_.storage()));
  plan();
}

void Mesh::fill(const std::function<double(int, const std::array<double, 3>&)>& of) {
  const int side = shape_.side();
  const Block& cells = shape_.block();
  for (int i = first(); i < last(); ++i) {
    const Leaf& leaf = tree_.leaves()[static_cast<std::size_t>(i)];
    const double edge = tree_.side(leaf), width = edge / side;
    const auto centre = [&](int d, int cell) { return tree_.low(leaf, d) + (cell + 0.5) * width; };
    for (int v = 0; v < shape_.variables(); ++v) {
      double* values = block(i) + static_cast<std::size_t>(v) * cells.storage();
      for (int z = 0; z < side; ++z)
        for (int y = 0; y < side; ++y)
          for (int x = 0; x < side; ++x) values[cells.at(z, y, x)] = of(v, {centre(0, z), centre(1, y), centre(2, x)});
    }
  }
}

double Mesh::step() {
  exchange();
  double mine = 0, largest = 0;
  {
    const Stopwatch watch(&uses_[kStencil]);
    for (std::vector<double>& values : blocks_) mine = std::max(mine, average(shape_, values.data(), &scratch_));
  }
  allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, &uses_[kChange]);
  return largest;
}

std::vector<double> Mesh::sums() {
  std::vector<double> mine(static_cast<std::size_t>(shape_.variables())), all(mine.size());
  for (int i = first(); i < last(); ++i) {
    const double width = tree_.side(tree_.leaves()[static_cast<std::size_t>(i)]) / shape_.side();
    add_sums(shape_, block(i), width * width * width, mine.data());
  }
  allreduce(mine.data(), all.data(), shape_.variables(), MPI_DOUBLE, MPI_SUM, &uses_[kSums]);
  return all;
}

std::uint64_t Mesh::checksum() const {
  std::uint64_t mine = 0, all = 0;
  for (int i = first(); i < last(); ++i)
    mine += programs::checksum(shape_, block(i), static_cast<std::uint64_t>(i) * shape_.values());
  MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

std::vector<int> Mesh::blocks_by_level() const {
  std::vector<int> blocks(static_cast<std::size_t>(tree_.levels()) + 1);
  for (const Leaf& leaf : tree_.leaves()) ++blocks[static_cast<std::size_t>(leaf.level)];
  return blocks;
}

Mesh::Cuts Mesh::even_cuts() const {
  Cuts cuts;
  for (int r = 0; r <= ranks_; ++r) cuts.push_back(static_cast<int>(std::int64_t{tree_.count()} * r / ranks_));
  return cuts;
}

int Mesh::largest_range(const Cuts& cuts) {
  int largest = 0;
  for (std::size_t r = 0; r + 1 < cuts.size(); ++r) largest = std::max(largest, cuts[r + 1] - cuts[r]);
  return largest;
}

// Looks for room for a quarter more, since asking takes messages.
void Mesh::check_size(double blocks) {
  if (blocks <= room_) return;
  room_ = std::ceil(1.25 * blocks);
  const double share = std::ceil(room_ / ranks_), faces = 6.0 * static_cast<double>(shape_.face(Kind::same));
  const std::string what =
      fmt::format("a mesh of {:.0f} blocks of {}^3 cells of {} variables", blocks, shape_.side(), shape_.variables());
  const double most = std::max(room_, share * std::max(faces, static_cast<double>(shape_.values())));
  if (most > INT_MAX) throw Refused(fmt::format("{} needs counts of {:.0f}, and MPI's end at {}", what, most, INT_MAX));
  const double values = 2 * (static_cast<double>(shape_.storage()) + faces) * sizeof(double);
  check_memory(share * (values + 24 * sizeof(Link)) + room_ * 4 * sizeof(Leaf), what);
}

// Who sends what to whom, for the tree and the cuts as they are.
void Mesh::plan() {
  links_.clear();
  for (int leaf = first(); leaf < last(); ++leaf) tree_.add_links(leaf, &links_);
  std::map<int, Peer> peers;
  for (const Link& link : links_) {
    if (link.kind == Kind::wall || (link.from >= first() && link.from < last())) continue;
    const auto next = std::upper_bound(cuts_.begin(), cuts_.end(), link.from);
    Peer& peer = peers[static_cast<int>(next - cuts_.begin()) - 1];
    peer.receives.push_back(link);
    peer.sends.push_back(link.mirrored());
  }
  peers_.clear();
  for (auto& [rank, peer] : peers) {
    peer.rank = rank;
    std::sort(peer.sends.begin(), peer.sends.end(), [](const Link& a, const Link& b) {
      return std::tuple(a.to, a.direction, a.side, a.quarter) < std::tuple(b.to, b.direction, b.side, b.quarter);
    });
    std::size_t in = 0, out = 0;
    for (const Link& link : peer.receives) in += shape_.face(link.kind);
    for (const Link& link : peer.sends) out += shape_.face(link.kind);
    peer.in.resize(in);
    peer.out.resize(out);
    peers_.push_back(std::move(peer));
  }
}

void Mesh::exchange() {
  Use& use = uses_[kGhosts];
  const Stopwatch watch(&use);
  std::vector<MPI_Request> requests;
  for (Peer& peer : peers_) {
    MPI_Irecv(peer.in.data(), static_cast<int>(peer.in.size()), MPI_DOUBLE, peer.rank, 0, MPI_COMM_WORLD,
              &requests.emplace_back());
  }
  for (Peer& peer : peers_) {
    double* out = peer.out.data();
    for (const Link& link : peer.sends) out = pack(shape_, link, block(link.from), out);
    MPI_Isend(peer.out.data(), static_cast<int>(peer.out.size()), MPI_DOUBLE, peer.rank, 0, MPI_COMM_WORLD,
              &requests.emplace_back());
    use.calls += 1;
    use.bytes += static_cast<double>(peer.out.size() * sizeof(double));
  }
  scratch_.resize(std::max(scratch_.size(), shape_.face(Kind::same)));
  for (const Link& link : links_) {
    const bool wall = link.kind == Kind::wall;
    if (!wall && (link.from < first() || link.from >= last())) continue;
    if (!wall) pack(shape_, link, block(link.from), scratch_.data());
    unpack(shape_, link, scratch_.data(), block(link.to));
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (const Peer& peer : peers_) {
    const double* in = peer.in.data();
    for (const Link& link : peer.receives) in = unpack(shape_, link, in, block(link.to));
  }
}

void Mesh::refine(const Sphere& sphere) {
  const double start = MPI_Wtime(), others = uses_[kMarks].seconds + uses_[kBalance].seconds;
  for (int pass = 0; pass <= tree_.levels(); ++pass)
    if (!adapt(sphere)) break;
  uses_[kRebuild].seconds += MPI_Wtime() - start - (uses_[kMarks].seconds + uses_[kBalance].seconds - others);
}

// One level up or down. False: no block changes.
bool Mesh::adapt(const Sphere& sphere) {
  mark(sphere);
  const std::int64_t refined = std::count(marks_.begin(), marks_.end(), 1);
  const std::int64_t coarsened = std::count(marks_.begin(), marks_.end(), -1) / 8;
  if (refined == 0 && coarsened == 0) return false;
  const std::int64_t successors = tree_.count() + 7 * (refined - coarsened);
  check_size(static_cast<double>(successors));
  move(cuts_for(successors));
  change_blocks();
  move(even_cuts());
  plan();
  return true;
}

// Cuts of the leaves as they are, by which ranks have equally many successors of them, but for seven. So no rank holds
// more than its share when blocks have been split, and a family that becomes one block is with one rank.
Mesh::Cuts Mesh::cuts_for(std::int64_t successors) const {
  Cuts cuts;
  std::int64_t before = 0;
  for (int i = 0; i <= tree_.count(); ++i) {
    while (before >= successors * static_cast<std::int64_t>(cuts.size()) / ranks_ && std::ssize(cuts) <= ranks_)
      cuts.push_back(i);
    if (i == tree_.count()) break;
    const int mark = marks_[static_cast<std::size_t>(i)];
    before += mark > 0 ? 8 : 1;
    if (mark < 0) i += 7;
  }
  return cuts;
}

// Marks of all leaves, such that neighbours differ by at most one level afterwards, and families become one block
// whole.
void Mesh::mark(const Sphere& sphere) {
  marks_.assign(static_cast<std::size_t>(tree_.count()), INT8_MIN);
  for (int i = first(); i < last(); ++i) {
    const Leaf& leaf = tree_.leaves()[static_cast<std::size_t>(i)];
    const bool cut = sphere.cuts({tree_.low(leaf, 0), tree_.low(leaf, 1), tree_.low(leaf, 2)}, tree_.side(leaf));
    const int wanted = cut ? 1 : -1;
    marks_[static_cast<std::size_t>(i)] =
        static_cast<std::int8_t>(std::clamp(leaf.level + wanted, 0, tree_.levels()) - leaf.level);
  }
  do {
    allreduce(MPI_IN_PLACE, marks_.data(), tree_.count(), MPI_INT8_T, MPI_MAX, &uses_[kMarks]);
  } while (raise_marks());
}

// Raises this rank's marks to what the agreed marks of others need. True: some rank has raised one. Marks only grow, so
// this ends, with the same marks for any number of ranks.
bool Mesh::raise_marks() {
  int mine = 0, all = 0;
  const auto raise = [&](int leaf, int mark) {
    if (marks_[static_cast<std::size_t>(leaf)] >= mark) return;
    marks_[static_cast<std::size_t>(leaf)] = static_cast<std::int8_t>(mark);
    ++mine;
  };
  const auto level = [&](int leaf) { return tree_.leaves()[static_cast<std::size_t>(leaf)].level; };
  for (const Link& link : links_) {
    if (link.kind == Kind::wall) continue;
    raise(link.to, level(link.from) + marks_[static_cast<std::size_t>(link.from)] - 1 - level(link.to));
  }
  for (int i = first(); i < last(); ++i) {
    if (marks_[static_cast<std::size_t>(i)] >= 0) continue;
    const int eldest = tree_.family(i);
    const auto from = marks_.begin() + std::max(eldest, 0);
    if (eldest < 0 || std::any_of(from, from + 8, [](std::int8_t mark) { return mark >= 0; })) raise(i, 0);
  }
  allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, &uses_[kMarks]);
  return all > 0;
}

// Splits and joins this rank's blocks by their marks.
void Mesh::change_blocks() {
  std::vector<std::vector<double>> next;
  for (int i = first(); i < last(); ++i) {
    const int mark = marks_[static_cast<std::size_t>(i)];
    if (mark == 0) next.push_back(std::move(blocks_[static_cast<std::size_t>(i - first())]));
    if (mark > 0) {
      for (int octant = 0; octant < 8; ++octant)
        split(shape_, block(i), octant, next.emplace_back(shape_.storage()).data());
      blocks_[static_cast<std::size_t>(i - first())] = {};
    }
    if (mark < 0) {
      double* parent = next.emplace_back(shape_.storage()).data();
      for (int octant = 0; octant < 8; ++octant) join(shape_, block(i + octant), octant, parent);
      i += 7;
    }
  }
  blocks_ = std::move(next);
  const std::vector<int> starts = tree_.apply(marks_);
  for (int& cut : cuts_) cut = starts[static_cast<std::size_t>(cut)];
}

// Blocks go to the ranks that have them by these cuts.
void Mesh::move(Cuts cuts) {
  if (cuts == cuts_) return;
  const int most = std::max(largest_range(cuts_), largest_range(cuts));
  if (static_cast<double>(most) * static_cast<double>(shape_.values()) > INT_MAX)
    throw Refused(fmt::format("{} blocks of {} values on a rank need larger counts than MPI's", most, shape_.values()));
  const auto mine = static_cast<std::size_t>(rank_);
  const int values = static_cast<int>(shape_.values());
  std::vector<int> sends, receives, from, to;
  int sent = 0, received = 0;
  const auto common = [](const Cuts& a, std::size_t r, const Cuts& b, std::size_t s) {
    return r == s ? 0 : std::max(0, std::min(a[r + 1], b[s + 1]) - std::max(a[r], b[s]));
  };
  for (std::size_t r = 0; r + 1 < cuts.size(); ++r) {
    sends.push_back(values * common(cuts_, mine, cuts, r));
    receives.push_back(values * common(cuts, mine, cuts_, r));
    from.push_back(sent);
    to.push_back(received);
    sent += sends.back();
    received += receives.back();
  }
  std::vector<double> out(static_cast<std::size_t>(sent)), in(static_cast<std::size_t>(received));
  const int low = cuts[mine], high = cuts[mine + 1];
  double* next = out.data();
  for (int i = first(); i < last(); ++i)
    if (i < low || i >= high) next = copy_out(shape_, block(i), next);
  Use& use = uses_[kBalance];
  {
    const Stopwatch watch(&use);
    MPI_Alltoallv(out.data(), sends.data(), from.data(), MPI_DOUBLE, in.data(), receives.data(), to.data(), MPI_DOUBLE,
                  MPI_COMM_WORLD);
    use.calls += 1;
    use.bytes += static_cast<double>(out.size() * sizeof(double));
  }
  std::vector<std::vector<double>> blocks;
  const double* arrived = in.data();
  for (int i = low; i < high; ++i) {
    if (i >= first() && i < last()) {
      blocks.push_back(std::move(blocks_[static_cast<std::size_t>(i - first())]));
    } else {
      arrived = copy_in(shape_, arrived, blocks.emplace_back(shape_.storage()).data());
    }
  }
  blocks_ = std::move(blocks);
  cuts_ = std::move(cuts);
}

}  // namespace stretto::programs
