// Calls a form, and judges what comes of it.
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>
#include <type_traits>

#include "forms_arranged.hpp"
#include "stretto/stretto_persistent.h"

namespace api_test {
namespace {

// Where a request is, and how it comes about.
struct Request {
  stretto_request* at;  // null: the blocking form
  bool prepared;
};

template <class Blocking, class Started, class Prepared, class... Arguments>
stretto_status one_of(Request r, Blocking blocking, Started started, Prepared prepared, Arguments... arguments) {
  if (r.at == nullptr) return blocking(arguments...);
  if (!r.prepared) return started(arguments..., r.at);
  const stretto_status s = prepared(arguments..., r.at);
  return s == STRETTO_OK ? stretto_start(*r.at) : s;
}

struct Buffers {
  const void* send;
  void* recv;
  std::vector<const void*> several;
};

const std::size_t* or_null(const std::vector<std::size_t>& v) { return v.empty() ? nullptr : v.data(); }

stretto_call record_of(const Form& f, const Arrangement& a, const Buffers& b, stretto_comm comm) {
  stretto_call c = STRETTO_CALL_INIT;
  c.collective = f.collective;
  c.type = f.type;
  c.op = f.op;
  c.root = f.root;
  c.count = f.collective == STRETTO_SCATTERV || f.collective == STRETTO_GATHERV
                ? a.counts[static_cast<std::size_t>(stretto_comm_rank(comm))]
                : f.count;
  c.sendbuf = b.send;
  c.recvbuf = b.recv;
  c.sendcounts = c.recvcounts = or_null(a.counts);
  c.sdispls = or_null(a.send_displs);
  c.rdispls = or_null(a.recv_displs);
  c.contributions = b.several.data();
  c.k = static_cast<int>(b.several.size());
  return c;
}

// Gaps may follow the last block, and the first rank of exscan has an unused buffer.
std::string judge_extent(const Form& f, const Arrangement& a, const stretto_call& c, stretto_comm comm) {
  std::size_t send = 0, recv = 0;
  if (stretto_call_extent(&c, comm, &send, &recv) != STRETTO_OK) return stretto_message();
  const auto end_of = [&](std::size_t room, const std::vector<std::size_t>& displs) {
    if (room == 0 || displs.empty()) return room;
    std::size_t end = 0;
    for (std::size_t i = 0; i < displs.size(); ++i)
      if (a.counts[i] > 0) end = std::max(end, displs[i] + a.counts[i]);
    return end;
  };
  const std::size_t sent = end_of(a.send_in_place ? 0 : a.send.size(), a.send_displs);
  std::size_t received = end_of(a.recv_in_place ? 0 : a.recv.size(), a.recv_displs);
  if (f.collective == STRETTO_EXSCAN && stretto_comm_rank(comm) == 0 && !a.send_in_place) received = 0;
  if (send == sent && recv == received) return {};
  return fmt::format("the call's extent is {} and {} where buffers end at {} and {}", send, recv, sent, received);
}

stretto_status by_record(const stretto_call& c, const stretto_options* o, stretto_comm comm, Request request) {
  if (request.at == nullptr) return stretto_run(&c, comm, o);
  if (!request.prepared) return stretto_irun(&c, comm, o, request.at);
  const stretto_status s = stretto_run_init(&c, comm, o, request.at);
  return s == STRETTO_OK ? stretto_start(*request.at) : s;
}

// Each collective by its own function, with the arguments in the order of stretto.h.
stretto_status by_name(const Form& f, const Arrangement& a, const Buffers& b, const stretto_options* o,
                       stretto_comm comm, Request request) {
  const std::size_t own = a.counts[static_cast<std::size_t>(stretto_comm_rank(comm))];
  const bool root = stretto_comm_rank(comm) == f.root;
  const std::size_t *counts = or_null(a.counts), *sdispls = or_null(a.send_displs), *rdispls = or_null(a.recv_displs);
  const std::size_t *at_root = root ? counts : nullptr, *sent_at = root ? sdispls : nullptr,
                    *received_at = root ? rdispls : nullptr;
  const auto inputs = b.several.data();
  const int k = static_cast<int>(b.several.size());
#define CALL(name, ...) \
  one_of(request, stretto_##name, stretto_i##name, stretto_##name##_init, __VA_ARGS__ __VA_OPT__(, ) comm, o)
  switch (f.collective) {
    case STRETTO_ALLREDUCE: return CALL(allreduce, b.send, b.recv, f.count, f.type, f.op);
    case STRETTO_ALLREDUCE_MULTI: return CALL(allreduce_multi, inputs, k, b.recv, f.count, f.type, f.op);
    case STRETTO_REDUCE: return CALL(reduce, b.send, b.recv, f.count, f.type, f.op, f.root);
    case STRETTO_REDUCE_SCATTER_BLOCK: return CALL(reduce_scatter_block, b.send, b.recv, f.count, f.type, f.op);
    case STRETTO_REDUCE_SCATTER: return CALL(reduce_scatter, b.send, b.recv, counts, f.type, f.op);
    case STRETTO_SCAN: return CALL(scan, b.send, b.recv, f.count, f.type, f.op);
    case STRETTO_EXSCAN: return CALL(exscan, b.send, b.recv, f.count, f.type, f.op);
    case STRETTO_ALLGATHER: return CALL(allgather, b.send, b.recv, f.count, f.type);
    case STRETTO_ALLGATHERV: return CALL(allgatherv, b.send, b.recv, counts, rdispls, f.type);
    case STRETTO_BCAST: return CALL(bcast, b.recv, f.count, f.type, f.root);
    case STRETTO_SCATTER: return CALL(scatter, b.send, b.recv, f.count, f.type, f.root);
    case STRETTO_SCATTERV: return CALL(scatterv, b.send, at_root, sent_at, b.recv, own, f.type, f.root);
    case STRETTO_GATHER: return CALL(gather, b.send, b.recv, f.count, f.type, f.root);
    case STRETTO_GATHERV: return CALL(gatherv, b.send, own, b.recv, at_root, received_at, f.type, f.root);
    case STRETTO_ALLTOALL: return CALL(alltoall, b.send, b.recv, f.count, f.type);
    case STRETTO_ALLTOALLV: return CALL(alltoallv, b.send, counts, sdispls, b.recv, counts, rdispls, f.type);
    case STRETTO_BARRIER: return CALL(barrier);
  }
#undef CALL
  return STRETTO_INTERNAL;
}

stretto_status finish(const Form& f, stretto_request* request) {
  stretto_status status = STRETTO_OK;
  for (int done = 0; f.tested && done == 0;) {
    status = stretto_test(*request, &done);
    if (done == 0) std::this_thread::yield();
  }
  if (!f.tested) status = stretto_wait(*request);
  if (f.prepared && !f.in_place && status == STRETTO_OK) {  // the same once more
    status = stretto_start(*request);
    if (status == STRETTO_OK) status = stretto_wait(*request);
  }
  const stretto_status freed = stretto_request_free(request);
  return status != STRETTO_OK ? status : freed;
}

bool is_float(stretto_type t) { return t == STRETTO_F32 || t == STRETTO_F64; }

bool decodes_between(const Form& f) {
  return f.options.payload == STRETTO_PAYLOAD_RECOMPRESS || f.options.payload == STRETTO_PAYLOAD_CPRP2P;
}

// The quantisation error that stretto.h allows in a result.
double promise(const Form& f, const Arrangement& a, int ranks) {
  if (f.options.bound_kind == STRETTO_BOUND_NONE || !is_float(f.type)) return 0;
  const double eps = f.options.bound * (f.options.bound_kind == STRETTO_BOUND_RELATIVE ? a.range : 1);
  const bool adds = reduces(f.collective) && f.op != STRETTO_MIN && f.op != STRETTO_MAX;
  if (!adds || f.options.scope == STRETTO_SCOPE_RESULT) return eps;
  const int contributions = a.contributions + (decodes_between(f) ? ranks - 1 : 0);
  return contributions * eps / (f.op == STRETTO_MEAN ? a.contributions : 1);
}

template <class T>
double half_ulp(double y) {
  if constexpr (std::is_integral_v<T>) return 0;
  const T size = static_cast<T>(std::abs(y));
  return (static_cast<double>(std::nextafter(size, std::numeric_limits<T>::infinity())) - static_cast<double>(size)) /
         2;
}

template <class T>
std::string judge(const Form& f, const Arrangement& a, int ranks, const stretto_report& report,
                  const std::vector<T>& got) {
  const double promised = promise(f, a, ranks);
  if (report.promised_error > promised * (1 + 1e-12))
    return fmt::format("the report promises {}, and the header {}", report.promised_error, promised);
  const bool divides = reduces(f.collective) && f.op == STRETTO_MEAN;
  // Sums of decoded values round at each addition; no contribution exceeds 2.
  const bool rounds = reduces(f.collective) && decodes_between(f) && f.options.scope == STRETTO_SCOPE_CONTRIBUTION;
  const double additions = rounds ? a.contributions * half_ulp<T>(2.0 * a.contributions) : 0;
  for (const auto& w : a.wanted) {
    const double y = static_cast<double>(got[w.at]), error = std::abs(y - w.number);
    double allowed = w.exact ? 0 : report.promised_error;
    if (!w.exact && (allowed > 0 || divides)) allowed += additions + (divides ? 2 : 1) * half_ulp<T>(y);
    if (!(error <= allowed))
      return fmt::format("element {}: {} is off {} by {}, more than {}, by {} as {}", w.at, y, w.number, error, allowed,
                         report.algorithm, report.payload);
  }
  return {};
}

template <class T>
std::vector<T> typed(const std::vector<double>& v) {
  return std::vector<T>(v.begin(), v.end());
}

template <class T>
std::string run_typed(const Form& f, stretto_comm comm) {
  const int ranks = stretto_comm_size(comm), rank = stretto_comm_rank(comm);
  const Arrangement a = arrange(f, ranks, rank);
  auto send = typed<T>(a.send), recv = typed<T>(a.recv);
  std::vector<std::vector<T>> several;
  Buffers b{send.data(), recv.data(), {}};
  for (const auto& v : a.several) several.push_back(typed<T>(v));
  for (const auto& v : several) b.several.push_back(v.data());
  if (!a.send_given) b.send = nullptr;
  if (!a.recv_given) b.recv = nullptr;
  if (a.send_in_place) b.send = STRETTO_IN_PLACE;
  if (a.recv_in_place) b.recv = STRETTO_IN_PLACE;

  const stretto_call call = record_of(f, a, b, comm);
  if (std::string wrong = judge_extent(f, a, call, comm); !wrong.empty()) return wrong;

  stretto_report report = STRETTO_REPORT_INIT;
  stretto_options o = f.options;
  o.schedule = f.schedule.empty() ? nullptr : f.schedule.c_str();
  o.report = &report;
  stretto_request request = nullptr;
  const Request as{f.started ? &request : nullptr, f.prepared};
  stretto_status status = f.recorded ? by_record(call, &o, comm, as) : by_name(f, a, b, &o, comm, as);
  if (status == STRETTO_OK && f.started) status = finish(f, &request);
  if (status != STRETTO_OK) return fmt::format("{}: {}", stretto_status_name(status), stretto_message());
  if (send != typed<T>(a.send)) return "the send buffer was written to";
  for (std::size_t j = 0; j < several.size(); ++j)
    if (several[j] != typed<T>(a.several[j])) return "a contribution was written to";
  if (!f.schedule.empty() && f.schedule != report.algorithm) return fmt::format("it ran as {}", report.algorithm);
  return judge(f, a, ranks, report, recv);
}

}  // namespace

std::string run_form(const Form& f, stretto_comm comm) {
  if (f.type == STRETTO_F32) return run_typed<float>(f, comm);
  if (f.type == STRETTO_F64) return run_typed<double>(f, comm);
  return f.type == STRETTO_I32 ? run_typed<std::int32_t>(f, comm) : run_typed<std::int64_t>(f, comm);
}

std::vector<std::string> run_forms(stretto_comm comm, std::uint64_t seed) {
  if (const char* given = std::getenv("STRETTO_TEST_SEED")) seed = std::strtoull(given, nullptr, 0);
  std::vector<std::string> failures;
  int number = 0;
  for (const Form& f : draw_forms(stretto_comm_size(comm), seed)) {
    // A form that fails on this rank may succeed on others, which need this rank for the next forms.
    const std::string wrong = run_form(f, comm);
    if (!wrong.empty() && failures.size() < 5)
      failures.push_back(fmt::format("rank {} of {}, seed {}, form {}, {}: {}", stretto_comm_rank(comm),
                                     stretto_comm_size(comm), seed, number, describe(f), wrong));
    ++number;
  }
  return failures;
}

}  // namespace api_test
