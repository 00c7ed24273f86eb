#include "encoder/model_file/model_archive.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "encoder/model_file/affixes.h"
#include "encoder/model_file/wenet_export.h"
#include "encoder/model_file/zip_file.h"

namespace runnel {
namespace {

constexpr char kConfigFile[] = "runnel.json";
constexpr char kUnitsFile[] = "units.txt";

bool IsRunnelArchive(const std::vector<std::string>& entry_names) {
  return std::any_of(entry_names.begin(), entry_names.end(), [](const std::string& name) {
    return EndsWith(name, std::string("/extra/") + kConfigFile);
  });
}

// One line. LibTorch's messages go on with a stack trace or a piece of source text.
std::string ShortMessage(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text =
      torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

// Throws for a file that is not a zip archive at all, about which LibTorch's message is obscure.
void CheckLooksLikeArchive(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (error && error != std::errc::no_such_file_or_directory &&
      error != std::errc::not_a_directory) {
    throw std::runtime_error(path + ": cannot open: " + error.message());
  }
  if (!std::filesystem::exists(status)) {
    throw std::runtime_error(path + ": no such file, expected a model archive");
  }
  if (std::filesystem::is_directory(status)) {
    throw std::runtime_error(path + ": is a directory, expected a model archive");
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw std::runtime_error(
        path + ": is a pipe or a device, expected a model archive in a file, which is read twice");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot open: " + std::strerror(errno));
  char magic[4] = {};
  file.read(magic, sizeof(magic));
  if (file.gcount() == 0) {
    throw std::runtime_error(path + ": is empty, expected a model archive");
  }
  if (std::string(magic, 2) != "PK") {
    throw std::runtime_error(path +
                             ": is not a model archive, expected TorchScript's zip format (*.pt)");
  }
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) {
    throw std::runtime_error(path + ": cannot be read or is empty, expected units.txt");
  }
  return text.str();
}

ModelArchive ReadForeign(const std::string& path, const ZipFile& zip,
                         const std::string& units_file) {
  if (units_file.empty()) {
    throw std::runtime_error(path +
                             ": is a WeNet export, which holds no units, expected the "
                             "units.txt beside it too (--units)");
  }
  const std::string units_text = ReadText(units_file);
  try {
    ModelArchive archive = ReadWenetExport(zip, units_text);
    archive.path = path;
    return archive;
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + ShortMessage(error));
  }
}

[[noreturn]] void ThrowDamaged(const std::string& path, const std::exception& error) {
  throw std::runtime_error(path + ": is truncated, damaged or not a TorchScript archive (" +
                           ShortMessage(error) + ")");
}

ZipFile OpenWholeZip(const std::string& path) {
  try {
    ZipFile zip(path);
    zip.CheckEntries();
    return zip;
  } catch (const std::exception& error) {
    ThrowDamaged(path, error);
  }
}

}  // namespace

ModelArchive ReadModelArchive(const std::string& path, const std::string& units_file) {
  CheckLooksLikeArchive(path);
  const ZipFile zip = OpenWholeZip(path);
  const std::vector<std::string> entries = zip.EntryNames();
  if (!IsRunnelArchive(entries) && (!units_file.empty() || IsWenetExport(entries))) {
    return ReadForeign(path, zip, units_file);
  }
  if (!units_file.empty()) {
    throw std::runtime_error(path + ": holds its own units, expected no other (" + units_file +
                             ")");
  }
  ModelArchive archive;
  archive.path = path;
  torch::jit::ExtraFilesMap extra{{kConfigFile, ""}, {kUnitsFile, ""}};
  try {
    const torch::jit::Module module = torch::jit::load(path, c10::Device(c10::kCPU), extra);
    for (const auto& named : module.named_parameters()) archive.tensors[named.name] = named.value;
    for (const auto& named : module.named_buffers()) archive.tensors[named.name] = named.value;
  } catch (const std::exception& error) {
    ThrowDamaged(path, error);
  }
  archive.config_json = extra[kConfigFile];
  archive.units_text = extra[kUnitsFile];
  for (const char* name : {kConfigFile, kUnitsFile}) {
    if (extra[name].empty()) {
      throw std::runtime_error(path + ": holds no " + name +
                               ", expected an archive in Runnel's format (models/README.md)");
    }
  }
  return archive;
}

}  // namespace runnel
