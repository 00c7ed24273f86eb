#include "encoder/model_file/model_archive.h"

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
#include "encoder/model_file/script_archive.h"
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

// Throws for a file that is not a zip archive at all, about which libzip says little.
void CheckLooksLikeArchive(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status =
      std::filesystem::status(std::filesystem::u8path(path), error);
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
    throw std::runtime_error(path + ": is a pipe or a device, expected a model archive in a file");
  }
  std::ifstream file(std::filesystem::u8path(path), std::ios::binary);
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
  std::ifstream file(std::filesystem::u8path(path), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) {
    throw std::runtime_error(path + ": cannot be read or is empty, expected units.txt");
  }
  return text.str();
}

// Of a whole archive, the end is the zip's directory.
ZipFile OpenZip(const std::string& path) {
  try {
    return ZipFile(path);
  } catch (const std::exception& error) {
    const uint64_t size = std::filesystem::file_size(std::filesystem::u8path(path));
    throw std::runtime_error(path + ": is truncated or damaged (" + std::to_string(size) +
                             " bytes, " + error.what() + "), expected a whole TorchScript archive");
  }
}

// Reads the whole file, once: a damaged byte is found wherever it is.
ScriptArchive ReadWhole(const std::string& path, ZipFile* zip) {
  try {
    ScriptArchive script(zip);
    zip->CheckUnreadEntries();
    return script;
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": is damaged or not a TorchScript archive (" + error.what() +
                             ")");
  }
}

ModelArchive ReadForeign(const std::string& path, ZipFile* zip, const std::string& units_file) {
  if (units_file.empty()) {
    throw std::runtime_error(path +
                             ": is a WeNet export, which holds no units, expected the "
                             "units.txt beside it too (--units)");
  }
  const std::string units_text = ReadText(units_file);
  const ScriptArchive script = ReadWhole(path, zip);
  try {
    ModelArchive archive = ReadWenetExport(script, units_text);
    archive.path = path;
    archive.units_name = units_file;
    return archive;
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

// The text of that name beside the module. An empty one is as good as none.
std::string TextBeside(const ScriptArchive& script, const char* name, const std::string& path) {
  const auto found = script.extra_files().find(name);
  if (found == script.extra_files().end() || found->second.empty()) {
    throw std::runtime_error(path + ": holds no " + name +
                             ", expected an archive in Runnel's format (models/README.md)");
  }
  return found->second;
}

}  // namespace

ModelArchive ReadModelArchive(const std::string& path, const std::string& units_file) {
  CheckLooksLikeArchive(path);
  ZipFile zip = OpenZip(path);
  const std::vector<std::string> entries = zip.EntryNames();
  if (!IsRunnelArchive(entries) && (!units_file.empty() || IsWenetExport(entries))) {
    return ReadForeign(path, &zip, units_file);
  }
  if (!units_file.empty()) {
    throw std::runtime_error(path + ": holds its own units, expected no other (" + units_file +
                             ")");
  }
  const ScriptArchive script = ReadWhole(path, &zip);
  ModelArchive archive;
  archive.path = path;
  archive.config_json = TextBeside(script, kConfigFile, path);
  archive.units_text = TextBeside(script, kUnitsFile, path);
  archive.units_name = path + ": " + kUnitsFile;
  try {
    archive.tensors = script.Tensors();
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
  return archive;
}

}  // namespace runnel
