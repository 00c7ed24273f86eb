// Recognises recordings concurrently, each in its own thread, like the connections of a server.
// Halfway each stream is snapshotted, discarded and restored: live MODEL AUDIO...
#include <frontend/audio_source.h>
#include <runtime/live_stream.h>
#include <runtime/model.h>
#include <runtime/recognizer.h>

#include <cstddef>
#include <exception>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

std::mutex console_mutex;

void Print(const std::string& line) {
  const std::lock_guard<std::mutex> lock(console_mutex);
  std::cout << line << std::endl;
}

// One connection: its stable text, and a promise that the final update fulfils.
class Connection {
 public:
  explicit Connection(std::string name) : name_(std::move(name)) {}

  // Called by a worker of the recognizer, one at a time; must not throw.
  void Show(const runnel::LiveUpdate& update) noexcept {
    stable_text_.resize(update.stable_size_before);  // 0 after a restore: all text is repeated
    stable_text_ += update.stable_text;
    if (!update.is_final) {
      Print(name_ + " partial: " + stable_text_ + update.tentative_text);
    } else if (update.error.empty()) {
      final_text_.set_value(update.utterances.back().nbest.front().text);
    } else {
      final_text_.set_exception(std::make_exception_ptr(std::runtime_error(update.error)));
    }
  }

  std::future<std::string> FinalText() { return final_text_.get_future(); }

 private:
  const std::string name_;
  std::string stable_text_;
  std::promise<std::string> final_text_;
};

// Offers the samples until all are taken; false if the stream is over first.
bool Send(runnel::LiveStream* stream, const float* samples, size_t count) {
  while (true) {
    const size_t taken = stream->AcceptSamples(samples, count);
    samples += taken;
    count -= taken;
    if (count == 0) return true;
    if (stream->is_over()) return false;
    // The stream is full: a server would stop reading the socket and continue in the callback.
    const auto room = std::make_shared<std::promise<void>>();
    stream->NotifyRoom([room] { room->set_value(); });
    room->get_future().wait();
  }
}

std::vector<float> ReadAll(const std::string& path, int sample_rate_hz) {
  runnel::AudioSource audio(path, sample_rate_hz);
  std::vector<float> samples;
  std::vector<float> packet(16000);
  while (const size_t n = audio.Read(packet.data(), packet.size())) {
    samples.insert(samples.end(), packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(n));
  }
  return samples;
}

void Recognise(runnel::Recognizer* recognizer, const std::string& path) {
  const std::vector<float> samples = ReadAll(path, recognizer->model()->sample_rate_hz());
  const auto connection = std::make_shared<Connection>(path);
  // Owns what it uses, so the last callback may come at any time.
  const auto on_update = [connection](runnel::LiveStream&, const runnel::LiveUpdate& update) {
    connection->Show(update);
  };
  std::shared_ptr<runnel::LiveStream> stream = recognizer->Open({}, on_update);
  Send(stream.get(), samples.data(), samples.size() / 2);
  const std::string snapshot = stream->Snapshot();  // bytes: for a file, Redis, another process
  stream->Cancel();                                 // the connection is lost; no callback runs now
  stream = recognizer->Restore(snapshot, on_update);
  const auto received = static_cast<size_t>(stream->num_samples());  // continue from here
  Send(stream.get(), samples.data() + received, samples.size() - received);
  stream->Finish();
  Print(path + " " + connection->FinalText().get());
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) throw std::runtime_error("usage: live MODEL AUDIO...");
  runnel::RecognizerOptions options;
  options.num_threads = 2;
  runnel::Recognizer recognizer(runnel::Model::Load(argv[1]), options);

  std::vector<std::future<void>> connections;
  for (int i = 2; i < argc; ++i) {
    const std::string path = argv[i];
    connections.push_back(
        std::async(std::launch::async, [&recognizer, path] { Recognise(&recognizer, path); }));
  }
  for (std::future<void>& connection : connections) connection.get();

  const runnel::RecognizerStatus status = recognizer.status();
  std::cerr << "live: " << status.audio_s << " s of audio in " << status.num_chunks << " chunks in "
            << status.num_batches << " batches, chunk latency p95 " << status.chunk_ms_p95
            << " ms\n";
} catch (const std::exception& error) {
  std::cerr << "live: " << error.what() << "\n";
  return 1;
}
