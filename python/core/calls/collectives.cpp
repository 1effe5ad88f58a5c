#include "calls/collectives.hpp"

#include <algorithm>
#include <string>

#include "errors.hpp"
#include "stretto/stretto_cuda_collectives.h"
#include "stretto/stretto_cuda_memory.h"

namespace stretto::python {
namespace {

void demand(const View& view, std::size_t elements, stretto_type type, const char* what) {
  const std::size_t there = view.bytes() / stretto_type_size(type);
  if (there < elements)
    raise(STRETTO_INVALID_ARGUMENT, std::string(what) + " holds " + std::to_string(there) + " elements; " +
                                        std::to_string(elements) + " are needed");
}

void demand_one_each(const std::vector<std::size_t>& sizes, int ranks, const char* what) {
  if (!sizes.empty() && sizes.size() != static_cast<std::size_t>(ranks))
    raise(STRETTO_INVALID_ARGUMENT, std::to_string(sizes.size()) + " " + what + " were given; the communicator has " +
                                        std::to_string(ranks) + " ranks");
}

}  // namespace

void Call::check_overlap() const {
  const auto overlaps = [&](const View& one) { return one.overlaps(recv); };
  if (overlaps(send) || std::any_of(contributions.begin(), contributions.end(), overlaps))
    raise(STRETTO_INVALID_ARGUMENT, "x and out overlap; IN_PLACE, or out=x in a reduction, is in place");
}

void Call::check_lengths(stretto_comm comm) const {
  const int ranks = stretto_comm_size(comm);
  demand_one_each(sent.counts, ranks, "counts of x");
  demand_one_each(sent.displacements, ranks, "displacements of x");
  demand_one_each(received.counts, ranks, "counts of out");
  demand_one_each(received.displacements, ranks, "displacements of out");
  const stretto_call c = record();
  std::size_t sends = 0, receives = 0;
  check(stretto_call_extent(&c, comm, &sends, &receives));
  demand(send, sends, type, "x");
  demand(recv, receives, type, collective == STRETTO_BCAST ? "x" : "out");
  for (const View& one : contributions) demand(one, count, type, "a contribution");
}

stretto_call Call::record() const noexcept {
  stretto_call c = STRETTO_CALL_INIT;
  c.collective = collective;
  c.type = type;
  c.op = op;
  c.root = root;
  c.count = count;
  c.sendbuf = send_in_place ? STRETTO_IN_PLACE : send.data();
  c.recvbuf = recv_in_place ? STRETTO_IN_PLACE : recv.data();
  c.sendcounts = sent.sizes();
  c.sdispls = sent.places();
  c.recvcounts = received.sizes();
  c.rdispls = received.places();
  c.contributions = addresses.data();
  c.k = static_cast<int>(addresses.size());
  return c;
}

stretto_status Call::run(stretto_comm comm, const stretto_options* o, stretto_request* r) const noexcept {
  const stretto_call c = record();
  if (!place.on_device()) return r ? stretto_irun(&c, comm, o, r) : stretto_run(&c, comm, o);
  const Visit visit(place);
  stretto_status s = visit.status();
  if (s == STRETTO_OK) s = place.begin();
  if (s == STRETTO_OK && r) s = stretto_cuda_wait(comm, place.stream);
  if (s != STRETTO_OK) return s;
  if (r) return stretto_irun(&c, comm, o, r);
  if (collective == STRETTO_BARRIER) return stretto_run(&c, comm, o);
  s = stretto_run_on_stream(&c, comm, o, place.stream);
  return s == STRETTO_OK ? place.end() : s;
}

}  // namespace stretto::python
