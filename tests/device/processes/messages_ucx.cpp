// Messages between devices by a UCX that takes their memory (stand_in_ucx.cpp). Exit status 1 if anything fails.
#include <cstdlib>

#include "../messages.hpp"
#include "carrier/directory_store.hpp"
#include "modules/ucx/transport.hpp"

int main() {
  using namespace stretto;
  const int rank = std::atoi(std::getenv("STRETTO_RANK")), ranks = std::atoi(std::getenv("STRETTO_SIZE"));
  std::unique_ptr<carrier::Store> store;
  std::unique_ptr<backend::Transport> transport;
  Status s = carrier::open_directory_store(std::getenv("STRETTO_STORE"), &store);
  if (s == Status::ok) s = modules::make_ucx_transport(*store, {"messages", rank, ranks, 60, ""}, &transport);
  std::unique_ptr<carrier::DeviceMessages> messages;
  if (s == Status::ok) s = transport->make_device_messages(tests::plugin(), 0, 60, &messages);
  if (s != Status::ok || !messages) {
    std::fprintf(stderr, "rank %d: no messages between devices: %s\n", rank, message());
    return 1;
  }
  transport->created({});
  int wrong = tests::pass_around(*messages, rank, ranks);
  messages->abort();
  wrong += messages->start({}) != Status::internal;
  return wrong > 0;
}
