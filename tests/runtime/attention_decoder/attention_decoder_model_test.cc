// Model files with an attention decoder: the tiny model with one of random weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "encoder/model_file/model_archive.h"
#include "encoder/model_file/tensor.h"
#include "runtime/attention_decoder/attention_decoder.h"
#include "runtime/attention_decoder/attention_decoder_config.h"
#include "runtime/attention_decoder/attention_decoder_weights.h"
#include "runtime/model.h"
#include "runtime/model/model_parts.h"
#include "tests/support/archive_files.h"
#include "tests/support/arithmetic.h"
#include "tests/support/error_message.h"
#include "tests/support/random_encoder.h"
#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ErrorMessage;

constexpr int64_t kModelDim = 16;  // of the tiny model

class AttentionDecoderModelTest : public ::testing::Test {
 protected:
  AttentionDecoderModelTest()
      : archive_(ReadModelArchive(testing::TinyModelPath())),
        config_(json::parse(archive_.config_json)) {
    config_["format_version"] = 3;
    config_["transducer"] = nullptr;
    config_["prompt"] = nullptr;
    config_["attention_decoder"] = json::parse(
        R"({"vocab_size": 7, "num_heads": 2, "feed_forward_dim": 12, "left_layers": 2,
            "right_layers": 1, "norm_first": true, "activation": "relu", "layer_norm_eps": 1e-5,
            "sos_id": 6, "eos_id": 6})");
    AttentionDecoderConfig config;
    config.vocab_size = 7;
    config.feed_forward_dim = 12;
    testing::RandomWeightSource source(DataType::kFloat32, 3);
    BindTransformerDecoder(config, "left", 2, kModelDim, &source);
    BindTransformerDecoder(config, "right", 1, kModelDim, &source);
    for (const auto& [name, tensor] : source.taken()) archive_.tensors[name] = tensor;
  }

  std::string Write() const {
    const std::string path = folder_.File("model.pt");
    testing::WriteArchive(path, archive_.tensors,
                          {{"runnel.json", config_.dump()}, {"units.txt", archive_.units_text}});
    return path;
  }

  // Of Load, without the path that it must start with.
  std::string LoadError() const {
    const std::string path = Write();
    const std::string message = ErrorMessage<std::runtime_error>([&] { Model::Load(path); });
    EXPECT_TRUE(Contains(message, path + ": "));
    return message.substr(std::min(message.size(), path.size() + 2));
  }

  const testing::TemporaryFolder folder_;
  ModelArchive archive_;
  json config_;
};

TEST_F(AttentionDecoderModelTest, IsLoadedWithTheModel) {
  std::vector<Precision> precisions = {Precision::kFloat32};
  if (testing::kHasLibTorch) precisions.push_back(Precision::kFloat64);
  for (const Precision precision : precisions) {
    ModelOptions options;
    options.precision = precision;
    const std::shared_ptr<const Model> model = Model::Load(Write(), options);
    ASSERT_NE(model->parts().attention_decoder, nullptr);
    Matrix rows(model->parts().encoder.data_type(), kModelDim, 2);
    std::memset(rows.rows().data, 0, static_cast<size_t>(rows.num_bytes()));
    const auto scores =
        model->parts().attention_decoder->Score({{rows.rows(), {{1, 2, 3}}, 0.5}}).front().front();
    EXPECT_LT(scores.left, 0);
    EXPECT_LT(scores.right, 0);
    EXPECT_NE(scores.left, scores.right);
  }
}

TEST_F(AttentionDecoderModelTest, NullMeansNone) {
  config_["attention_decoder"] = nullptr;
  EXPECT_TRUE(Contains(LoadError(),
                       "tensors that the configuration does not call for: "
                       "attention_decoder.left.after_norm.bias"));
  archive_.tensors = ReadModelArchive(testing::TinyModelPath()).tensors;
  EXPECT_EQ(Model::Load(Write())->parts().attention_decoder, nullptr);
}

TEST_F(AttentionDecoderModelTest, Version2IgnoresItsTensors) {
  config_["format_version"] = 2;
  for (const char* field : {"transducer", "attention_decoder", "prompt"}) config_.erase(field);
  EXPECT_EQ(Model::Load(Write())->parts().attention_decoder, nullptr);
}

TEST_F(AttentionDecoderModelTest, TheSectionMustFitTheModel) {
  json& section = config_["attention_decoder"];
  section["num_heads"] = 3;
  EXPECT_EQ(LoadError(),
            "attention_decoder.num_heads is 3, expected a divisor of the encoder's model_dim 16");
  section["num_heads"] = 2;
  section["vocab_size"] = 8;
  EXPECT_EQ(LoadError(), "attention_decoder.vocab_size is 8, expected 7, that of the other heads");
  section["vocab_size"] = 7;
  section["left_layers"] = 3;
  EXPECT_TRUE(Contains(LoadError(), "tensor attention_decoder.left.layers.2."));
  section["left_layers"] = 2;
  section["right_layers"] = 0;
  EXPECT_TRUE(Contains(LoadError(),
                       "tensors that the configuration does not call for: "
                       "attention_decoder.right."));
  section["right_layers"] = 1;
  section["feed_forward_dim"] = 13;
  EXPECT_EQ(LoadError(),
            "tensor attention_decoder.left.layers.0.feed_forward.w_1.weight has shape (12, 16), "
            "expected (13, 16)");
  config_.erase("attention_decoder");
  EXPECT_EQ(LoadError(), "attention_decoder is missing");
}

TEST_F(AttentionDecoderModelTest, EveryTensorIsRequired) {
  const std::map<std::string, Tensor> tensors = archive_.tensors;
  for (const auto& [name, tensor] : tensors) {
    if (name.rfind("attention_decoder.", 0) != 0) continue;
    archive_.tensors = tensors;
    archive_.tensors.erase(name);
    EXPECT_TRUE(Contains(LoadError(), "tensor " + name + " is missing, expected shape ("));
  }
}

}  // namespace
}  // namespace runnel
