// Compiles ARPA text to an image.
#ifndef RUNNEL_RUNTIME_NGRAM_ARPA_COMPILER_H_
#define RUNNEL_RUNTIME_NGRAM_ARPA_COMPILER_H_

#include <functional>

#include "runtime/files/mapped_bytes.h"
#include "runtime/ngram/line_reader.h"
#include "runtime/ngram/nemo_words.h"

namespace runnel {

// The image depends on the n-grams and their numbers, not on their order in the text. `progress`,
// if any, is called now and then. `nemo_words`, if not null, decodes the words. Throws
// std::runtime_error "source:line: what is wrong".
MappedBytes CompileArpa(LineReader* lines, const std::function<void(double fraction)>& progress,
                        const NemoWords* nemo_words = nullptr);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_NGRAM_ARPA_COMPILER_H_
