#include "runtime/language_model.h"

#include <stdexcept>
#include <utility>

#include "runtime/files/file.h"
#include "runtime/files/mapped_bytes.h"
#include "runtime/ngram/arpa_compiler.h"
#include "runtime/ngram/image_check.h"
#include "runtime/ngram/image_format.h"
#include "runtime/ngram/line_reader.h"
#include "runtime/ngram/nemo_words.h"
#include "runtime/ngram/ngram_model.h"

namespace runnel {
namespace {

LineReader LinesOf(const File& file, const std::string& path) {
  return {[&file](char* buffer, size_t count) { return file.Read(buffer, count); }, file.size(),
          path};
}

MappedBytes ReadImage(const std::string& path, const LanguageModel::Progress& progress) {
  const File file(path);
  LineReader lines = LinesOf(file, path);
  if (HasImageMagic(lines.Peek(kImageMagic.size()))) {
    if (file.is_pipe()) {
      throw std::runtime_error(path + ": is a compiled model in a pipe; expected a regular file");
    }
    return file.Map();
  }
  return CompileArpa(&lines, progress);
}

}  // namespace

std::shared_ptr<const LanguageModel> LanguageModel::Load(const std::string& path,
                                                         const Progress& progress) {
  return std::make_shared<const LanguageModel>(
      std::make_unique<const NgramModel>(ReadImage(path, progress), path));
}

std::shared_ptr<const LanguageModel> LanguageModel::LoadNemo(const std::string& path,
                                                             const TokenTable& tokens,
                                                             const Progress& progress) {
  const File file(path);
  LineReader lines = LinesOf(file, path);
  if (HasImageMagic(lines.Peek(kImageMagic.size()))) {
    throw std::runtime_error(path + ": is a compiled model; expected the ARPA text of NeMo");
  }
  const NemoWords nemo_words(tokens);
  return std::make_shared<const LanguageModel>(
      std::make_unique<const NgramModel>(CompileArpa(&lines, progress, &nemo_words), path));
}

LanguageModel::LanguageModel(std::unique_ptr<const NgramModel> ngrams)
    : ngrams_(std::move(ngrams)), fingerprint_(FingerprintOf(ngrams_->image().data())) {}

LanguageModel::~LanguageModel() = default;

void LanguageModel::Save(const std::string& path) const {
  const MappedBytes& image = ngrams_->image();
  SaveFile(path, {{reinterpret_cast<const char*>(image.data()), image.size()}});
}

int LanguageModel::order() const { return ngrams_->order(); }

int64_t LanguageModel::num_ngrams() const {
  int64_t total = 0;
  for (int length = 1; length <= order(); ++length) total += ngrams_->num_ngrams(length);
  return total;
}

int64_t LanguageModel::num_ngrams(int length) const { return ngrams_->num_ngrams(length); }

size_t LanguageModel::size() const { return ngrams_->image().size(); }

}  // namespace runnel
