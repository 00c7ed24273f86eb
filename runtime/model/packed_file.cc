#include "runtime/model/packed_file.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "encoder/cpu/kernels/matmul/stored_matrix.h"
#include "encoder/json/json_section.h"
#include "encoder/json/json_text.h"
#include "encoder/model_file/tensor.h"
#include "runtime/files/checksum.h"
#include "runtime/files/file.h"
#include "runtime/files/mapped_bytes.h"

namespace runnel {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "packed files are little-endian and used as they lie in the file");

constexpr std::string_view kMagic = "RNLPACK1";
constexpr int64_t kMaxNumber = std::numeric_limits<int64_t>::max();

struct Header {
  char magic[8];
  Checksum checksum;  // of all bytes after this field
  uint64_t size;      // of the file
  uint64_t index_size;
};
static_assert(sizeof(Header) == 40);
constexpr size_t kCheckedBegin = offsetof(Header, size);

const std::map<std::string, Precision>& Precisions() {
  static const std::map<std::string, Precision> precisions = {{"float32", Precision::kFloat32},
                                                              {"bfloat16", Precision::kBfloat16},
                                                              {"int8", Precision::kInt8},
                                                              {"int4", Precision::kInt4}};
  return precisions;
}

// The format of a matrix. Other matrices have none.
constexpr char kFourBits[] = "four bits";

// Of the files that this version reads and writes.
std::string Kind() { return std::string("named ") + kernels::kStoredMatrixKind; }

// In the data type of all tensors of a packed file.
Tensor ToFloat32(const std::string& name, const Tensor& tensor) {
  if (tensor.type() == DataType::kFloat32) return tensor;
  try {
    return {tensor.shape(), Float32Values(tensor)};
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error("tensor " + name + ": " + error.what() +
                             ", expected floating-point numbers");
  }
}

// Gives each section its place and collects the bytes of the file.
class SectionWriter {
 public:
  nlohmann::json Add(std::string_view bytes) {
    const std::string_view zeros(kZeros, Aligned(size_) - size_);
    sections_.push_back(zeros);
    size_ += zeros.size();
    sections_.push_back(bytes);
    const uint64_t offset = size_;
    size_ += bytes.size();
    return {offset, bytes.size()};
  }

  uint64_t size() const { return size_; }
  const std::vector<std::string_view>& sections() const { return sections_; }

 private:
  static constexpr char kZeros[kMappedAlignment] = {};

  std::vector<std::string_view> sections_;
  uint64_t size_ = 0;
};

// Reads sections and what the index says of them.
class PackedFileReader {
 public:
  explicit PackedFileReader(const std::string& path) : path_(path) {}

  PackedFile Read() {
    Map();
    const nlohmann::json json = ParseJsonText(IndexText(), path_, "the index");
    JsonSection index(json, "", path_);
    PackedFile file;
    file.precision = index.Choice("precision", Precisions());
    CheckKind(index.String("kind"));
    file.digest = index.String("digest");
    if (index.Has("note")) file.archive.note = index.String("note");
    file.archive.path = path_;
    file.archive.config_json = Bytes(&index, "config");
    file.archive.units_text = Bytes(&index, "units");
    file.archive.units_name = file.archive.path + ": units.txt";
    for (JsonSection& tensor : index.Sections("tensors")) {
      const std::string name = tensor.String("name");
      if (!file.archive.tensors.emplace(name, ReadTensor(&tensor)).second) {
        Fail("tensor " + name + " is there twice", "once");
      }
      tensor.CheckAllTaken();
    }
    for (JsonSection& matrix : index.Sections("matrices")) {
      std::string name = matrix.String("name");
      file.matrices.push_back({std::move(name), ReadMatrix(&matrix)});
      matrix.CheckAllTaken();
    }
    if (file.matrices.empty()) Fail("holds no packed weights", "some");
    index.CheckAllTaken();
    return file;
  }

 private:
  [[noreturn]] void Fail(const std::string& problem, const std::string& expected) const {
    throw std::runtime_error(path_ + ": " + problem + ", expected " + expected);
  }

  void Map() {
    const File file(path_);
    if (file.size() < sizeof(Header)) {
      Fail("is truncated (" + std::to_string(file.size()) + " bytes)", "a packed model");
    }
    mapped_ = std::make_shared<const MappedBytes>(file.Map());
    std::memcpy(&header_, mapped_->data(), sizeof(header_));
    if (header_.size != mapped_->size()) {
      Fail("is truncated or damaged (" + std::to_string(mapped_->size()) + " bytes)",
           std::to_string(header_.size) + " bytes");
    }
    std::string_view checked(reinterpret_cast<const char*>(mapped_->data()), mapped_->size());
    checked.remove_prefix(kCheckedBegin);
    if (ChecksumOf({checked}) != header_.checksum) {
      Fail("is damaged: its checksum is wrong", "a packed model");
    }
    if (header_.index_size > mapped_->size() - sizeof(Header)) {
      Fail("is damaged: its index is larger than the file", "a packed model");
    }
    first_section_ = Aligned(sizeof(Header) + header_.index_size);
  }

  std::string IndexText() const {
    return {reinterpret_cast<const char*>(mapped_->data()) + sizeof(Header),
            static_cast<size_t>(header_.index_size)};
  }

  // Matrices in another arrangement would be read wrongly, those without names in another order.
  void CheckKind(const std::string& kind) const {
    if (kind == Kind()) return;
    Fail("holds matrices in " + kind, Kind() + ": pack the model again with this version");
  }

