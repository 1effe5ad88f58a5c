#include "node/group/started.hpp"

#include <algorithm>

#include "base/progress/communication_cores.hpp"

namespace stretto::node {
namespace {

// Seconds of a sleep while another thread drives, which may have checked before the bell was armed.
constexpr double kWhileDriven = 50e-6;

}  // namespace

Status Started::Task::status() const noexcept {
  return status_ == Status::ok ? status_ : fail(status_, std::string_view(text_.data()));
}

Started::Started(Patience& patience) : patience_(patience) {
  patience.suspend = &Started::suspend;
  patience.suspended = this;
}

Started::~Started() = default;

void Started::start(Task& task) noexcept {
  const std::lock_guard lock(list_);
  (first_ == nullptr ? first_ : last_->next_) = &task;
  last_ = &task;
  count_.fetch_add(1, std::memory_order_release);
}

Started::Task* Started::front() noexcept {
  const std::lock_guard lock(list_);
  return first_;
}

void Started::run_front(void* self) noexcept {
  auto* const s = static_cast<Started*>(self);
  Task* const task = s->front();
  task->status_ = task->run();
  if (task->status_ != Status::ok) copy_message(task->text_);
}

void Started::suspend(void* self, bool anew) noexcept {
  auto* const s = static_cast<Started*>(self);
  s->moved_ = s->moved_ || anew;
  s->fiber_.suspend();
}

void Started::reach(schedule::Lane lane) noexcept {
  front()->lane_.store(lane, std::memory_order_relaxed);
  if (lanes_.has(lane)) return;
  moved_ = true;
  fiber_.suspend();
}

// An earlier collective may be under way, whose caller went on.
bool Started::leads(const Task& task) noexcept {
  return !task.done() && front() == &task && task.lane_.load(std::memory_order_relaxed) == schedule::Lane::before;
}

bool Started::move_lead() noexcept {
  leads_.store(true);
  return drive({.beside = false, .after = false});
}

void Started::end_front() noexcept {
  Task* task = nullptr;
  {
    const std::lock_guard lock(list_);
    task = first_;
    first_ = task->next_;
  }
  count_.fetch_sub(1, std::memory_order_release);
  task->done_.store(true, std::memory_order_release);  // `task` may be destroyed from here on
  ended_.ring();
}

// A communication core drives without sleeping.
void Started::rest(const Task& task, double seconds) noexcept {
  if (CommunicationCores::mine().on()) {
    await_end(task, seconds, false);
  } else if (watched_.exchange(true)) {
    await_end(task, seconds, true);
  } else {
    watch_awaited(task, seconds);
    watched_.store(false);
    ended_.wake();  // another thread becomes the watcher
  }
}

void Started::watch_awaited(const Task& task, double seconds) noexcept {
  Bell* const bell = awaited_.load();
  slept_on_.store(bell);
  if (bell != nullptr) {
    const std::uint32_t armed = bell->arm();
    // A thread that moves the front stores awaited_ before it loads slept_on_.
    if (!task.done() && awaited_.load() == bell) {
      switch (try_drive({})) {
        case Drive::moved: break;
        case Drive::waits: bell->sleep(seconds, armed); break;
        case Drive::taken: sleep_for(std::min(seconds, kWhileDriven)); break;
      }
    }
  } else if (!task.done() && try_drive({}) == Drive::taken) {
    sleep_for(std::min(seconds, kWhileDriven));
  }
  slept_on_.store(nullptr);
}

void Started::await_end(const Task& task, double seconds, bool watched) noexcept {
  const std::uint32_t armed = ended_.arm();
  if (!task.done() && !drive({}) && (!watched || watched_.load())) ended_.sleep(seconds, armed);
}

Started::Drive Started::try_drive(Lanes lanes) noexcept {
  if (idle()) return Drive::waits;
  bool moved = false;
  {
    const std::unique_lock lock(driving_, std::try_to_lock);
    if (!lock) return Drive::taken;
    moved_ = false;
    lanes_ = lanes;
    while (Task* const task = front()) {
      if (!lanes.has(task->lane_.load(std::memory_order_relaxed))) break;
      if (!running_) fiber_.begin(&Started::run_front, this);
      running_ = !fiber_.resume();
      if (running_) break;
      moved_ = true;
      end_front();
    }
    moved = moved_;
    if (moved) awaited_.store(running_ ? patience_.bell : nullptr);
  }
  if (!moved) return Drive::waits;
  if (Bell* const bell = slept_on_.load()) bell->wake();
  return Drive::moved;
}

}  // namespace stretto::node
