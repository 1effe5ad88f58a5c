#include "backend/schedules.hpp"

#include "backend/buffers.hpp"
#include "backend/schedule_cache.hpp"
#include "base/guarded.hpp"
#include "schedule/registry.hpp"
#include "select/part_eps.hpp"

namespace stretto::backend {

using namespace call;

namespace {

class Schedules final : public Backend {
 public:
  Schedules(engine::Engine& engine, const schedule::Groups& groups) noexcept
      : engine_(engine), groups_(groups), rank_(engine.carrier().rank()), ranks_(engine.carrier().size()) {}

  const char* name() const noexcept override { return nullptr; }
  bool serves(const Call&) const noexcept override { return true; }
  bool starts(const Call&) const noexcept override { return true; }

  Status start(const Call& c, const Decision& d, std::unique_ptr<Pending>* pending) noexcept override {
    return guarded("to prepare the collective", [&] {
      engine::Work run;
      if (const Status s = bind(c, d, &run); s != Status::ok) return s;
      auto made = std::make_unique<Running>();
      if (const Status s = engine_.start(run, &made->request); s != Status::ok) return s;
      *pending = std::move(made);
      return Status::ok;
    });
  }

  // Each run is bound anew, which costs little.
  std::unique_ptr<PreparedCall> prepare(const Call&, const Decision&) noexcept override { return nullptr; }

 private:
  struct Running final : Pending {
    bool leads() const noexcept override { return request.leads(); }
    Status test(bool* done, engine::Report* ran) noexcept override { return request.test(done, ran); }
    bool wait(Status* ended, engine::Report* ran) noexcept override {
      *ended = request.wait(ran);
      return true;
    }
    engine::Request request;
  };

  Status bind(const Call& c, const Decision& d, engine::Work* run) {
    schedule::Request request;
    request.collective = schedule::family(c.collective);
    request.ranks = ranks_;
    request.rank = rank_;
    request.root = rooted(c.collective) ? c.root : 0;
    request.blocks = d.choice.blocks;
    request.radix = d.choice.radix;
    request.split = d.choice.split;
    request.groups = &groups_;
    if (const Status s = schedule::check_ranks(request.collective, ranks_); s != Status::ok) return s;
    run->schedule = cache_.get(d.choice.schedule, request);
    if (!run->schedule) return fail(Status::internal, "schedule {} cannot be built", d.choice.schedule);
    run->payload = d.spec;
    if (c.op == STRETTO_USER && reduces(c.collective)) run->payload.user = user_function(c);
    run->options.segment_bytes = d.choice.segment;
    run->options.timeout = timeout_of(c.settings.options);
    run->device = c.device;
    run->lanes = d.choice.lanes;
    run->messages = c.messages;
    run->stream = c.stream;
    run->leaves_early = c.stream.has_value();
    if (d.streams()) {
      for (const stretto_part& p : c.settings.parts)
        run->parts.push_back({p.count, select::eps_of_part(d.bound.eps, c.settings.options.bound, p.bound)});
    }
    if (c.collective == Collective::allreduce_multi) {
      run->several = true;
      run->inputs = c.inputs;
      run->contributions = static_cast<std::uint32_t>(d.inputs);
    }
    engine::Arguments arguments = engine_arguments(c, rank_);
    arguments.parts = run->parts;
    return engine::bind(*run->schedule, run->payload.type, arguments, &run->blocks);
  }

  engine::Engine& engine_;
  const schedule::Groups& groups_;
  const int rank_, ranks_;
  ScheduleCache cache_;
};

}  // namespace

std::unique_ptr<Backend> make_schedules_backend(engine::Engine& engine, const schedule::Groups& groups) {
  return std::make_unique<Schedules>(engine, groups);
}

}  // namespace stretto::backend
