// Bounds the calls that gRPC holds at once, admitted or not.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_CALL_PLACES_H_
#define RUNNEL_TOOLS_SERVER_GRPC_CALL_PLACES_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace runnel::server {

// gRPC allocates some ten kilobytes for a call before the server is asked whether it admits it, and
// frees them some time after the call has ended: a client that opens and resets calls faster than
// gRPC frees them would take all memory. Each call therefore needs a place before gRPC learns of
// it.
//
// Thread-safe. Reads no clock: the caller passes the time.
class CallPlaces {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `most`: places in all; `most_of_account`: of one account.
  CallPlaces(int64_t most, int64_t most_of_account);

  // False when all places, or those of the account, are taken. The account "" is that of a proxy,
  // which has as many as there are.
  bool Take(const std::string& account, Time now);

  // gRPC has ended the call.
  void Free(const std::string& account);
  // The client has ended the call at `now`. gRPC gets a second to free its memory.
  void FreeLater(const std::string& account, Time now);

  int64_t most_of_account() const { return most_of_account_; }

 private:
  void Remove(const std::string& account);

  const int64_t most_;
  const int64_t most_of_account_;
  std::mutex mutex_;
  int64_t num_taken_ = 0;
  std::unordered_map<std::string, int64_t> taken_by_;     // without accounts that have none
  std::deque<std::pair<Time, std::string>> become_free_;  // the earliest first
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_GRPC_CALL_PLACES_H_
