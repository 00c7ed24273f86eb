#include "tools/decode/finished_results.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <unordered_map>

namespace runnel {
namespace {

[[noreturn]] void Fail(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what + ": " + std::strerror(errno));
}

// The recording that a line of output is about.
struct LineInfo {
  std::string id;  // "" if the line has none
  bool failed = false;
};

LineInfo ParseJsonLine(const std::string& line) {
  using Json = nlohmann::json;
  // A line may hold hours of speech: everything else is dropped while it is read.
  const auto keep = [](int depth, Json::parse_event_t event, const Json& parsed) {
    if (event != Json::parse_event_t::key || depth != 1) return true;
    return parsed == "id" || parsed == "error";
  };
  const Json object = Json::parse(line, keep, /*allow_exceptions=*/false);
  if (!object.is_object()) return {};
  const auto id = object.find("id");
  if (id == object.end() || !id->is_string()) return {};
  return {id->get<std::string>(), object.contains("error")};
}

LineInfo ParseOutputLine(const std::string& line, OutputFormat format) {
  if (format == OutputFormat::kJson || format == OutputFormat::kUtteranceJson) {
    return ParseJsonLine(line);
  }
  return {line.substr(0, line.find(' ')), /*failed=*/false};
}

}  // namespace

FinishedResults::FinishedResults(const std::string& path, OutputFormat format,
                                 const std::vector<Recording>& recordings)
    : path_(path) {
  std::error_code error;
  const std::filesystem::path named = std::filesystem::u8path(path);
  if (!std::filesystem::exists(named, error)) return;
  if (!std::filesystem::is_regular_file(named, error)) {
    throw std::runtime_error(path + ": holds no results to resume from, expected a regular file");
  }
  exists_ = true;
  path_ =
      std::filesystem::canonical(named).u8string();  // a link stays one when the file is replaced
  std::ifstream file(named, std::ios::binary);
  if (!file) Fail(path, "cannot open");
  std::unordered_map<std::string, size_t> indices;
  for (size_t i = 0; i < recordings.size(); ++i) indices.emplace(recordings[i].id, i);

  int64_t begin = 0;
  size_t number = 1;
  for (std::string line; std::getline(file, line) && !file.eof(); ++number) {
    const auto size = static_cast<int64_t>(line.size()) + 1;
    const LineInfo info = ParseOutputLine(line, format);
    const auto found = indices.find(info.id);
    const std::string place = path + ":" + std::to_string(number) + ": ";
    if (found == indices.end()) {
      throw std::runtime_error(place +
                               "is no result of these recordings in this format; resume with "
                               "the list, the shard and the format of the first run");
    }
    const size_t index = found->second;
    const bool continues = format == OutputFormat::kCtm && index + 1 == lines_.size();
    if (index < lines_.size() && !continues) {
      throw std::runtime_error(place + "'" + found->first +
                               "' does not come after the line before in the list of recordings");
    }
    Add(index, begin, size, info.failed);
    begin += size;
  }
  if (file.bad()) Fail(path, "cannot read");
  if (format == OutputFormat::kCtm && !lines_.empty()) {
    lines_.pop_back();
    for (; !lines_.empty() && lines_.back().size == 0; lines_.pop_back()) gaps_.pop_back();
  }
}

void FinishedResults::Add(size_t index, int64_t begin, int64_t size, bool failed) {
  for (size_t gap = lines_.size(); gap < index; ++gap) {
    gaps_.push_back(gap);
    lines_.emplace_back();
  }
  if (index == lines_.size()) lines_.push_back({begin, 0});
  lines_[index].size += size;
  if (failed) gaps_.push_back(index);
}

void FinishedResults::Restore(const std::map<size_t, std::string>& found) const {
  if (!exists_) return;
  const bool is_new = std::any_of(found.begin(), found.end(), [this](const auto& result) {
    return !result.second.empty() || lines_[result.first].size > 0;
  });
  if (is_new) return Rewrite(found);
  const int64_t size = lines_.empty() ? 0 : lines_.back().begin + lines_.back().size;
  std::error_code error;
  std::filesystem::resize_file(std::filesystem::u8path(path_), static_cast<uintmax_t>(size), error);
  if (error) throw std::runtime_error(path_ + ": cannot write: " + error.message());
}

void FinishedResults::Rewrite(const std::map<size_t, std::string>& found) const {
  const std::filesystem::path path = std::filesystem::u8path(path_);
  const std::filesystem::path new_path = std::filesystem::u8path(path_ + ".resuming");
  std::ifstream old_file(path, std::ios::binary);
  if (!old_file) Fail(path_, "cannot open");
  std::ofstream new_file(new_path, std::ios::binary);
  if (!new_file) Fail(new_path.u8string(), "cannot create");
  std::string text;
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (const auto result = found.find(i); result != found.end()) {
      new_file << result->second;
      continue;
    }
    text.resize(static_cast<size_t>(lines_[i].size));
    old_file.seekg(lines_[i].begin);
    if (!old_file.read(text.data(), lines_[i].size)) Fail(path_, "cannot read");
    new_file << text;
  }
  new_file.close();
  if (!new_file) Fail(new_path.u8string(), "cannot write");
  old_file.close();  // some systems replace no open file
  std::error_code error;
  std::filesystem::rename(new_path, path, error);
  if (error) throw std::runtime_error(path_ + ": cannot replace: " + error.message());
}

}  // namespace runnel
