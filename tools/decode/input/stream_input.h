// What a recording gives to its stream: audio, or features that were computed elsewhere.
#ifndef RUNNEL_TOOLS_DECODE_INPUT_STREAM_INPUT_H_
#define RUNNEL_TOOLS_DECODE_INPUT_STREAM_INPUT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/audio_reader.h"
#include "runtime/model.h"
#include "runtime/stream.h"

namespace runnel {

enum class InputKind { kAudio, kFeatures };

// Used by one thread at a time.
class StreamInput {
 public:
  virtual ~StreamInput() = default;

  // As AudioSource has it; features are a recording that is there at once.
  virtual bool EndsWithin(double seconds) = 0;

  // Gives the next block to the stream. After the last one it finishes the stream and returns
  // false. Throws std::runtime_error on bad data, naming the file, and what the stream throws.
  virtual bool Feed(Stream* stream) = 0;

  // Of audio read so far.
  virtual double seconds_read() const = 0;
  // As AudioSource has them.
  virtual std::optional<double> announced_s() const = 0;
  virtual std::vector<std::string> Warnings() const = 0;
};

// `options`: of audio. Throws std::runtime_error when the file
// cannot be read, or its features are not of the model's width.
std::unique_ptr<StreamInput> OpenStreamInput(InputKind kind, const std::string& path,
                                             const Model& model, const AudioReaderOptions& options);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_INPUT_STREAM_INPUT_H_
