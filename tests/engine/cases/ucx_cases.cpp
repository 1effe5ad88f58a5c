// Every schedule with every payload and operation over UCX. Exit status 1 if any fails.
#include <cstdlib>

#include "carrier/directory_store.hpp"
#include "launched_cases.hpp"
#include "modules/ucx/carrier.hpp"
#include "modules/ucx/worker.hpp"

using namespace stretto;

int main() {
  std::unique_ptr<carrier::Store> store;
  std::unique_ptr<modules::UcxWorker> worker;
  carrier::Participant me{
      "engine", std::atoi(std::getenv("STRETTO_RANK")), std::atoi(std::getenv("STRETTO_SIZE")), "test", {}, {}};
  carrier::Session session;
  std::unique_ptr<carrier::Carrier> carrier;
  Status s = carrier::open_directory_store(std::getenv("STRETTO_STORE"), &store);
  if (s == Status::ok) s = modules::UcxWorker::make("", &worker);
  if (s == Status::ok) s = worker->address(&me.address);
  if (s == Status::ok) s = carrier::meet_in(*store, me, 60, &session);
  if (s == Status::ok) {
    worker->join(session, me.rank);
    s = modules::make_ucx_carrier(*worker, 1, worker->connections(), &carrier);
  }
  if (s != Status::ok) {
    std::fprintf(stderr, "%s\n", message());
    return 1;
  }
  const bool well = tests::run_over(*carrier, true);
  if (me.rank == 0) carrier::clean_up(*store, session);
  return well ? 0 : 1;
}
