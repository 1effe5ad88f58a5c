#include "base/text/file.hpp"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace stretto {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_); }
  std::string path(const char* name) const { return directory_ / name; }
  std::string write(const char* name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  fs::path directory_ = fs::path(testing::TempDir()) / ("stretto_file_test_" + std::to_string(getpid()));
};

void expect_refused(const std::string& path, const std::string& what) {
  std::string content = "as before";
  EXPECT_EQ(read_file(path, &content), Status::invalid_argument) << path;
  EXPECT_EQ(message(), "'" + path + "' " + what);
  EXPECT_EQ(content, "as before");
}

TEST_F(File, IsReadWhole) {
  std::string content;
  for (const std::string& wanted : {std::string(), std::string("a\0b\n", 4), std::string(100'000, 'x')}) {
    ASSERT_EQ(read_file(write("file", wanted), &content), Status::ok) << message();
    EXPECT_EQ(content, wanted);
  }
  fs::create_symlink("file", path("link"));
  EXPECT_EQ(read_file(path("link"), &content), Status::ok) << message();
  EXPECT_EQ(read_file("/proc/self/status", &content), Status::ok) << message();  // has no length until it is read
  EXPECT_NE(content.find("Pid:"), std::string::npos);
}

TEST_F(File, ThatIsNoneIsNamedWithTheReason) {
  expect_refused(path("none"), "cannot be read: No such file or directory");
  expect_refused("", "cannot be read: No such file or directory");
}

TEST_F(File, WhatIsNoRegularFileIsRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  expect_refused(path("fifo"), "is a FIFO, no regular file");
  expect_refused(directory_, "is a directory, no regular file");
  expect_refused("/dev/zero", "is a device, no regular file");
  expect_refused("/dev/null", "is a device, no regular file");
}

TEST_F(File, ASocketIsRefused) {
  fs::current_path(directory_);  // its name must be short
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "socket");
  ASSERT_EQ(bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  expect_refused("socket", "is a socket or a device, no regular file");
  close(socket);
  fs::current_path("/");
}

TEST_F(File, OfMoreThanTheMostBytesIsRefused) {
  const std::string file = write("long", "");
  std::string content;
  fs::resize_file(file, kLongestFile);
  EXPECT_EQ(read_file(file, &content), Status::ok) << message();
  EXPECT_EQ(content.size(), kLongestFile);
  content = "as before";
  fs::resize_file(file, kLongestFile + 1);
  expect_refused(file, "has more than the 4194304 bytes that are read");
}

TEST_F(File, ReplacementThatFailsLeavesFormerContent) {
  const std::string file = write("report", "the former report"), other = path("other");
  struct rlimit former {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &former), 0);
  const struct rlimit small { 64, former.rlim_max };
  const auto action = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);  // as a full disk
  const Status replaced = replace_file(file, std::string(100000, 'x'));
  const std::string said = message();
  const Status made = replace_file(other, std::string(100000, 'x'));
  setrlimit(RLIMIT_FSIZE, &former);
  std::signal(SIGXFSZ, action);
  EXPECT_EQ(replaced, Status::invalid_argument);
  EXPECT_EQ(made, Status::invalid_argument);
  EXPECT_EQ(said, "'" + file + "' cannot be written: File too large");
  std::string content;
  EXPECT_EQ(read_file(file, &content), Status::ok);
  EXPECT_EQ(content, "the former report");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()), 1);
}

TEST_F(File, ReplacementKeepsLinksAndModes) {
  const std::string file = write("report", "former"), link = path("link");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(file, link);
  std::string content;
  EXPECT_EQ(replace_file(link, "new"), Status::ok);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_file(file, &content), Status::ok);
  EXPECT_EQ(content, "new");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(replace_file(path("made"), "new"), Status::ok);
  EXPECT_EQ(replace_file("/dev/null", "new"), Status::ok);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(replace_file("/dev/full", "new"), Status::invalid_argument);
  EXPECT_EQ(replace_file(path("no/such"), "new"), Status::invalid_argument);
}

}  // namespace
}  // namespace stretto
