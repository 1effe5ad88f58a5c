// Reductions: results equal those of the MPI's own functions, by their PMPI names.
#include <complex>
#include <functional>
#include <limits>
#include <type_traits>

#include "suite.hpp"

using namespace mpi_test;

namespace {

struct NamedOp {
  const char* name;
  MPI_Op op;
  bool integers_only;
};

const std::vector<NamedOp>& operations() {
  static const std::vector<NamedOp> all = {{"sum", MPI_SUM, false},  {"prod", MPI_PROD, false}, {"min", MPI_MIN, false},
                                           {"max", MPI_MAX, false},  {"land", MPI_LAND, true},  {"lor", MPI_LOR, true},
                                           {"lxor", MPI_LXOR, true}, {"band", MPI_BAND, true},  {"bor", MPI_BOR, true},
                                           {"bxor", MPI_BXOR, true}};
  return all;
}

enum class Side { apart, in_place };

// A reduction by the library and by the MPI, of `n` elements per rank (or block) with `width` input vectors of them.
template <class T>
struct Case {
  MPI_Datatype type;
  MPI_Op op;
  int n;
  const Comm& comm;
  Side side;

  const void* send(const std::vector<T>& x) const { return side == Side::in_place ? MPI_IN_PLACE : x.data(); }
};

template <class T>
void allreduce(const Case<T>& c) {
  const auto x = values<T>(c.comm.rank, size(c.n));
  auto ours = c.side == Side::in_place ? x : std::vector<T>(x.size()), theirs = ours;
  EXPECT_EQ(MPI_Allreduce(c.send(x), ours.data(), c.n, c.type, c.op, c.comm.comm), MPI_SUCCESS);
  PMPI_Allreduce(c.send(x), theirs.data(), c.n, c.type, c.op, c.comm.comm);
  EXPECT_EQ(ours, theirs);
}

// MPICH 4.0 copies from MPI_IN_PLACE in its own MPI_Reduce.
constexpr bool reduces_in_place() {
#ifdef MPICH_NUMVERSION
  return MPICH_NUMVERSION >= 40100000;
#else
  return true;
#endif
}

template <class T>
void reduce(const Case<T>& c) {
  if (c.side == Side::in_place && !reduces_in_place()) return;
  const auto x = values<T>(c.comm.rank, size(c.n));
  for (const int root : roots(c.comm.size)) {
    const bool here = c.comm.rank == root;
    auto ours = c.side == Side::in_place ? x : std::vector<T>(x.size(), T(9)), theirs = ours;
    const void* send = here ? c.send(x) : x.data();
    EXPECT_EQ(MPI_Reduce(send, here ? ours.data() : nullptr, c.n, c.type, c.op, root, c.comm.comm), MPI_SUCCESS);
    PMPI_Reduce(send, here ? theirs.data() : nullptr, c.n, c.type, c.op, root, c.comm.comm);
    EXPECT_EQ(ours, theirs);
  }
}

template <class T>
void reduce_scatter_block(const Case<T>& c) {
  const auto x = values<T>(c.comm.rank, size(c.n * c.comm.size));
  auto ours = c.side == Side::in_place ? x : std::vector<T>(size(c.n)), theirs = ours;
  EXPECT_EQ(MPI_Reduce_scatter_block(c.send(x), ours.data(), c.n, c.type, c.op, c.comm.comm), MPI_SUCCESS);
  PMPI_Reduce_scatter_block(c.send(x), theirs.data(), c.n, c.type, c.op, c.comm.comm);
  ours.resize(size(c.n));
  theirs.resize(size(c.n));
  EXPECT_EQ(ours, theirs);
}

template <class T>
void reduce_scatter(const Case<T>& c) {
  std::vector<int> counts;
  int all = 0;
  for (int r = 0; r < c.comm.size; ++r) all += counts.emplace_back(c.n / (r % 3 + 1) + r % 2);
  const auto x = values<T>(c.comm.rank, size(all));
  const int own = counts[size(c.comm.rank)];
  auto ours = c.side == Side::in_place ? x : std::vector<T>(size(own)), theirs = ours;
  EXPECT_EQ(MPI_Reduce_scatter(c.send(x), ours.data(), counts.data(), c.type, c.op, c.comm.comm), MPI_SUCCESS);
  PMPI_Reduce_scatter(c.send(x), theirs.data(), counts.data(), c.type, c.op, c.comm.comm);
  ours.resize(size(own));
  theirs.resize(size(own));
  EXPECT_EQ(ours, theirs);
}

template <class T>
void scans(const Case<T>& c) {
  const auto x = values<T>(c.comm.rank, size(c.n));
  auto ours = c.side == Side::in_place ? x : std::vector<T>(x.size()), theirs = ours;
  MPI_Scan(c.send(x), ours.data(), c.n, c.type, c.op, c.comm.comm);
  PMPI_Scan(c.send(x), theirs.data(), c.n, c.type, c.op, c.comm.comm);
  EXPECT_EQ(ours, theirs);
  if (c.side == Side::in_place) ours = theirs = x;
  MPI_Exscan(c.send(x), ours.data(), c.n, c.type, c.op, c.comm.comm);
  PMPI_Exscan(c.send(x), theirs.data(), c.n, c.type, c.op, c.comm.comm);
  if (c.comm.rank == 0) ours = theirs;  // undefined there
  EXPECT_EQ(ours, theirs);
}

template <class T>
void every_reduction(const Case<T>& c) {
  SCOPED_TRACE(c.comm.name + ", " + std::to_string(c.n) + (c.side == Side::in_place ? " in place" : ""));
  allreduce(c);
  reduce(c);
  reduce_scatter_block(c);
  reduce_scatter(c);
  scans(c);
}

template <class T>
void on_every_communicator(MPI_Datatype type, MPI_Op op) {
  for (const Comm& comm : communicators())
    for (const int n : {0, 1, 1000, 30011})
      for (const Side side : {Side::apart, Side::in_place}) every_reduction<T>({type, op, n, comm, side});
}

template <class T>
void on_the_world(MPI_Datatype type, MPI_Op op) {
  for (const Side side : {Side::apart, Side::in_place})
    every_reduction<T>({type, op, 131, communicators().front(), side});
}

template <class T>
void all_operations(MPI_Datatype type) {
  for (const NamedOp& o : operations()) {
    if (o.integers_only && !std::is_integral_v<T>) continue;
    SCOPED_TRACE(o.name);
    on_the_world<T>(type, o.op);
  }
}

struct Pair {
  float value;
  int place;
  bool operator==(const Pair&) const = default;
};

// x y -> x + 2 y, which does not commute; associative enough for a test of order.
void ordered(void* in, void* inout, int* n, MPI_Datatype*) {
  auto* a = static_cast<std::uint64_t*>(in);
  auto* b = static_cast<std::uint64_t*>(inout);
  // Affine maps (a, b): x -> a x + b, composed in the order of the ranks.
  for (int i = 0; i < *n; ++i) {
    const std::uint64_t slope = a[2 * i] * b[2 * i], shift = a[2 * i + 1] * b[2 * i] + b[2 * i + 1];
    b[2 * i] = slope;
    b[2 * i + 1] = shift;
  }
}

}  // namespace

