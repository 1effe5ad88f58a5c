#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "engine/engine.hpp"
#include "schedule/schedule.hpp"

namespace stretto::backend {

// `engine` and `groups` are borrowed.
std::unique_ptr<Backend> make_schedules_backend(engine::Engine& engine, const schedule::Groups& groups);

}  // namespace stretto::backend
