// The carrier over UCX, on as many ranks as it is started on (ranks.py). Exit status 1 if anything fails.
#include "modules/ucx/carrier.hpp"

#include <cstdlib>

#include "carrier/directory_store.hpp"
#include "carrier_cases.hpp"
#include "modules/ucx/worker.hpp"

using namespace carrier_cases;
namespace modules = stretto::modules;

int main() {
  std::unique_ptr<stretto::carrier::Store> store;
  std::unique_ptr<modules::UcxWorker> worker;
  stretto::carrier::Newcomer me{
      "carrier", std::atoi(std::getenv("STRETTO_RANK")), std::atoi(std::getenv("STRETTO_SIZE")), "test", {}, {}};
  stretto::carrier::Session session;
  if (stretto::carrier::open_directory_store(std::getenv("STRETTO_STORE"), &store) != Status::ok ||
      modules::UcxWorker::make("", &worker) != Status::ok || worker->address(&me.address) != Status::ok ||
      stretto::carrier::meet_in(*store, me, 60, &session) != Status::ok) {
    std::fprintf(stderr, "%s\n", stretto::message());
    return 1;
  }
  worker->join(session, me.rank);
  for (const unsigned channel : {1u, 0u}) {
    std::unique_ptr<Carrier> c;
    expect(modules::make_ucx_carrier(*worker, channel, &c) == Status::ok, "no carrier");
    for (const std::size_t chunk : {std::size_t{64}, std::size_t{8192}, std::size_t{100000}}) {
      around(*c, chunk);
      exact_fit(*c, chunk);
    }
    too_long(*c);
    withdraw(*c);
    give_up(*c);
    alarms(*c);
    expect(c->start_send(c->size(), 0, nullptr, 0, 0) == Status::invalid_argument, "a peer outside is not refused");
    expect(c->tags() == 1u << 20, "the number of tags is another", c->tags());
  }
  if (me.rank == 0) stretto::carrier::clean_up(*store, session);
  return failures > 0;
}