TEST(Reductions, OnEveryCommunicatorAreThoseOfTheMpi) {
  on_every_communicator<double>(MPI_DOUBLE, MPI_SUM);
  on_every_communicator<int>(MPI_INT, MPI_MAX);
}

TEST(Reductions, OfDoublesAreThoseOfTheMpi) { all_operations<double>(MPI_DOUBLE); }
TEST(Reductions, OfFloatsAreThoseOfTheMpi) { all_operations<float>(MPI_FLOAT); }
TEST(Reductions, OfIntsAreThoseOfTheMpi) { all_operations<int>(MPI_INT); }
TEST(Reductions, OfUnsignedLongsAreThoseOfTheMpi) { all_operations<unsigned long>(MPI_UNSIGNED_LONG); }
TEST(Reductions, OfShortsAreThoseOfTheMpi) { all_operations<short>(MPI_SHORT); }
TEST(Reductions, OfSignedCharsAreThoseOfTheMpi) { all_operations<signed char>(MPI_SIGNED_CHAR); }
TEST(Reductions, OfUint8AreThoseOfTheMpi) { all_operations<std::uint8_t>(MPI_UINT8_T); }
TEST(Reductions, OfInt64AreThoseOfTheMpi) { all_operations<std::int64_t>(MPI_INT64_T); }

