// Needs a GPU: all ranks capture NCCL's own allreduce in a CUDA graph, and launch it twice with new values.
#include <dlfcn.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include "../devices.hpp"
#include "ranks.hpp"
#include "stretto/stretto_cuda_collectives.h"

namespace {

using namespace stretto;

// A function of CUDA's driver, which the plugin has loaded.
template <class Function>
Function* driver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const found = library ? dlsym(library, name) : nullptr;
  if (!found) throw std::runtime_error(std::string("CUDA's driver has no ") + name);
  return reinterpret_cast<Function*>(found);
}

void must(int error, const char* what) {
  if (error != 0) throw std::runtime_error(std::string(what) + ": CUDA error " + std::to_string(error));
}

// Captures the work between begin() and end(), for any number of launches.
class Graph {
 public:
  explicit Graph(void* stream) : stream_(stream) {
    constexpr int of_this_thread = 1;  // other threads' calls of CUDA do not break the capture
    must(driver<int(void*, int)>("cuStreamBeginCapture_v2")(stream_, of_this_thread), "capture");
  }
  ~Graph() {
    if (runs_ != nullptr) driver<int(void*)>("cuGraphExecDestroy")(runs_);
    if (graph_ != nullptr) driver<int(void*)>("cuGraphDestroy")(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void end() {
    must(driver<int(void*, void**)>("cuStreamEndCapture")(stream_, &graph_), "the end of a capture");
    must(driver<int(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags")(&runs_, graph_, 0), "a graph");
  }
  void launch() { must(driver<int(void*, void*)>("cuGraphLaunch")(runs_, stream_), "a launch"); }

 private:
  void *const stream_, *graph_ = nullptr, *runs_ = nullptr;
};

struct Stream {
  void* stream = nullptr;
  Stream() { tests::check(tests::plugin().create_stream(&stream)); }
  ~Stream() { static_cast<void>(tests::plugin().destroy_stream(stream)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

void sums_in_a_graph(stretto_comm comm) {
  constexpr std::size_t count = 30000;
  const auto rank = static_cast<float>(stretto_comm_rank(comm)), ranks = static_cast<float>(stretto_comm_size(comm));
  const Stream s;
  stretto_options o = STRETTO_OPTIONS_INIT;
  o.timeout = 60;
  tests::DeviceVector<float> to(0, count);
  const auto sum = [&](const tests::DeviceVector<float>& from) {
    return stretto_allreduce_on_stream(from.data(), to.data(), count, STRETTO_F32, STRETTO_SUM, comm, &o, s.stream);
  };
  const tests::DeviceVector<float> ones(0, std::vector<float>(count, 1)), own(0, std::vector<float>(count, rank + 1)),
      other(0, std::vector<float>(count, 2 * rank));
  const auto must_be = [&](float expected, const char* what) {
    if (to.read(s.stream) != std::vector<float>(count, expected))
      throw std::runtime_error(std::string(what) + " is wrong");
  };
  const auto must_return = [](stretto_status found, stretto_status expected, const char* what) {
    if (found != expected) throw std::runtime_error(std::string(what) + ": " + stretto_message());
  };
  must_return(sum(ones), STRETTO_OK, "the first sum");
  must_be(ranks, "the first sum");
  {
    o.schedule = "native";
    Graph graph(s.stream);
    must_return(sum(own), STRETTO_OK, "a sum in capture");
    must_return(sum(other), STRETTO_OK, "a second one in capture");
    o.schedule = "ring";
    must_return(sum(ones), STRETTO_UNSUPPORTED, "a ring in capture");
    graph.end();
    must_be(ranks, "what no graph has been launched for");
    for (int i = 0; i < 2; ++i) {
      graph.launch();
      must_be(ranks * (ranks - 1), "a graph's last sum");
    }
  }
  o.schedule = nullptr;
  must_return(sum(ones), STRETTO_OK, "a sum after a graph");
  must_be(ranks, "a sum after a graph");
}

}  // namespace

namespace stretto::tests {

int graph_of_ranks(stretto_comm comm) {
  try {
    sums_in_a_graph(comm);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rank %d: %s\n", stretto_comm_rank(comm), e.what());
    return 1;
  }
}

}  // namespace stretto::tests
