// Properties of RedisSnapshotStore only: a Redis that is gone, hangs, is full or needs a password.
#include "tools/server/store/redis_snapshot_store.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/error_message.h"
#include "tests/tools/server/store/redis_process.h"
#include "tools/server/store/make_snapshot_store.h"
#include "tools/server/store/outage_gate.h"
#include "tools/server/store/snapshot_token.h"

namespace runnel::server {
namespace {

using runnel::testing::Contains;
using runnel::testing::ErrorMessage;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Test;

class RedisSnapshotStoreTest : public Test {
 protected:
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }

  // The output of redis-cli for one command.
  static std::string Ask(const RedisProcess& redis, const std::string& command) {
    const std::string line = "redis-cli -p " + std::to_string(redis.port()) + " " + command;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(line.c_str(), "r"), ::pclose);
    std::string printed;
    char buffer[4096];
    while (const size_t count = std::fread(buffer, 1, sizeof(buffer), pipe.get())) {
      printed.append(buffer, count);
    }
    return printed;
  }
};

TEST_F(RedisSnapshotStoreTest, RedisForgetsByItself) {
  const RedisProcess redis;
  const auto store = MakeSnapshotStore(redis.url() + "/3", seconds(1000));
  const std::string token = NewSnapshotToken();
  store->Put(token, "x");
  const auto time_to_live = [&] {
    return std::stoi(Ask(redis, "-n 3 TTL runnel:snapshot:" + token));
  };
  EXPECT_LE(time_to_live(), 1000);
  EXPECT_GT(time_to_live(), 900);
  EXPECT_EQ(Ask(redis, "-n 3 EXPIRE runnel:snapshot:" + token + " 500"), "1\n");
  EXPECT_LE(time_to_live(), 500);
  store->Put(token, "y");  // lives from now on
  EXPECT_GT(time_to_live(), 900);
  EXPECT_EQ(Ask(redis, "-n 3 DBSIZE"), "1\n");
  EXPECT_EQ(Ask(redis, "DBSIZE"), "0\n");
  store->Remove(token);
  EXPECT_EQ(Ask(redis, "-n 3 DBSIZE"), "0\n");
}

TEST_F(RedisSnapshotStoreTest, GoesOnWhenRedisIsBack) {
  auto redis = std::make_unique<RedisProcess>();
  const int port = redis->port();
  const auto store = std::make_unique<RedisSnapshotStore>(
      ParseRedisAddress(redis->url()), seconds(100), RedisSnapshotStore::kTimeout, milliseconds(0));
  const std::string token = NewSnapshotToken();
  const std::string prefix = "redis://127.0.0.1:" + std::to_string(port) + "/0: ";
  store->Put(token, "x");
  redis.reset();
  for (const std::function<void()>& call : std::vector<std::function<void()>>{
           [&] { store->Put(token, "x"); }, [&] { store->Get(token); },
           [&] { store->Remove(token); }, [&] { store->Check(); }}) {
    EXPECT_EQ(ErrorMessage<SnapshotStoreError>(call),
              prefix + "cannot connect: Connection refused");
  }
  redis = std::make_unique<RedisProcess>(port);
  EXPECT_EQ(store->Get(token), std::nullopt);
  store->Put(token, "y");
  redis.reset();
  redis = std::make_unique<RedisProcess>(port);
  store->Put(token, "z");  // the dead idle connection causes no error
  EXPECT_EQ(store->Get(token), "z");
}

TEST_F(RedisSnapshotStoreTest, DoesNotWaitForever) {
  RedisProcess redis;
  const RedisAddress address = ParseRedisAddress(redis.url());
  RedisSnapshotStore patient(address, seconds(100));
  const std::string token = NewSnapshotToken();
  patient.Put(token, "x");
  redis.Freeze();  // its system still accepts connections
  RedisSnapshotStore impatient(address, seconds(100), std::chrono::milliseconds(50));
  EXPECT_TRUE(Contains(ErrorMessage<SnapshotStoreError>([&] { impatient.Get(token); }),
                       "no answer within 50 ms"));
  redis.Thaw();
  EXPECT_EQ(patient.Get(token), "x");
}

