// Properties of DirectorySnapshotStore only: its limit, other servers, its files.
#include "tools/server/store/directory_snapshot_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"
#include "tools/server/store/make_snapshot_store.h"
#include "tools/server/store/snapshot_token.h"

namespace runnel::server {
namespace {

namespace fs = std::filesystem;
using runnel::testing::Contains;
using runnel::testing::ErrorMessage;
using runnel::testing::TemporaryFolder;
using std::chrono::seconds;
using ::testing::Test;

size_t NumFiles(const std::string& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

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
  // A file that a killed server left unfinished.
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
  store->Put(first, std::string(650, 'y'));  // a stream with a snapshot may replace it
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

// A client may resume and vanish any number of times, on any server.
TEST_F(DirectorySnapshotStoreTest, AResumedStreamHasOneSnapshotBeyondTheLimit) {
  const auto store = Store(seconds(100), 1000);
  const auto other = Store(seconds(100), 1000);
  const std::string first = NewSnapshotToken();
  const std::string second = NewSnapshotToken();
  const std::string third = NewSnapshotToken();
  store->Put(first, std::string(1000, 'a'));
  EXPECT_THROW(store->Put(second, "x", {"", third}), SnapshotStoreFull) << "nothing is there";
  store->Put(second, std::string(1000, 'b'), {"", first});
  EXPECT_EQ(store->Get(first), std::string(1000, 'a'));
  store->Put(second, std::string(1100, 'c'), {"", first});
  EXPECT_EQ(store->num_bytes(), 2100);
  store->Put(first, std::string(900, 'd'));  // a connection that is not known to be dead
  now_ += seconds(10);
  for (const auto& server : {store.get(), other.get()}) {
    EXPECT_THROW(server->Put(third, "x", {"", first}), SnapshotStoreFull);
    EXPECT_THROW(server->Put(third, "x", {"", second}), SnapshotStoreFull);
    EXPECT_EQ(server->num_bytes(), 2000);
  }
  EXPECT_EQ(NumFiles(path_), 2u);

  store->Remove(first);
  store->Put(second, std::string(1100, 'e'), {"", first});  // is alone
  other->Put(third, std::string(1100, 'f'), {"", second});
  other->Remove(second);
  EXPECT_EQ(other->Get(third), std::string(1100, 'f'));
  EXPECT_EQ(NumFiles(path_), 1u);
}

TEST_F(DirectorySnapshotStoreTest, NoServerExceedsTheBoundByMuchThatAnotherReached) {
  const auto store = Store(seconds(1000), 1000);
  const auto other = Store(seconds(1000), 1000);
  const auto fill = [this](SnapshotStore* server) {
    for (int i = 0; i < 20; ++i) {
      try {
        server->Put(NewSnapshotToken(), std::string(100, 'x'));
      } catch (const SnapshotStoreFull&) {
        return;
      }
      now_ += seconds(1);
    }
  };
  fill(other.get());
  fill(store.get());
  EXPECT_EQ(store->num_bytes(), 1000);
  EXPECT_EQ(NumFiles(path_), 10u);
}

TEST_F(DirectorySnapshotStoreTest, RemovesExpiredFilesWithoutBeingUsed) {
  const auto store = Store(seconds(20));
  store->Put(NewSnapshotToken(), "expires");
  now_ += seconds(20);
  EXPECT_EQ(NumFiles(path_), 1u);
  store->RemoveExpired();
  EXPECT_EQ(NumFiles(path_), 0u);
  EXPECT_EQ(store->num_bytes(), 0);
}

// As after a step back of the machine's clock.
TEST_F(DirectorySnapshotStoreTest, AFileFromTheFutureLivesNoLonger) {
  const std::string token = NewSnapshotToken();
  Store()->Put(token, "x");
  now_ -= seconds(3600);
  const auto store = Store();  // looks into the folder
  EXPECT_EQ(store->Get(token), "x");
  now_ += seconds(99);
  EXPECT_EQ(store->Get(token), "x");
  now_ += seconds(2);
  EXPECT_EQ(store->Get(token), std::nullopt);
}

TEST_F(DirectorySnapshotStoreTest, ItsClockBeginsWithTheSystemsAndGoesOn) {
  const auto before = std::chrono::system_clock::now();
  const DirectorySnapshotStore::Clock clock = DirectorySnapshotStore::UnsteppedClock();
  const auto first = clock();
  EXPECT_LT(before - first, seconds(60));
  EXPECT_LT(first - before, seconds(60));
  EXPECT_LE(first, clock());
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
  const auto message = [](const fs::path& location) {
    return ErrorMessage<SnapshotStoreError>([&] { MakeSnapshotStore(location, seconds(10)); });
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
  const std::string location = folder_.File("snapshots");
  const auto store = MakeSnapshotStore(location, seconds(10));
  const std::string token = NewSnapshotToken();
  fs::remove(location);
  EXPECT_EQ(ErrorMessage<SnapshotStoreError>([&] { store->Put(token, "x"); }),
            "snapshot folder " + location + ": cannot write: No such file or directory");
  for (const std::function<void()>& call :
       {std::function<void()>([&] { store->Get(token); }), {[&] { store->Check(); }}}) {
    EXPECT_EQ(ErrorMessage<SnapshotStoreError>(call),
              "snapshot folder " + location + ": cannot be used: No such file or directory");
  }
  fs::create_directory(location);
  store->Put(token, "x");
  EXPECT_EQ(store->Get(token), "x");
}

// The disk is full in the middle of a file: an incomplete snapshot is never read.
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

}  // namespace
}  // namespace runnel::server
