// The values that ranks which meet leave in a store (rendezvous.hpp): texts one after the other, each behind its length,
// as in 5:hello,. Anybody who can write to the store may have written them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "carrier/rendezvous.hpp"

namespace stretto::carrier {

inline constexpr std::size_t secret_digits = 2 * sizeof(Session::secret);

// Throw std::bad_alloc.
void put(std::string* to, std::string_view text);
void put(std::string* to, long number);

// Takes a text, or a number, off the front. False: there is none.
bool take(std::string_view* from, std::string* text);
bool take(std::string_view* from, long* number);

// A rank's description of itself.
struct Hello {
  std::string version, nonce;
  std::string failure;  // why this rank cannot take part; empty: it can
  long rank = 0, size = 0;
  Member member;

  std::string text() const;
  // False: that is none, or of a stretto that says it otherwise. Then *hello is unspecified.
  static bool read(std::string_view from, Hello* hello);
  std::string who() const { return fmt::format("process {} on {}", member.pid, member.host); }
};

// Rank 0's answer to the hellos: a session, or a refusal.
struct Verdict {
  std::string id;      // random, and part of keys' names
  std::string secret;  // random, secret_digits hexadecimal ones; in values alone
  Status status = Status::ok;
  std::string why;            // where it is not ok
  std::vector<Hello> hellos;  // of ranks that did not come: empty

  std::string text() const;
  // As Hello::read.
  static bool read(std::string_view from, Verdict* verdict);
};

}  // namespace stretto::carrier