// Accepts connections and never replies, like a Redis that hangs.
class SilentServer {
 public:
  SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ::bind(socket_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(socket_, 100);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~SilentServer() { ::close(socket_); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

 private:
  const int socket_;
  int port_ = 0;
};

TEST_F(RedisSnapshotStoreTest, IsNotAskedAgainAtOnceWhenItHangs) {
  const SilentServer server;
  const RedisAddress address = ParseRedisAddress(server.url());
  const auto failure = [](RedisSnapshotStore* store) {
    return ErrorMessage<SnapshotStoreError>([&] { store->Get(NewSnapshotToken()); });
  };
  const std::string asked = server.url() + "/0: no answer within 50 ms";
  RedisSnapshotStore store(address, seconds(100), milliseconds(50), std::chrono::hours(1));
  EXPECT_EQ(failure(&store), asked);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(failure(&store),
              server.url() + "/0: did not answer a moment ago and is not called again yet");
  }
  RedisSnapshotStore tireless(address, seconds(100), milliseconds(50), milliseconds(0));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(failure(&tireless), asked);
}

TEST(OutageGateTest, LetsOneTryAtATime) {
  std::chrono::steady_clock::time_point now;
  OutageGate gate(milliseconds(1000), [&] { return now; });
  EXPECT_TRUE(gate.Enter());
  EXPECT_TRUE(gate.Enter()) << "before a failure, everybody may";
  gate.Leave(true);
  gate.Leave(false);
  EXPECT_FALSE(gate.Enter());
  now += milliseconds(1000);
  EXPECT_TRUE(gate.Enter());
  now += milliseconds(5000);
  EXPECT_FALSE(gate.Enter()) << "one is trying";
  gate.Leave(false);
  EXPECT_FALSE(gate.Enter());
  now += milliseconds(1000);
  EXPECT_TRUE(gate.Enter());
  gate.Leave(true);
  EXPECT_TRUE(gate.Enter());
  EXPECT_TRUE(gate.Enter());
}

TEST_F(RedisSnapshotStoreTest, TellsWhatRedisSays) {
  const RedisProcess small(0, {"--maxmemory", "1mb", "--maxmemory-policy", "noeviction"});
  const auto store = MakeSnapshotStore(small.url(), seconds(100));
  EXPECT_TRUE(Contains(ErrorMessage<SnapshotStoreError>([&] {
                         for (int i = 0; i < 3; ++i)
                           store->Put(NewSnapshotToken(), std::string(1 << 20, 'x'));
                       }),
                       "SETEX: OOM command not allowed"));
  EXPECT_TRUE(Contains(ErrorMessage<SnapshotStoreError>(
                           [&] { MakeSnapshotStore(small.url() + "/999", seconds(100))->Check(); }),
                       "SELECT: ERR DB index is out of range"));
}

TEST_F(RedisSnapshotStoreTest, PasswordFromTheEnvironment) {
  const RedisProcess redis(0, {"--requirepass", "secret word"});
  EXPECT_TRUE(Contains(ErrorMessage<SnapshotStoreError>(
                           [&] { MakeSnapshotStore(redis.url(), seconds(100))->Check(); }),
                       "NOAUTH"));
  ::setenv("RUNNEL_REDIS_PASSWORD", "wrong", 1);
  EXPECT_TRUE(Contains(ErrorMessage<SnapshotStoreError>(
                           [&] { MakeSnapshotStore(redis.url(), seconds(100))->Check(); }),
                       "AUTH: WRONGPASS"));
  ::setenv("RUNNEL_REDIS_PASSWORD", "secret word", 1);
  const auto store = MakeSnapshotStore(redis.url(), seconds(100));
  ::unsetenv("RUNNEL_REDIS_PASSWORD");
  EXPECT_NO_THROW(store->Check());
  EXPECT_EQ(store->Description().find("secret"), std::string::npos);
}

TEST(RedisAddressTest, Parses) {
  const RedisAddress plain = ParseRedisAddress("redis://cache.example");
  EXPECT_EQ(plain.host, "cache.example");
  EXPECT_EQ(plain.port, 6379);
  EXPECT_EQ(plain.database, 0);
  const RedisAddress full = ParseRedisAddress("redis://127.0.0.1:7000/12");
  EXPECT_EQ(full.host, "127.0.0.1");
  EXPECT_EQ(full.port, 7000);
  EXPECT_EQ(full.database, 12);
  const RedisAddress ipv6 = ParseRedisAddress("redis://[::1]:7000/");
  EXPECT_EQ(ipv6.host, "::1");
  EXPECT_EQ(ipv6.port, 7000);
  EXPECT_EQ(RedisSnapshotStore(ipv6, seconds(1)).Description(), "redis://[::1]:7000/0");
  EXPECT_EQ(ParseRedisAddress("redis://[::1]").host, "::1");
}

TEST(RedisAddressTest, RefusesInOneLine) {
  for (const char* url :
       {"redis://", "redis://:6379", "redis:///0", "redis://host:", "redis://host:0",
        "redis://host:65536", "redis://host:12x", "redis://host:-1", "redis://host/x",
        "redis://host/-1", "redis://host/0/1", "redis://host?db=1", "redis://[::1",
        "redis://host:99999999999999", "rediss://host", "http://host", "redis://a\nb"}) {
    EXPECT_THROW(ParseRedisAddress(url), std::invalid_argument) << url;
  }
  const std::string message = ErrorMessage<std::invalid_argument>(
      [] { MakeSnapshotStore("redis://:secret@host", seconds(10)); });
  EXPECT_TRUE(Contains(message, "RUNNEL_REDIS_PASSWORD"));
  EXPECT_EQ(message.find("secret"), std::string::npos) << "what is printed is read by others";
}

}  // namespace
}  // namespace runnel::server
