// The stores of snapshots: what both promise, then what is particular to a folder and to Redis.
#include "tools/server/snapshot_store.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"
#include "tests/tools/server/redis_process.h"
#include "tools/server/directory_snapshot_store.h"
#include "tools/server/outage_gate.h"
#include "tools/server/redis_snapshot_store.h"

namespace runnel::server {
namespace {

namespace fs = std::filesystem;
using runnel::testing::Contains;
using runnel::testing::ErrorMessage;
using runnel::testing::TemporaryFolder;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Test;

size_t NumFiles(const std::string& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

const std::vector<std::string>& NoTokens() {
  static const std::vector<std::string> texts = {
      "",
      ".",
      "..",
      "/etc/passwd",
      "../../../../../../etc/hostname",
      "0123456789abcdef0123456789abcde",    // too short
      "0123456789abcdef0123456789abcdef0",  // too long
      "0123456789ABCDEF0123456789ABCDEF",
      "../456789abcdef0123456789abcdef0",
      std::string("0123456789abcdef\0123456789abcde", 32),
      std::string(32, '\0'),
      std::string(1 << 20, 'a'),
      "0123456789abcdef 123456789abcdef",
      "0123456789abcdef\r\nFLUSHALL\r\n...."};
  return texts;
}

TEST(SnapshotTokenTest, HasItsFormAndIsNeverTheSame) {
  std::set<std::string> tokens;
  for (int i = 0; i < 1000; ++i) {
    const std::string token = NewSnapshotToken();
    EXPECT_TRUE(IsSnapshotToken(token)) << token;
    EXPECT_TRUE(tokens.insert(token).second);
  }
  for (const std::string& text : NoTokens()) EXPECT_FALSE(IsSnapshotToken(text));
}

TEST(SnapshotTokenTest, EveryBitIsRandom) {
  std::vector<int> ones(128, 0);
  constexpr int kTokens = 400;
  for (int i = 0; i < kTokens; ++i) {
    const std::string token = NewSnapshotToken();
    for (size_t digit = 0; digit < token.size(); ++digit) {
      const int value = std::stoi(token.substr(digit, 1), nullptr, 16);
      for (int bit = 0; bit < 4; ++bit) ones[4 * digit + bit] += value >> bit & 1;
    }
  }
  // Eight standard deviations on either side.
  for (const int count : ones) EXPECT_NEAR(count, kTokens / 2, 80);
}

// What every store promises. `parameter`: "folder" or "redis".
class SnapshotStoreTest : public ::testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    std::signal(SIGPIPE, SIG_IGN);  // as ToolMain does
    redis_ = new RedisProcess();
  }
  static void TearDownTestSuite() { delete redis_; }

  void SetUp() override { store_ = MakeSnapshotStore(Place(), seconds(3600)); }
  std::string Place() const { return GetParam() == std::string("redis") ? redis_->url() : path_; }

  static RedisProcess* redis_;
  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("");
  std::unique_ptr<SnapshotStore> store_;
};
RedisProcess* SnapshotStoreTest::redis_ = nullptr;

TEST_P(SnapshotStoreTest, GivesBackWhatWasPut) {
  std::string every_byte;
  for (int i = 0; i < 3 * 256; ++i) every_byte += static_cast<char>(i);
  for (const std::string& snapshot :
       {std::string(), std::string("\0\r\n", 3), every_byte, std::string(5'000'000, 'x')}) {
    const std::string token = NewSnapshotToken();
    EXPECT_EQ(store_->Get(token), std::nullopt);
    store_->Put(token, snapshot);
    EXPECT_TRUE(store_->Get(token) == snapshot);
    EXPECT_TRUE(store_->Get(token) == snapshot) << "reading changes nothing";
  }
}

TEST_P(SnapshotStoreTest, ReplacesAndRemoves) {
  const std::string token = NewSnapshotToken();
  const std::string other = NewSnapshotToken();
  store_->Put(token, "a long first one");
  store_->Put(other, "other");
  store_->Put(token, "second");
  EXPECT_EQ(store_->Get(token), "second");
  store_->Remove(token);
  EXPECT_EQ(store_->Get(token), std::nullopt);
  store_->Remove(token);
  EXPECT_EQ(store_->Get(other), "other");
}

TEST_P(SnapshotStoreTest, AnotherServerFindsIt) {
  const std::string token = NewSnapshotToken();
  store_->Put(token, "snapshot");
  EXPECT_EQ(MakeSnapshotStore(Place(), seconds(3600))->Get(token), "snapshot");
}

TEST_P(SnapshotStoreTest, WhatIsNoTokenIsUnknown) {
  for (const std::string& text : NoTokens()) {
    EXPECT_EQ(store_->Get(text), std::nullopt);
    EXPECT_NO_THROW(store_->Remove(text));
    EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { store_->Put(text, "x"); }),
              "not a snapshot token");
  }
  EXPECT_NO_THROW(store_->Check());
}

