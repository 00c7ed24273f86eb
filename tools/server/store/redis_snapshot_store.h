// Snapshots in Redis: for several servers, of which any may continue any stream.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_REDIS_SNAPSHOT_STORE_H_
#define RUNNEL_TOOLS_SERVER_REDIS_SNAPSHOT_STORE_H_

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tools/server/outage_gate.h"
#include "tools/server/snapshot_store.h"

struct redisContext;
struct redisReply;

namespace runnel::server {

struct RedisAddress {
  std::string host = "localhost";
  int port = 6379;
  int database = 0;
  std::string password;  // empty: none
};

// redis://HOST[:PORT][/DATABASE]; an IPv6 address stands in brackets. Throws std::invalid_argument
// naming what is wrong.
RedisAddress ParseRedisAddress(const std::string& url);

// Each call takes a connection that is idle or makes one, so threads do not wait for each other; as
// many stay open as were in use at once. When a connection turns out to be dead, because Redis was
// restarted or moved, the call is repeated once on a new one. After Redis could not be reached, or
// did not answer in time, calls fail at once for kPause, and then one of them tries. The keys are
// "runnel:snapshot:<token>". The process must ignore SIGPIPE, as every tool does. Traffic is not
// encrypted: Redis belongs on the servers' own network.
class RedisSnapshotStore : public SnapshotStore {
 public:
  // How long one connect, and one command, may take.
  static constexpr std::chrono::milliseconds kTimeout{2000};
  static constexpr std::chrono::milliseconds kPause{1000};

  RedisSnapshotStore(const RedisAddress& address, std::chrono::seconds time_to_live,
                     std::chrono::milliseconds timeout = kTimeout,
                     std::chrono::milliseconds pause = kPause);
  ~RedisSnapshotStore() override;

  using SnapshotStore::Put;
  void Put(const std::string& token, const std::string& snapshot,
           const std::string& predecessor) override;
  std::optional<std::string> Get(const std::string& token) override;
  void Remove(const std::string& token) override;
  void Check() override;
  std::string Description() const override;

 private:
  struct Deleter {
    void operator()(redisContext* context) const;
    void operator()(redisReply* reply) const;
  };
  using Connection = std::unique_ptr<redisContext, Deleter>;
  using Reply = std::unique_ptr<redisReply, Deleter>;

  // Sends the words of one command and returns the answer, which is no error.
  Reply Command(const std::vector<std::string>& words);
  // The same, whatever the gate says.
  Reply Try(const std::vector<std::string>& words);
  // The same on one connection, with null when it is dead.
  Reply Ask(redisContext* connection, const std::vector<std::string>& words) const;
  Connection Connect() const;
  Connection TakeIdle();
  void DropIdle();
  [[noreturn]] void Fail(const std::string& reason) const;
  // Throws Unreachable: Redis is not there, or hangs.
  [[noreturn]] void FailToReach(const std::string& reason) const;
  [[noreturn]] void FailOnDead(const redisContext* connection) const;

  const RedisAddress address_;
  const std::chrono::seconds time_to_live_;
  const std::chrono::milliseconds timeout_;
  OutageGate gate_;
  std::mutex mutex_;
  std::vector<Connection> idle_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_REDIS_SNAPSHOT_STORE_H_