  std::string_view View(JsonSection* section, const std::string& field) const {
    const std::vector<int64_t> range = section->Integers(field, 0, kMaxNumber);
    const uint64_t available =
        mapped_->size() < first_section_ ? 0 : mapped_->size() - first_section_;
    if (range.size() != 2 || static_cast<uint64_t>(range[0]) % kMappedAlignment != 0 ||
        static_cast<uint64_t>(range[0]) > available ||
        static_cast<uint64_t>(range[1]) > available - static_cast<uint64_t>(range[0])) {
      section->Fail(field, "[offset, size] of a section in the file");
    }
    return {reinterpret_cast<const char*>(mapped_->data()) + first_section_ + range[0],
            static_cast<size_t>(range[1])};
  }

  std::string Bytes(JsonSection* section, const std::string& field) const {
    return std::string(View(section, field));
  }

  // Without its values.
  static Tensor ReadShape(JsonSection* section) {
    try {
      return {DataType::kFloat32, section->Integers("shape", 0, kMaxNumber), nullptr};
    } catch (const std::invalid_argument&) {  // too large
      section->Fail("shape", "that of a tensor");
    }
  }

  Tensor ReadTensor(JsonSection* section) const {
    Tensor tensor = ReadShape(section);
    if (section->IsNull("values")) return tensor;
    const std::string_view values = View(section, "values");
    if (static_cast<size_t>(tensor.num_bytes()) != values.size()) {
      section->Fail("shape", "that of the values");
    }
    return {tensor.type(), tensor.shape(), std::shared_ptr<const void>(mapped_, values.data())};
  }

  kernels::StoredMatrix ReadMatrix(JsonSection* section) const {
    const std::vector<int64_t> shape = section->Integers("shape", 1, int64_t{1} << 31);
    if (shape.size() != 2) section->Fail("shape", "[output_dim, input_dim]");
    kernels::WeightFormat format = kernels::WeightFormat::kValues;
    if (section->Has("format")) {
      format = section->Choice("format", std::map<std::string, kernels::WeightFormat>{
                                             {kFourBits, kernels::WeightFormat::kFourBits}});
    }
    return {{shape[1], shape[0]},         format, View(section, "values"), View(section, "scales"),
            View(section, "column_sums"), mapped_};
  }

  std::string path_;
  std::shared_ptr<const MappedBytes> mapped_;
  Header header_ = {};
  uint64_t first_section_ = 0;
};

}  // namespace

const char* PrecisionName(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return "float32";
    case Precision::kBfloat16:
      return "bfloat16";
    case Precision::kInt8:
      return "int8";
    case Precision::kInt4:
      return "int4";
    case Precision::kFloat64:
      return "float64";
    case Precision::kDefault:
      return "default";
  }
  throw std::logic_error("a precision without a name");
}

bool IsPackedFile(const std::string& path) {
  std::ifstream file(std::filesystem::u8path(path), std::ios::binary);
  char magic[kMagic.size()] = {};
  file.read(magic, sizeof(magic));
  return file && std::string_view(magic, sizeof(magic)) == kMagic;
}

PackedFile ReadPackedFile(const std::string& path) { return PackedFileReader(path).Read(); }

uint64_t WritePackedFile(const PackedFile& file, const std::string& path) {
  SectionWriter sections;
  nlohmann::ordered_json index;
  index["kind"] = Kind();
  index["precision"] = PrecisionName(file.precision);
  index["digest"] = file.digest;
  if (!file.archive.note.empty()) index["note"] = file.archive.note;
  index["config"] = sections.Add(file.archive.config_json);
  index["units"] = sections.Add(file.archive.units_text);
  index["tensors"] = nlohmann::ordered_json::array();
  std::vector<Tensor> kept;
  for (const auto& [name, tensor] : file.archive.tensors) {
    nlohmann::ordered_json entry = {{"name", name}, {"shape", tensor.shape()}};
    if (tensor.has_values()) {
      kept.push_back(ToFloat32(name, tensor));
      entry["values"] = sections.Add({static_cast<const char*>(kept.back().data()),
                                      static_cast<size_t>(kept.back().num_bytes())});
    } else {
      entry["values"] = nullptr;
    }
    index["tensors"].push_back(std::move(entry));
  }
  index["matrices"] = nlohmann::ordered_json::array();
  for (const auto& [name, matrix] : file.matrices) {
    nlohmann::ordered_json entry = {{"name", name},
                                    {"shape", {matrix.shape.output_dim, matrix.shape.input_dim}}};
    if (matrix.format == kernels::WeightFormat::kFourBits) entry["format"] = kFourBits;
    entry["values"] = sections.Add(matrix.values);
    entry["scales"] = sections.Add(matrix.scales);
    entry["column_sums"] = sections.Add(matrix.column_sums);
    index["matrices"].push_back(std::move(entry));
  }
  const std::string text = index.dump();
  const uint64_t first_section = Aligned(sizeof(Header) + text.size());
  Header header = {};
  std::memcpy(header.magic, kMagic.data(), sizeof(header.magic));
  header.size = first_section + sections.size();
  header.index_size = text.size();
  const std::string padding(first_section - sizeof(Header) - text.size(), '\0');
  std::vector<std::string_view> parts = {
      {reinterpret_cast<const char*>(&header), sizeof(header)}, text, padding};
  parts.insert(parts.end(), sections.sections().begin(), sections.sections().end());
  std::vector<std::string_view> checked = parts;
  checked[0].remove_prefix(kCheckedBegin);
  header.checksum = ChecksumOf(checked);
  SaveFile(path, parts);
  return header.size;
}

}  // namespace runnel
