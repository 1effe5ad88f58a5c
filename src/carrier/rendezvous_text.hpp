// Values in a store: texts behind their lengths, as in 5:hello,. Untrusted: others may have written them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "carrier/rendezvous.hpp"

namespace stretto::carrier {

inline constexpr std::size_t kSecretDigits = 2 * sizeof(Session::secret);

void put(std::string* to, std::string_view text);
void put(std::string* to, long number);

// False: no leading text or number.
bool take(std::string_view* from, std::string* text);
bool take(std::string_view* from, long* number);

struct Hello {
  std::string version, nonce;
  std::string failure;
  long rank = 0, size = 0;
  Member member;

  std::string text() const;
  // False: invalid, or of another version; *hello is unspecified.
  static bool read(std::string_view from, Hello* hello);
  std::string who() const { return fmt::format("process {} on {}", member.pid, member.host); }
};

struct SessionReply {
  std::string id;
  std::string secret;
  Status status = Status::ok;
  std::string why;
  std::vector<Hello> hellos;

  std::string text() const;
  static bool read(std::string_view from, SessionReply* reply);
};

}  // namespace stretto::carrier
