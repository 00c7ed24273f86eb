#include <frontend/audio_source.h>
#include <runtime/model.h>
#include <runtime/stream.h>

#include <iostream>
#include <stdexcept>
#include <vector>

int main(int argc, char** argv) try {
  if (argc != 3) throw std::runtime_error("usage: transcribe MODEL AUDIO");
  const auto model = runnel::Model::Load(argv[1]);  // load once, share between threads
  runnel::AudioSource audio(argv[2], model->sample_rate_hz());
  runnel::Stream stream(model);     // one per audio stream; a copy is an independent stream
  std::vector<float> packet(1600);  // 100 ms; packets of any size give the same text
  while (const size_t n = audio.Read(packet.data(), packet.size())) {
    stream.AcceptSamples(packet.data(), n);
    stream.Decode();
    std::cout << "so far: " << stream.Text() << "\n";
  }
  stream.Finish();
  stream.Decode();
  std::cout << stream.Text() << "\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
