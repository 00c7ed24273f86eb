#include "encoder/model_file/model_archive.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>
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
    return EndsWith("/" + name, std::string("/extra/") + kConfigFile);
  });
}

// A file of torch.save: TorchScript archives have code beside the objects.
bool IsCheckpoint(const std::vector<std::string>& entry_names) {
  bool has_objects = false;
  for (const std::string& name : entry_names) {
    if (("/" + name).find("/code/") != std::string::npos) return false;
    has_objects = has_objects || EndsWith("/" + name, "/data.pkl");
  }
  return has_objects;
}

// What a user types to make a model file.
std::string Conversion(const std::string& family, const std::string& source) {
  return "; convert it first: runnel convert " + family + " " + source + " --output=model.pt";
}

// The toolkit whose experiments have such files, as the converter names it.
std::string FamilyOf(const std::filesystem::path& folder) {
  const std::vector<std::pair<const char*, const char*>> files = {{"train.yaml", "wenet"},
                                                                  {"model_config.yaml", "nemo"},
                                                                  {"state_dict.pt", "nemo"},
                                                                  {"pretrained.pt", "icefall"},
                                                                  {"config.yaml", "espnet"}};
  for (const auto& [file, family] : files) {
    std::error_code error;
    if (std::filesystem::exists(folder / file, error)) return family;
  }
  return "wenet|nemo|espnet|icefall";
}

[[noreturn]] void FailAsCheckpoint(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::u8path(path).parent_path();
  throw std::runtime_error(path + ": is a checkpoint of weights, expected a model file" +
                           Conversion(FamilyOf(folder), folder.empty() ? "." : folder.u8string()));
}

// `beginning`: of the file, no zip.
[[noreturn]] void FailAsOtherFile(const std::string& path, const std::string& beginning) {
  constexpr size_t kTarMagicAt = 257;
  if (EndsWith(path, ".nemo") ||
      beginning.substr(std::min(kTarMagicAt, beginning.size()), 5) == "ustar") {
    throw std::runtime_error(path + ": is a NeMo archive, expected a model file" +
                             Conversion("nemo", path));
  }
  if (beginning.front() == '\x80') FailAsCheckpoint(path);  // a pickle
  throw std::runtime_error(path + ": is not a model file, expected one that runnel convert wrote");
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
    throw std::runtime_error(path +
                             ": no such file, expected a model file that runnel convert "
                             "wrote");
  }
  if (std::filesystem::is_directory(status)) {
    throw std::runtime_error(path + ": is a directory, expected a model file" +
                             Conversion(FamilyOf(std::filesystem::u8path(path)), path));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw std::runtime_error(path + ": is a pipe or a device, expected a model file");
  }
  std::ifstream file(std::filesystem::u8path(path), std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot open: " + std::strerror(errno));
  std::string beginning(512, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<size_t>(file.gcount()));
  if (beginning.empty()) throw std::runtime_error(path + ": is empty, expected a model file");
  if (beginning.substr(0, 2) != "PK") FailAsOtherFile(path, beginning);
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
                             " bytes, " + error.what() + "), expected a whole model file");
  }
}

// Reads the whole file, once: a damaged byte is found wherever it is.
ScriptArchive ReadWhole(const std::string& path, ZipFile* zip) {
  try {
    ScriptArchive script(zip);
    zip->CheckUnreadEntries();
    return script;
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": is damaged or not a model file (" + error.what() + ")");
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
  if (IsCheckpoint(entries)) FailAsCheckpoint(path);
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
