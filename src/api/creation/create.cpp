#include "api/creation/create.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/comm_cores.hpp"
#include "api/communicator.hpp"
#include "api/creation/machine.hpp"
#include "api/creation/node.hpp"
#include "backend/hosts/nodes.hpp"
#include "backend/node.hpp"
#include "base/guarded.hpp"
#include "base/waiting.hpp"
#include "carrier/paced.hpp"
#include "node/group/exchange.hpp"

namespace stretto::api {
namespace {

constexpr Purpose kMaking = "for a communicator";

// Before the ranks' first exchange; all ranks make their carriers, also if one has failed.
Status prepare(backend::Transport& transport, Carriers* c, std::unique_ptr<backend::Backend>* native) noexcept {
  Status s = transport.make_carrier(&c->agreement);
  const Status t = transport.make_carrier(&c->data);
  if (s == Status::ok) s = t;
  if (s == Status::ok) s = carrier::pace(&c->data);
  if (s == Status::ok) s = ask_comm_cores();
  if (s == Status::ok) s = check_wait_mode();
  return s != Status::ok ? s : guarded(kMaking, [&] { *native = transport.make_native(); });
}

// A rank may fail alone: parts with a collective release are the caller's.
struct Parts {
  Carriers carriers;
  std::unique_ptr<backend::Backend> native;
  std::unique_ptr<stretto_comm_s> comm;
};

Status make(backend::Transport& t, model::Carrier carrier, Parts* parts) noexcept {
  Carriers& c = parts->carriers;
  std::unique_ptr<node::Collectives> node;
  std::shared_ptr<select::SharedChooser> chooser;
  std::vector<Introduction> all;
  bool several_hosts = false;
  std::string no_node;
  Status s = prepare(t, &c, &parts->native);
  s = find_machine(t, carrier, s, c.data.get(), &chooser, &all, &several_hosts);
  if (!all.empty() && !several_hosts) s = find_node(t, s, all, chooser ? &chooser->chooser : nullptr, &no_node, &node);
  if (s != Status::ok) return s;
  return guarded(kMaking, [&] {
    backend::MakeHost make_host;
    if (several_hosts)
      make_host = later_node(t, all, chooser->chooser.topology(), chooser->chooser.profile(), &no_node);
    std::unique_ptr<stretto_comm_s>& made = parts->comm;
    made = std::make_unique<stretto_comm_s>(std::move(c), std::move(chooser), std::move(no_node));
    backend::Backends& backends = made->backends;
    if (node) {
      backends.node = backend::make_node_backend(std::move(node), made->selector.choices().groups());
      for (auto* carrier : {&made->carriers.agreement, &made->carriers.data})
        (*carrier)->announce_in(backends.node->messages_sent());
    }
    if (make_host)
      backends.nodes =
          backend::make_nodes_backend(std::move(make_host), made->data, made->selector.choices().groups(), t);
    backends.mpi = std::move(parts->native);
  });
}

}  // namespace

Status create(std::unique_ptr<backend::Transport> transport, model::Carrier carrier, stretto_comm* comm) noexcept {
  Parts parts;  // released after the agreement: an MPI may wait for all ranks in it
  Status s = make(*transport, carrier, &parts);
  if (!comm) s = fail(Status::invalid_argument, "comm is NULL");
  const bool has_node = parts.comm && parts.comm->backends.node;
  std::span<const bool> all;
  s = transport->step(s, has_node, &all);
  if (s == Status::ok && std::count(all.begin(), all.end(), all.front()) != std::ssize(all))
    s = fail(Status::internal, "some ranks share memory and others do not");
  if (s != Status::ok) return s;
  std::unique_ptr<stretto_comm_s>& made = parts.comm;
  std::function<std::string()> ended;
  static_cast<void>(attempt([&] {
    if (made->backends.node) ended = made->backends.node->ended();
    if (made->backends.nodes) ended = made->backends.nodes->ended();
  }));
  transport->created(std::move(ended));
  transport->release_room();
  made->transport = std::move(transport);
  // Without memory, its own calls alone drive it.
  static_cast<void>(attempt([&] { made->let_others_drive(made->transport->any_thread()); }));
  *comm = made.release();
  return s;
}

}  // namespace stretto::api