// Open MPI saturates sums of 8 and 16 bits, but not at the end of a vector. More calls than a communicator needs before
// it is served.
template <class T>
void overflows(MPI_Datatype type) {
  constexpr int n = 20'003, calls = 10;
  const Comm& c = communicators()[1];
  for (const MPI_Op op : {MPI_SUM, MPI_PROD}) {
    std::vector<T> x(n, static_cast<T>(std::numeric_limits<T>::max() / 2 + 3)), ours(n), theirs(n);
    for (std::size_t i = 0; std::is_signed_v<T> && i < x.size(); i += 2) x[i] = static_cast<T>(-x[i]);
    PMPI_Allreduce(x.data(), theirs.data(), n, type, op, c.comm);
    for (int call = 0; call < calls; ++call) {
      MPI_Allreduce(x.data(), ours.data(), n, type, op, c.comm);
      ASSERT_EQ(ours, theirs) << sizeof(T) << " bytes, call " << call;
    }
  }
}

TEST(Reductions, ThatOverflowAreThoseOfTheMpiInEveryCall) {
  overflows<std::int8_t>(MPI_INT8_T);
  overflows<std::uint8_t>(MPI_UINT8_T);
  overflows<std::int16_t>(MPI_INT16_T);
  overflows<std::uint16_t>(MPI_UINT16_T);
  overflows<short>(MPI_SHORT);
  overflows<unsigned char>(MPI_UNSIGNED_CHAR);
  overflows<std::uint32_t>(MPI_UINT32_T);
  overflows<std::uint64_t>(MPI_UINT64_T);
}

TEST(Reductions, OfOtherTypesAreThoseOfTheMpi) {
  on_the_world<std::uint8_t>(MPI_BYTE, MPI_BXOR);
  on_the_world<MPI_Aint>(MPI_AINT, MPI_SUM);
  on_the_world<long double>(MPI_LONG_DOUBLE, MPI_SUM);
  on_the_world<std::complex<float>>(MPI_C_FLOAT_COMPLEX, MPI_SUM);
  on_the_world<std::complex<double>>(MPI_C_DOUBLE_COMPLEX, MPI_SUM);
  on_the_world<std::complex<double>>(MPI_C_DOUBLE_COMPLEX, MPI_PROD);
}

TEST(Reductions, WithPlacesAreThoseOfTheMpi) {
  for (const Comm& c : communicators()) {
    const Pair own{value<float>(c.rank, 1), c.rank};
    Pair ours{}, theirs{};
    MPI_Allreduce(&own, &ours, 1, MPI_FLOAT_INT, MPI_MAXLOC, c.comm);
    PMPI_Allreduce(&own, &theirs, 1, MPI_FLOAT_INT, MPI_MAXLOC, c.comm);
    EXPECT_EQ(ours, theirs);
  }
}

TEST(Reductions, ByOperationsOfTheProgramAreThoseOfTheMpi) {
  MPI_Datatype map = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_UINT64_T, &map);
  MPI_Type_commit(&map);
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(ordered, 0, &op);
  for (const Comm& c : communicators()) {
    const auto x = values<std::uint64_t>(c.rank, 200);
    std::vector<std::uint64_t> ours(200), theirs(200);
    MPI_Allreduce(x.data(), ours.data(), 100, map, op, c.comm);
    PMPI_Allreduce(x.data(), theirs.data(), 100, map, op, c.comm);
    EXPECT_EQ(ours, theirs);
    MPI_Reduce(x.data(), ours.data(), 100, map, op, c.size - 1, c.comm);
    PMPI_Reduce(x.data(), theirs.data(), 100, map, op, c.size - 1, c.comm);
    EXPECT_EQ(ours, theirs);
  }
  MPI_Op_free(&op);
  MPI_Type_free(&map);
}

TEST(Reductions, OfOneBufferForBothSidesAreThoseInPlace) {
  const Comm& c = communicators().front();
  auto both = values<double>(c.rank, 1000), expected = both;
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(c.comm, &before);
  MPI_Comm_set_errhandler(c.comm, MPI_ERRORS_RETURN);
  if (MPI_Allreduce(both.data(), both.data(), 1000, MPI_DOUBLE, MPI_SUM, c.comm) == MPI_SUCCESS) {
    PMPI_Allreduce(MPI_IN_PLACE, expected.data(), 1000, MPI_DOUBLE, MPI_SUM, c.comm);
    EXPECT_EQ(both, expected);
  }
  MPI_Comm_set_errhandler(c.comm, before);
}
