#include "modules/ucx/device_messages.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "base/guarded.hpp"

namespace stretto::modules {

using namespace carrier;

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLongestEnd = std::chrono::milliseconds(200);

struct PostedTransfer {
  std::uint64_t id;
  int peer;
  bool sends;
  std::size_t bytes;
  void* request = nullptr;
  ucs_status_t status = UCS_OK;  // once there is no request
  std::size_t came = 0;
};

class UcxDeviceMessages final : public DeviceMessages {
 public:
  explicit UcxDeviceMessages(UcxWorker& worker) noexcept : worker_(worker) {}

  // Abandoned transfers may still use memory: receives are cancelled, and sends end with their endpoints.
  ~UcxDeviceMessages() override {
    abort();
    const auto end = Clock::now() + kLongestEnd;
    Waiting waiting(true);
    const auto moves = [this](PostedTransfer& t) { return !has_ended(t); };
    while (std::any_of(transfers_.begin(), transfers_.end(), moves) && Clock::now() < end)
      if (worker_.progress() == 0) waiting.rest();
    for (PostedTransfer& t : transfers_)
      if (t.request) worker_.ucp().request_free(t.request);
  }
  UcxDeviceMessages(const UcxDeviceMessages&) = delete;
  UcxDeviceMessages& operator=(const UcxDeviceMessages&) = delete;

  const char* name() const noexcept override { return "UCX with device memory"; }
  bool one_by_one() const noexcept override { return false; }

  Status start(std::span<const DeviceTransfer> group) noexcept override {
    if (aborted_) return fail(Status::internal, "messages between devices over UCX have been ended");
    const Status listed = guarded({"to list {} messages between devices", group.size()},
                                  [&] { transfers_.reserve(transfers_.size() + group.size()); });
    if (listed != Status::ok) return listed;
    for (const DeviceTransfer& t : group) begin(t);
    return Status::ok;
  }

  // Progress may end after the last report, so sent bytes must have left.
  Status poll(std::span<Completion> done, std::size_t* n) noexcept override {
    *n = 0;
    if (aborted_ || transfers_.empty()) return Status::ok;
    worker_.progress();
    if (worker_.losses() != losses_) withdraw_from_lost();
    for (std::size_t i = 0; i < transfers_.size() && *n < done.size();) {
      if (!has_ended(transfers_[i])) {
        ++i;
        continue;
      }
      if (transfers_.size() == 1 && !worker_.has_left()) break;
      done[(*n)++] = completion(transfers_[i]);
      transfers_.erase(transfers_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return Status::ok;
  }

  void abort() noexcept override {
    aborted_ = true;
    for (const PostedTransfer& t : transfers_)
      if (!t.sends && t.request) worker_.ucp().request_cancel(worker_.handle(), t.request);
  }

 private:
  // Ends with its peer's status if it cannot begin.
  void begin(const DeviceTransfer& given) noexcept {
    PostedTransfer t{given.id, given.peer, given.sends, given.bytes};
    ucp_ep_h endpoint = nullptr;
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    how.memory_type = UCS_MEMORY_TYPE_CUDA;
    ucs_status_ptr_t answer = nullptr;
    if (worker_.reach(t.peer, &endpoint) != Status::ok) {
      t.status = worker_.lost(t.peer);
    } else if (t.sends) {
      worker_.mark_sent(t.peer, 0);
      const std::uint64_t tag = worker_.tag_between_devices(worker_.rank(), given.tag);
      answer = worker_.ucp().tag_send_nbx(endpoint, given.data, t.bytes, tag, &how);
    } else {
      how.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;  // UCX 1.13 gives lengths only to requests
      answer = worker_.ucp().tag_recv_nbx(worker_.handle(), given.data, t.bytes,
                                          worker_.tag_between_devices(t.peer, given.tag), ~std::uint64_t{0}, &how);
    }
    if (UCS_PTR_IS_PTR(answer))
      t.request = answer;
    else if (answer)
      t.status = UCS_PTR_STATUS(answer);
    transfers_.push_back(t);
  }

  bool has_ended(PostedTransfer& t) noexcept {
    if (!t.request) return true;
    ucp_tag_recv_info_t info{};
    const ucs_status_t s =
        t.sends ? worker_.ucp().request_check_status(t.request) : worker_.ucp().tag_recv_request_test(t.request, &info);
    if (s == UCS_INPROGRESS) return false;
    worker_.ucp().request_free(std::exchange(t.request, nullptr));
    t.status = s;
    t.came = info.length;
    if (!t.sends) worker_.mark_received(t.peer, t.came);
    return true;
  }

  Completion completion(const PostedTransfer& t) const noexcept {
    const ucs_status_t lost = worker_.lost(t.peer);
    if (t.status == UCS_ERR_MESSAGE_TRUNCATED || (t.status == UCS_OK && !t.sends && t.came != t.bytes))
      return {t.id, t.came,
              fail(Status::incompatible, "a message of rank {}'s device is not of the {} bytes announced", t.peer,
                   t.bytes)};
    if (t.status == UCS_OK) return {t.id, t.bytes, Status::ok};
    return {t.id, 0, worker_.failed(t.peer, lost != UCS_OK ? lost : t.status)};
  }

  void withdraw_from_lost() noexcept {
    losses_ = worker_.losses();
    for (const PostedTransfer& t : transfers_)
      if (!t.sends && t.request && worker_.lost(t.peer) != UCS_OK)
        worker_.ucp().request_cancel(worker_.handle(), t.request);
  }

  UcxWorker& worker_;
  unsigned losses_ = 0;
  bool aborted_ = false;
  std::vector<PostedTransfer> transfers_;
};

}  // namespace

Status make_ucx_device_messages(UcxWorker& worker, std::unique_ptr<DeviceMessages>* made) noexcept {
  made->reset(new (std::nothrow) UcxDeviceMessages(worker));
  return *made ? Status::ok : fail(Status::out_of_memory, "no memory for messages between devices");
}

}  // namespace stretto::modules
