"""STRETTO_GLIBC: a program and a library linked against the stubs ask for no newer version than the older libraries have, and run here.

older_glibc_test.py CC CXX
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

GLIBC = pathlib.Path(__file__).resolve().parents[2] / "cmake/glibc"
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}

# Each line needs what the older libraries lack, or start-up code that they do not run.
PROGRAM = r"""
#include <charconv>
#include <condition_variable>
#include <cstdio>
#include <dlfcn.h>
#include <exception>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <sys/stat.h>
#include <thread>

// Names that headers of glibc 2.38 put in the place of strtol and others: they are of archives compiled with these.
extern "C" {
long __isoc23_strtol(const char*, char**, int);
long long __isoc23_strtoll(const char*, char**, int);
unsigned long __isoc23_strtoul(const char*, char**, int);
unsigned long long __isoc23_strtoull(const char*, char**, int);
int __isoc23_sscanf(const char*, const char*, ...);
int __isoc23_fscanf(FILE*, const char*, ...);
}

int constructed = 0;
struct Early {
  Early() { ++constructed; }
  ~Early() { std::cout << "destroyed\n" << std::flush; }
} early;

int failed(const char* what) {
  std::cerr << what << "\n";
  return 1;
}

int main(int, char** names) {
  if (constructed != 1) return failed("constructors");
  struct stat status;
  if (stat(names[0], &status) != 0 || status.st_size == 0 || stat("/nonexistent/file", &status) != -1 || errno != ENOENT) return failed("stat");
  std::error_code error;
  if (!std::filesystem::exists(names[0]) || std::filesystem::exists("/nonexistent/file")) return failed("exists");
  std::filesystem::create_directory("/nonexistent/a", error);
  if (error != std::errc::no_such_file_or_directory || error.category() != std::generic_category() && error.category() != std::system_category()) return failed("error_code");
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  if (condition.wait_until(lock, std::chrono::steady_clock::now()) != std::cv_status::timeout) return failed("wait_until");
  bool done = false;
  std::thread thread([&] { std::lock_guard guard(mutex); done = true; condition.notify_one(); });
  if (!condition.wait_for(lock, std::chrono::hours(1), [&] { return done; })) return failed("wait_for");
  lock.unlock();
  thread.join();
  std::exception_ptr thrown;
  try { throw std::runtime_error("thrown"); } catch (...) { thrown = std::current_exception(); }
  auto copy = thrown;
  thrown = nullptr;
  try { std::rethrow_exception(copy); } catch (const std::exception& e) { if (std::string(e.what()) != "thrown") return failed("rethrow"); }
  try { volatile long count = -1; delete[] new long[count]; } catch (const std::bad_array_new_length&) { done = false; }
  if (done) return failed("bad_array_new_length");
  double value = 0;
  std::from_chars(names[1], names[1] + std::string(names[1]).size(), value);
  std::ostringstream text;
  text << value;
  if (std::string(std::move(text).str()) != "1500") return failed("from_chars");
  char* end;
  int first = 0, second = 0;
  if (__isoc23_strtol("-0x1fz", &end, 0) != -31 || *end != 'z' || __isoc23_strtoll("-9", &end, 10) != -9) return failed("strtol");
  if (__isoc23_strtoul("17", &end, 8) != 15 || __isoc23_strtoull("18446744073709551615", &end, 10) != ~0ull || *end) return failed("strtoul");
  if (__isoc23_sscanf("3-7,", "%d-%x", &first, &second) != 2 || first != 3 || second != 7) return failed("sscanf");
  FILE* file = std::tmpfile();
  if (!file || std::fputs("12 b", file) < 0 || (std::rewind(file), __isoc23_fscanf(file, "%d %d", &first, &second)) != 1 || first != 12) return failed("fscanf");
  if (!dlsym(dlopen(nullptr, RTLD_NOW), "malloc")) return failed("dlsym");
  return 0;
}
"""

# The wait of a glibc that has none by another clock than the condition's.
WAIT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#define dlsym(handle, name) NULL
#define pthread_cond_clockwait waits
#include "glibc.c"
#include <assert.h>

int main(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  for (long i = 0; i < 10; ++i) {
    struct timespec until, now;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec = i * 111111111;
    int status = 0;
    while (status == 0) status = waits(&condition, &mutex, CLOCK_MONOTONIC, &until);
    assert(status == ETIMEDOUT);
    clock_gettime(CLOCK_MONOTONIC, &now);
    assert(now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
  }
}
"""


class OlderGlibc(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="older glibc "))
        self.addCleanup(shutil.rmtree, self.directory)

    def run_command(self, *command):
        ran = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120)
        self.assertEqual(ran.returncode, 0, f"{command}: {ran.stdout}{ran.stderr}")
        return ran.stdout

    def assert_old(self, file):
        said = self.run_command("readelf", "-W", "-V", file)
        found = re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI)_([0-9.]+)", said)
        self.assertTrue(found, said)
        for kind, version in found:
            self.assertLessEqual(tuple(map(int, version.split("."))), NEWEST[kind], f"{file} needs {kind}_{version}")

    def test_program_and_library_need_nothing_newer_and_run(self):
        stubs = self.directory / "stubs"
        self.run_command(sys.executable, GLIBC / "stubs.py", stubs, CC, CXX)
        source = self.directory / "program.cpp"
        source.write_text(PROGRAM)
        flags = ["-std=c++20", "-O2", "-w", "-fPIC", "-pthread", f"-L{stubs}", "-Wl,--wrap=__libc_start_main", "-Wl,--exclude-libs,libstdc++.a:libstretto_glibc.a",
                 "-Wl,--as-needed", "-Wl,--allow-shlib-undefined"]
        for name, more in (("program", []), ("library.so", ["-shared", "-Wl,--no-undefined"])):
            self.run_command(CXX, source, "-o", self.directory / name, *flags, *more)
            self.assert_old(self.directory / name)
        self.assertEqual(self.run_command(self.directory / "program", "1.5e3"), "destroyed\n")

    def test_wait_by_another_clock_does_not_end_early(self):
        source = self.directory / "wait.c"
        source.write_text(WAIT)
        self.run_command(CC, "-O1", "-w", "-pthread", f"-I{GLIBC}", source, "-o", self.directory / "wait")
        self.run_command(self.directory / "wait")


if __name__ == "__main__":
    CC, CXX = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
