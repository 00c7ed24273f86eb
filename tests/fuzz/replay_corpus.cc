// The main function of a fuzzer without libFuzzer: tries every file of a corpus, then random
// changes of them with a fixed seed. The input of a crash is written to a file.
//   fuzz_x RUNS FAILED_INPUT_FILE CORPUS_FOLDER...
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

// For the handler of fatal signals.
std::string g_input;
const char* g_failed_file = nullptr;

void SaveInput(int signal) {
  const int file = ::open(g_failed_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const bool saved = file >= 0 && ::write(file, g_input.data(), g_input.size()) ==
                                      static_cast<ssize_t>(g_input.size());
  const char message[] = "the input is in the file that the command line names\n";
  if (saved && ::write(STDERR_FILENO, message, sizeof(message) - 1) < 0) ::_exit(1);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void Try(std::string input) {
  g_input = std::move(input);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(g_input.data()), g_input.size());
}

std::vector<std::string> ReadCorpus(const std::vector<std::string>& folders) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& folder : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

// An input with some bytes changed, removed, doubled, or taken from another input.
std::string Changed(const std::vector<std::string>& corpus, std::mt19937* random) {
  const auto below = [random](size_t bound) { return bound == 0 ? 0 : (*random)() % bound; };
  std::string input = corpus[below(corpus.size())];
  for (size_t changes = 1 + below(6); changes > 0; --changes) {
    const size_t at = below(input.size());
    const size_t size = std::min(input.size() - at, 1 + below(16));
    switch (below(6)) {
      case 0:
        if (!input.empty()) input[at] = static_cast<char>((*random)());
        break;
      case 1:
        if (!input.empty()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 2:
        input.erase(at, size);
        break;
      case 3:
        input.insert(at, input.substr(at, size));
        break;
      case 4:
        input.resize(at);
        break;
      default: {
        const std::string& other = corpus[below(corpus.size())];
        input.insert(at, other.substr(below(other.size()), 1 + below(64)));
      }
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s RUNS FAILED_INPUT_FILE CORPUS_FOLDER...\n", argv[0]);
    return 2;
  }
  g_failed_file = argv[2];
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::signal(signal, SaveInput);
  const std::vector<std::string> corpus = ReadCorpus({argv + 3, argv + argc});
  if (corpus.empty()) {
    std::fprintf(stderr, "the corpus is empty\n");
    return 1;
  }
  for (const std::string& input : corpus) Try(input);
  std::mt19937 random(1);
  const long num_runs = std::atol(argv[1]);
  for (long run = 0; run < num_runs; ++run) Try(Changed(corpus, &random));
  std::printf("%zu files and %ld changes of them\n", corpus.size(), num_runs);
  return 0;
}
