// If a completion call over several requests fails, MPICH invokes the error handler of MPI_COMM_SELF, which by default
// aborts. While a QuietErrors lives, that handler returns; other threads notice only by an error. The last one restores
// the handler. No effect with other MPIs.
#pragma once

#include <mpi.h>

#include <mutex>
#include <string_view>

namespace stretto::modules {

class QuietErrors {
 public:
  QuietErrors() noexcept {
    if (!needed()) return;
    std::lock_guard lock(state().mutex);
    if (state().depth++ > 0) return;
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &state().before);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  }
  ~QuietErrors() {
    if (!needed()) return;
    std::lock_guard lock(state().mutex);
    if (--state().depth > 0) return;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, state().before);
    MPI_Errhandler_free(&state().before);
  }
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  struct State {
    std::mutex mutex;
    int depth = 0;
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  };
  static State& state() noexcept {
    static State s;
    return s;
  }
  static bool needed() noexcept {
    static const bool yes = [] {
      char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
      int length = 0;
      MPI_Get_library_version(text, &length);
      const std::string_view version(text, static_cast<std::size_t>(length));
      return version.find("Open MPI") == std::string_view::npos;
    }();
    return yes;
  }
};

}  // namespace stretto::modules
