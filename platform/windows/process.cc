#include "platform/process.h"

// clang-format off
#include <windows.h>
#include <fcntl.h>
#include <io.h>
#include <psapi.h>  // these two after windows.h
#include <shellapi.h>
#include <unistd.h>
// clang-format on

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>

namespace runnel {
namespace {

constexpr DWORD kEscapeSequences = ENABLE_VIRTUAL_TERMINAL_PROCESSING;

std::string Utf8(const wchar_t* text) {
  const int size = ::WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);
  if (size <= 0) throw std::runtime_error("an argument is not Unicode text");
  std::string utf8(static_cast<size_t>(size), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, text, -1, utf8.data(), size, nullptr, nullptr);
  utf8.pop_back();  // the zero
  return utf8;
}

HANDLE HandleOf(int fd) { return reinterpret_cast<HANDLE>(::_get_osfhandle(fd)); }

// Those of a console; no value for other files.
std::optional<DWORD> ConsoleMode(int fd) {
  DWORD mode = 0;
  if (::GetConsoleMode(HandleOf(fd), &mode) == 0) return std::nullopt;
  return mode;
}

// `module`: null for the program.
std::filesystem::path FolderOf(HMODULE module) {
  std::wstring file(MAX_PATH, L'\0');
  for (;;) {
    const DWORD size = ::GetModuleFileNameW(module, file.data(), static_cast<DWORD>(file.size()));
    if (size < file.size()) {
      file.resize(size);
      return std::filesystem::path(file).parent_path();
    }
    file.resize(2 * file.size());
  }
}

}  // namespace

// Those of `main` are in the code page of the system, which lacks most characters.
std::vector<std::string> ProgramArguments(int /*argc*/, char** /*argv*/) {
  int count = 0;
  const auto free = [](wchar_t** words) { ::LocalFree(words); };
  const std::unique_ptr<wchar_t*, decltype(free)> words(
      ::CommandLineToArgvW(::GetCommandLineW(), &count), free);
  if (words == nullptr) throw std::runtime_error("the system does not tell the arguments");
  std::vector<std::string> arguments;
  for (int i = 1; i < count; ++i) arguments.push_back(Utf8(words.get()[i]));
  return arguments;
}

void PrepareStandardStreams() {
  for (std::FILE* const stream : {stdin, stdout, stderr}) {
    const int fd = ::_fileno(stream);
    if (fd >= 0) ::_setmode(fd, _O_BINARY);
  }
  // The C library of Windows has no lines as units of output, and writes each character of an
  // unbuffered stream by itself.
  std::setvbuf(stdout, nullptr, _IOFBF, 1 << 14);
  std::setvbuf(stderr, nullptr, _IONBF, 0);
  ::SetConsoleOutputCP(CP_UTF8);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    // Windows before 10 refuses it.
    if (const auto mode = ConsoleMode(fd)) {
      ::SetConsoleMode(HandleOf(fd), *mode | ENABLE_PROCESSED_OUTPUT | kEscapeSequences);
    }
  }
}

// There are none.
void IgnoreWriteSignals() {}
void EndByClosedPipe(int /*error*/) {}

void RemoveVariable(const char* name) { ::_putenv((std::string(name) + "=").c_str()); }

// _isatty() also takes NUL and other devices for terminals.
bool IsTerminal(int fd) { return ConsoleMode(fd).has_value(); }

bool ObeysEscapeSequences(int fd) { return (ConsoleMode(fd).value_or(0) & kEscapeSequences) != 0; }

size_t TerminalWidth() {
  CONSOLE_SCREEN_BUFFER_INFO info = {};
  if (::GetConsoleScreenBufferInfo(::GetStdHandle(STD_ERROR_HANDLE), &info) == 0) return 80;
  const int width = info.srWindow.Right - info.srWindow.Left + 1;
  return width > 1 ? static_cast<size_t>(width) : 80;
}

std::filesystem::path ProgramFolder() { return FolderOf(nullptr); }

std::filesystem::path ModuleFolder() {
  HMODULE module = nullptr;
  constexpr DWORD kByAddress =
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (::GetModuleHandleExW(kByAddress, reinterpret_cast<const wchar_t*>(&ModuleFolder), &module) ==
      0) {
    return {};
  }
  return FolderOf(module);
}

int64_t RaiseDescriptorLimit() {
  constexpr int kMost = 8192;  // of the C library
  return ::_setmaxstdio(kMost) == kMost ? kMost : ::_getmaxstdio();
}

void OutliveFirstInterrupt() {
  static volatile LONG num_interrupts = 0;
  ::SetConsoleCtrlHandler(
      [](DWORD event) -> BOOL {
        return event == CTRL_C_EVENT && ::InterlockedIncrement(&num_interrupts) == 1;
      },
      TRUE);
}

void CallInForkedChildren(void (*)()) {}

int64_t PeakMemoryBytes() {
  PROCESS_MEMORY_COUNTERS counters = {};
  if (::GetProcessMemoryInfo(::GetCurrentProcess(), &counters, sizeof(counters)) == 0) {
    throw std::runtime_error("the system does not tell the memory of this process");
  }
  return static_cast<int64_t>(counters.PeakWorkingSetSize);
}

}  // namespace runnel