// A reader sees one of the snapshots whole, never a mixture.
TEST_P(SnapshotStoreTest, ThreadsShareIt) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  const std::string shared = NewSnapshotToken();
  store_->Put(shared, std::string(100'000, 'a'));
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      const std::string own = NewSnapshotToken();
      for (int round = 0; round < kRounds; ++round) {
        store_->Put(shared, std::string(100'000 + number, static_cast<char>('a' + number)));
        store_->Put(own, std::to_string(round));
        const std::string found = store_->Get(shared).value_or("");
        const bool is_whole = !found.empty() &&
                              found.find_first_not_of(found.front()) == std::string::npos &&
                              found.size() == 100'000 + static_cast<size_t>(found.front() - 'a');
        if (!is_whole || store_->Get(own) != std::to_string(round)) ++failures;
      }
      store_->Remove(own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST_P(SnapshotStoreTest, LivesASecondToAYear) {
  for (const int64_t life : {int64_t{0}, int64_t{31'536'001}, int64_t{10'000'000'000},
                             std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(
        ErrorMessage<std::invalid_argument>([&] { MakeSnapshotStore(Place(), seconds(life)); }),
        "snapshots live " + std::to_string(life) + " s, expected 1 to 31536000 s");
  }
  const std::string token = NewSnapshotToken();
  const auto store = MakeSnapshotStore(Place(), kMaxSnapshotLife);
  store->Put(token, "x");
  EXPECT_EQ(store->Get(token), "x");
}

INSTANTIATE_TEST_SUITE_P(Places, SnapshotStoreTest, ::testing::Values("folder", "redis"),
                         [](const auto& param_info) { return std::string(param_info.param); });

class DirectorySnapshotStoreTest : public Test {
 protected:
  std::unique_ptr<SnapshotStore> Store(seconds time_to_live = seconds(100),
                                       int64_t max_bytes = std::numeric_limits<int64_t>::max()) {
    return std::make_unique<DirectorySnapshotStore>(path_, time_to_live, max_bytes,
                                                    [this] { return now_; });
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("");
  std::chrono::system_clock::time_point now_ = std::chrono::system_clock::now();
};

TEST_F(DirectorySnapshotStoreTest, ExpiresByAge) {
  const auto store = Store();
  const std::string token = NewSnapshotToken();
  const std::string forgotten = NewSnapshotToken();
  store->Put(token, "x");
  store->Put(forgotten, "y");
  now_ += seconds(99);
  EXPECT_EQ(store->Get(token), "x");
  store->Put(token, "z");  // lives from now on
  now_ += seconds(2);
  EXPECT_EQ(store->Get(forgotten), std::nullopt);
  EXPECT_EQ(store->Get(token), "z");
  now_ += seconds(98);
  EXPECT_EQ(store->Get(token), std::nullopt);
}

TEST_F(DirectorySnapshotStoreTest, RemovesExpiredFilesAndNoOthers) {
  const auto store = Store();
  const std::string token = NewSnapshotToken();
  for (int i = 0; i < 20; ++i) store->Put(NewSnapshotToken(), "x");
  store->Put(token, "y");
  // What a server leaves that is killed while it writes.
  std::ofstream(folder_.File(NewSnapshotToken() + "." + NewSnapshotToken() + ".unfinished")) << "x";
  for (const char* name : {"notes.txt", "abc.unfinished"})
    std::ofstream(folder_.File(name)) << "mine";
  EXPECT_EQ(NumFiles(path_), 24u);
  now_ += seconds(60);
  store->Put(token, "y");
  EXPECT_EQ(NumFiles(path_), 24u);
  now_ += seconds(60);
  Store()->Put(NewSnapshotToken(), "another server");
  EXPECT_EQ(NumFiles(path_), 4u);
  EXPECT_EQ(store->Get(token), "y");
  EXPECT_TRUE(fs::exists(folder_.File("notes.txt")));
  EXPECT_TRUE(fs::exists(folder_.File("abc.unfinished")));
}

TEST_F(DirectorySnapshotStoreTest, TakesNoMoreThanItsBound) {
  const auto store = Store(seconds(100), 1000);
  const std::string first = NewSnapshotToken();
  const std::string second = NewSnapshotToken();
  const std::string third = NewSnapshotToken();
  store->Put(first, std::string(600, 'x'));
  store->Put(second, std::string(400, 'x'));
  EXPECT_EQ(store->num_bytes(), 1000);
  EXPECT_EQ(ErrorMessage<SnapshotStoreFull>([&] { store->Put(third, "x"); }),
            "snapshot folder " + path_ + ": full, it holds 1000 bytes of 1000");
  EXPECT_EQ(store->Get(third), std::nullopt);
  EXPECT_EQ(NumFiles(path_), 2u);
  store->Put(first, std::string(650, 'y'));  // a stream that has one goes on
  EXPECT_EQ(store->num_bytes(), 1050);
  store->Remove(second);
  store->Remove(second);
  EXPECT_EQ(store->num_bytes(), 650);
  store->Put(third, std::string(350, 'x'));
  EXPECT_EQ(store->num_bytes(), 1000);
  now_ += seconds(101);
  store->Put(second, "x");  // the others have expired
  EXPECT_EQ(store->num_bytes(), 1);
}

TEST_F(DirectorySnapshotStoreTest, CountsWhatOthersDoInTheFolder) {
  const auto other = Store();
  const std::string token = NewSnapshotToken();
  other->Put(token, std::string(1000, 'x'));
  const auto store = Store(seconds(100), 1000);
  EXPECT_EQ(store->num_bytes(), 1000);
  EXPECT_THROW(store->Put(NewSnapshotToken(), "x"), SnapshotStoreFull);
  other->Remove(token);
  now_ += seconds(2);
  store->Put(NewSnapshotToken(), "x");
  EXPECT_EQ(store->num_bytes(), 1);
}

TEST_F(DirectorySnapshotStoreTest, FilesAreForTheirOwnerOnly) {
  const std::string made = folder_.File("made");
  const auto store = MakeSnapshotStore(made, seconds(10));
  const std::string token = NewSnapshotToken();
  const mode_t old_mask = ::umask(0);
  store->Put(token, "x");
  ::umask(old_mask);
  struct stat status = {};
  ASSERT_EQ(::stat((made + "/" + token).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  ASSERT_EQ(::stat(made.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0700u);
}

TEST_F(DirectorySnapshotStoreTest, FollowsNoLinksAndWaitsAtNoPipe) {
  const auto store = Store();
  const std::string token = NewSnapshotToken();
  std::ofstream(folder_.File("secret")) << "secret";
  fs::create_symlink(folder_.File("secret"), folder_.File(token));
  EXPECT_TRUE(
      Contains(ErrorMessage<SnapshotStoreError>([&] { store->Get(token); }), "cannot read"));
  store->Put(token, "x");  // replaces the link, not what it leads to
  EXPECT_EQ(store->Get(token), "x");
  std::string secret;
  std::ifstream(folder_.File("secret")) >> secret;
  EXPECT_EQ(secret, "secret");

  const std::string pipe_token = NewSnapshotToken();
  ASSERT_EQ(::mkfifo((folder_.File(pipe_token)).c_str(), 0600), 0);
  EXPECT_EQ(store->Get(pipe_token), std::nullopt);
}

TEST_F(DirectorySnapshotStoreTest, FoldersThatCannotBeUsed) {
  const auto message = [](const fs::path& place) {
    return ErrorMessage<SnapshotStoreError>([&] { MakeSnapshotStore(place, seconds(10)); });
  };
  EXPECT_TRUE(Contains(message(folder_.File("no/such")),
                       "no/such: cannot create: No such file or directory"));
  std::ofstream(folder_.File("file")) << "x";
  EXPECT_TRUE(Contains(message(folder_.File("file")), "file: cannot be used: Not a directory"));
  fs::create_directory(folder_.File("open"));
  fs::permissions(folder_.File("open"), fs::perms(0755));
  EXPECT_TRUE(Contains(ErrorMessage<std::invalid_argument>(
                           [&] { MakeSnapshotStore(folder_.File("open"), seconds(10)); }),
                       "open to other users"));
  EXPECT_TRUE(
      Contains(ErrorMessage<std::invalid_argument>([&] { MakeSnapshotStore("", seconds(10)); }),
               "name is empty"));
}

TEST_F(DirectorySnapshotStoreTest, SaysWhenTheFolderWentAwayAndGoesOnWhenItIsBack) {
  const std::string place = folder_.File("snapshots");
  const auto store = MakeSnapshotStore(place, seconds(10));
  const std::string token = NewSnapshotToken();
  fs::remove(place);
  EXPECT_EQ(ErrorMessage<SnapshotStoreError>([&] { store->Put(token, "x"); }),
            "snapshot folder " + place + ": cannot write: No such file or directory");
  for (const std::function<void()>& call :
       {std::function<void()>([&] { store->Get(token); }), {[&] { store->Check(); }}}) {
    EXPECT_EQ(ErrorMessage<SnapshotStoreError>(call),
              "snapshot folder " + place + ": cannot be used: No such file or directory");
  }
  fs::create_directory(place);
  store->Put(token, "x");
  EXPECT_EQ(store->Get(token), "x");
}

// A disk that is full in the middle of a file: nothing half-written is ever seen.
TEST_F(DirectorySnapshotStoreTest, FullDisk) {
  const auto store = Store();
  const std::string token = NewSnapshotToken();
  store->Put(token, "old");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit limit = {10'000, old_limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string message =
      ErrorMessage<SnapshotStoreError>([&] { store->Put(token, std::string(20'000, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  EXPECT_EQ(message, "snapshot folder " + path_ + ": cannot write: File too large");
  EXPECT_EQ(store->Get(token), "old");
  EXPECT_EQ(NumFiles(path_), 1u);
  EXPECT_EQ(store->num_bytes(), 3);
}

class RedisSnapshotStoreTest : public Test {
 protected:
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }

  // What redis-cli prints for one command.
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
  store->Put(token, "z");  // the idle connection is dead, which nobody notices
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

// What accepts connections and never answers: a Redis that hangs.
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
    EXPECT_EQ(failure(&store), server.url() + "/0: did not answer a moment ago, is not asked now");
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
