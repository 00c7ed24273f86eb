#include "tools/server/store/redis_snapshot_store.h"

#include <hiredis/hiredis.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "tools/server/store/snapshot_token.h"

namespace runnel::server {
namespace {

constexpr char kScheme[] = "redis://";
constexpr char kKeyPrefix[] = "runnel:snapshot:";
constexpr char kOutOfMemory[] = "OOM ";  // the beginning of an error
constexpr int kMaxPort = 65535;
constexpr int kMaxDatabase = 1 << 20;

// Redis cannot be reached, unlike an error that Redis replies.
class Unreachable : public SnapshotStoreError {
 public:
  using SnapshotStoreError::SnapshotStoreError;
};

// Whether the connection failed because a socket's timeout was over.
bool IsTimeout(const redisContext& connection) {
  return connection.err == REDIS_ERR_IO &&
         std::strcmp(connection.errstr, std::strerror(EAGAIN)) == 0;
}

[[noreturn]] void FailToParse(const std::string& url, const std::string& expected) {
  throw std::invalid_argument("the snapshot store is '" + url + "', expected " + expected);
}

// Decimal digits only.
int ParseNumber(const std::string& text, int min, int max, const std::string& url,
                const std::string& name) {
  constexpr size_t kMaxDigits = 7;
  const bool is_number = !text.empty() && text.size() <= kMaxDigits &&
                         text.find_first_not_of("0123456789") == std::string::npos;
  const int value = is_number ? std::stoi(text) : -1;
  if (value < min || value > max) {
    FailToParse(url, name + " from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return value;
}

timeval ToTimeval(std::chrono::milliseconds duration) {
  return {static_cast<time_t>(duration.count() / 1000),
          static_cast<suseconds_t>(duration.count() % 1000 * 1000)};
}

}  // namespace

RedisAddress ParseRedisAddress(const std::string& url) {
  if (url.rfind(kScheme, 0) != 0) FailToParse(url, "a folder or redis://HOST[:PORT][/DATABASE]");
  if (url.find('@') != std::string::npos) {
    throw std::invalid_argument(
        "the snapshot store's address contains an '@': expected the password in the environment "
        "variable RUNNEL_REDIS_PASSWORD, where other users do not see it");
  }
  RedisAddress address;
  std::string rest = url.substr(std::strlen(kScheme));
  if (const size_t slash = rest.find('/'); slash != std::string::npos) {
    const std::string database = rest.substr(slash + 1);
    if (!database.empty()) {
      address.database = ParseNumber(database, 0, kMaxDatabase, url, "a database");
    }
    rest.erase(slash);
  }
  const size_t bracket = rest.rfind(']');
  if (const size_t colon = rest.rfind(':');
      colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
    address.port = ParseNumber(rest.substr(colon + 1), 1, kMaxPort, url, "a port");
    rest.erase(colon);
  }
  if (rest.size() > 2 && rest.front() == '[' && rest.back() == ']') {
    rest = rest.substr(1, rest.size() - 2);
  }
  if (rest.empty() || rest.find_first_of("[]?#\n") != std::string::npos) {
    FailToParse(url, "redis://HOST[:PORT][/DATABASE]");
  }
  address.host = rest;
  return address;
}

void RedisSnapshotStore::Deleter::operator()(redisContext* context) const { redisFree(context); }
void RedisSnapshotStore::Deleter::operator()(redisReply* reply) const { freeReplyObject(reply); }

RedisSnapshotStore::RedisSnapshotStore(const RedisAddress& address,
                                       std::chrono::seconds time_to_live,
                                       std::chrono::milliseconds timeout,
                                       std::chrono::milliseconds pause)
    : address_(address), time_to_live_(time_to_live), timeout_(timeout), gate_(pause) {}

RedisSnapshotStore::~RedisSnapshotStore() = default;

void RedisSnapshotStore::Put(const std::string& token, const std::string& snapshot,
                             const SnapshotOrigin& /*origin*/) {
  if (!IsSnapshotToken(token)) throw std::invalid_argument("not a snapshot token");
  Command({"SETEX", kKeyPrefix + token, std::to_string(time_to_live_.count()), snapshot});
}

std::optional<std::string> RedisSnapshotStore::Get(const std::string& token) {
  if (!IsSnapshotToken(token)) return std::nullopt;
  const Reply reply = Command({"GET", kKeyPrefix + token});
  if (reply->type == REDIS_REPLY_NIL) return std::nullopt;
  if (reply->type != REDIS_REPLY_STRING) Fail("the reply to GET is not a string");
  return std::string(reply->str, reply->len);
}

void RedisSnapshotStore::Remove(const std::string& token) {
  if (IsSnapshotToken(token)) Command({"DEL", kKeyPrefix + token});
}

void RedisSnapshotStore::Check() { Command({"PING"}); }

std::string RedisSnapshotStore::Description() const {
  const bool is_ipv6 = address_.host.find(':') != std::string::npos;
  return std::string(kScheme) + (is_ipv6 ? "[" + address_.host + "]" : address_.host) + ":" +
         std::to_string(address_.port) + "/" + std::to_string(address_.database);
}

RedisSnapshotStore::Reply RedisSnapshotStore::Command(const std::vector<std::string>& words) {
  if (!gate_.Enter()) Fail("did not answer a moment ago and is not called again yet");
  try {
    Reply reply = Try(words);
    gate_.Leave(/*has_answered=*/true);
    return reply;
  } catch (const Unreachable&) {
    gate_.Leave(/*has_answered=*/false);
    throw;
  } catch (...) {
    gate_.Leave(/*has_answered=*/true);
    throw;
  }
}

RedisSnapshotStore::Reply RedisSnapshotStore::Try(const std::vector<std::string>& words) {
  Connection connection = TakeIdle();
  Reply reply = connection ? Send(connection.get(), words) : nullptr;
  if (!reply) {
    if (connection) {
      // A dead idle connection says nothing about Redis, but the other idle ones are likely dead.
      DropIdle();
      if (IsTimeout(*connection)) FailOnDead(connection.get());
    }
    connection = Connect();
    reply = Send(connection.get(), words);
    if (!reply) FailOnDead(connection.get());
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(connection));
  return reply;
}

RedisSnapshotStore::Reply RedisSnapshotStore::Send(redisContext* connection,
                                                   const std::vector<std::string>& words) const {
  std::vector<const char*> pointers;
  std::vector<size_t> sizes;
  for (const std::string& word : words) {
    pointers.push_back(word.data());
    sizes.push_back(word.size());
  }
  Reply reply(static_cast<redisReply*>(
      redisCommandArgv(connection, static_cast<int>(words.size()), pointers.data(), sizes.data())));
  if (reply && reply->type == REDIS_REPLY_ERROR) {
    const std::string error(reply->str, reply->len);
    // Beyond maxmemory, unless Redis may drop other keys.
    if (error.rfind(kOutOfMemory, 0) == 0) {
      throw SnapshotStoreFull(Description() + ": full, " + words.front() + ": " + error);
    }
    Fail(words.front() + ": " + error);
  }
  return reply;
}

RedisSnapshotStore::Connection RedisSnapshotStore::Connect() const {
  Connection connection(
      redisConnectWithTimeout(address_.host.c_str(), address_.port, ToTimeval(timeout_)));
  if (!connection) Fail("out of memory");
  if (connection->err != 0) FailToReach(std::string("cannot connect: ") + connection->errstr);
  if (redisSetTimeout(connection.get(), ToTimeval(timeout_)) != REDIS_OK ||
      redisEnableKeepAlive(connection.get()) != REDIS_OK) {
    FailOnDead(connection.get());
  }
  if (!address_.password.empty() && !Send(connection.get(), {"AUTH", address_.password})) {
    FailOnDead(connection.get());
  }
  if (address_.database != 0 &&
      !Send(connection.get(), {"SELECT", std::to_string(address_.database)})) {
    FailOnDead(connection.get());
  }
  return connection;
}

RedisSnapshotStore::Connection RedisSnapshotStore::TakeIdle() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.empty()) return nullptr;
  Connection connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

void RedisSnapshotStore::DropIdle() {
  std::vector<Connection> dropped;
  const std::lock_guard<std::mutex> lock(mutex_);
  dropped.swap(idle_);
}

void RedisSnapshotStore::Fail(const std::string& reason) const {
  throw SnapshotStoreError(Description() + ": " + reason);
}

void RedisSnapshotStore::FailToReach(const std::string& reason) const {
  throw Unreachable(Description() + ": " + reason);
}

void RedisSnapshotStore::FailOnDead(const redisContext* connection) const {
  FailToReach(IsTimeout(*connection)
                  ? "no answer within " + std::to_string(timeout_.count()) + " ms"
                  : std::string("connection lost: ") + connection->errstr);
}

}  // namespace runnel::server
