// Snapshots in Redis: for several servers, each of which may continue any stream.
#ifndef RUNNEL_TOOLS_SERVER_STORE_REDIS_SNAPSHOT_STORE_H_
#define RUNNEL_TOOLS_SERVER_STORE_REDIS_SNAPSHOT_STORE_H_

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tools/server/store/outage_gate.h"
#include "tools/server/store/snapshot_store.h"

struct redisContext;
struct redisReply;

namespace runnel::server {

struct RedisAddress {
  std::string host = "localhost";
  int port = 6379;
  int database = 0;
  std::string password;  // empty: none
};

// `url`: redis://HOST[:PORT][/DATABASE]; an IPv6 address stands in brackets. Throws
// std::invalid_argument naming what is wrong.
RedisAddress ParseRedisAddress(const std::string& url);

// The key of a snapshot is "runnel:snapshot:<token>"; Redis expires it. Each call uses an idle
// connection or makes one, so threads do not wait for each other; the store keeps as many
// connections open as were in use at once. A call that finds its idle connection dead, for example
// after a restart of Redis, is repeated once on a new one. After Redis could not be reached or did
// not answer in time, calls fail at once for kPause; then one call tries again. The process must
// ignore SIGPIPE, as every tool does. Traffic is not encrypted: Redis belongs in the servers' own
// network.
class RedisSnapshotStore : public SnapshotStore {
 public:
  // The limit for one connect and for one command.
  static constexpr std::chrono::milliseconds kTimeout{2000};
  static constexpr std::chrono::milliseconds kPause{1000};

  RedisSnapshotStore(const RedisAddress& address, std::chrono::seconds time_to_live,
                     std::chrono::milliseconds timeout = kTimeout,
                     std::chrono::milliseconds pause = kPause);
  ~RedisSnapshotStore() override;

  using SnapshotStore::Put;
  void Put(const std::string& token, const std::string& snapshot,
           const SnapshotOrigin& origin) override;
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

  // Sends the words of one command and returns the reply, which is not an error reply.
  Reply Command(const std::vector<std::string>& words);
  // The same without asking gate_.
  Reply Try(const std::vector<std::string>& words);
  // The same on one connection. Null when the connection is dead.
  Reply Send(redisContext* connection, const std::vector<std::string>& words) const;
  Connection Connect() const;
  Connection TakeIdle();
  void DropIdle();
  [[noreturn]] void Fail(const std::string& reason) const;
  // Throws Unreachable: Redis cannot be reached or does not answer.
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

#endif  // RUNNEL_TOOLS_SERVER_STORE_REDIS_SNAPSHOT_STORE_H_
