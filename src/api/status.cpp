#include "base/status.hpp"
#include "base/interrupt.hpp"
#include "base/waiting.hpp"

#include "call/enums.hpp"
#include "stretto/stretto.h"

using namespace stretto;

extern "C" {

const char* stretto_message(void) { return message(); }

const char* stretto_status_name(stretto_status status) {
  return int(status) >= STRETTO_OK && int(status) <= STRETTO_INTERNAL ? name(static_cast<Status>(int(status)))
                                                                      : "unknown";
}

const char* stretto_payload_name(stretto_payload payload) {
  return call::is_payload(payload) ? call::payload_name(payload) : nullptr;
}

stretto_status stretto_interrupt_by(stretto_interrupt interrupted, void* context) {
  stretto::interrupt_by({interrupted, context});
  return STRETTO_OK;
}

stretto_status stretto_wait_in_background(int background) {
  stretto::wait_in_background(background != 0);
  return STRETTO_OK;
}

const char* stretto_version(void) { return STRETTO_VERSION; }
}
