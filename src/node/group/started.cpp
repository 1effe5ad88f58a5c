#include "node/group/started.hpp"

#include <cstring>

#include "base/communication_cores.hpp"

namespace stretto::node {

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
  if (task->status_ != Status::ok) std::strncpy(task->text_.data(), message(), task->text_.size() - 1);
}

void Started::suspend(void* self, bool anew) noexcept {
  auto* const s = static_cast<Started*>(self);
  s->moved_ = s->moved_ || anew;
  s->fiber_.suspend();
}

void Started::end_front() noexcept {
  Task* task = nullptr;
  {
    const std::lock_guard lock(list_);
    task = first_;
    first_ = task->next_;
  }
  count_.fetch_sub(1, std::memory_order_release);
  task->done_.store(true, std::memory_order_release);  // it may be gone from here on
  ended_.ring();
}

// Another thread that drives tells when it ends a task. Else the peer's bell tells that the task may go on.
void Started::rest(const Task& task, double seconds) noexcept {
  Bell* bell = nullptr;
  if (const std::unique_lock lock(driving_, std::try_to_lock); lock) bell = patience_.bell;
  if (bell == nullptr || CommunicationCores::mine().on()) bell = &ended_;
  const std::uint32_t armed = bell->arm();
  if (!task.done() && !drive()) bell->sleep(seconds, armed);
}

bool Started::drive() noexcept {
  if (idle()) return false;
  const std::unique_lock lock(driving_, std::try_to_lock);
  if (!lock) return false;
  moved_ = false;
  while (front() != nullptr) {
    if (!running_) fiber_.begin(&Started::run_front, this);
    running_ = !fiber_.resume();
    if (running_) break;
    moved_ = true;
    end_front();
  }
  return moved_;
}

}  // namespace stretto::node
