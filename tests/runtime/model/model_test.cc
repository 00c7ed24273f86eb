// Loading a model: the tiny archive unchanged, and with one error at a time.
#include "runtime/model.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "encoder/model_file/model_archive.h"
#include "encoder/model_file/tensor.h"
#include "encoder/rows.h"
#include "frontend/features/frame_extractor.h"
#include "runtime/model/model_parts.h"
#include "tests/support/archive_files.h"
#include "tests/support/arithmetic.h"
#include "tests/support/error_message.h"
#include "tests/support/matrices.h"
#include "tests/support/playback.h"
#include "tests/support/relative_error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using testing::TinyModelPath;

static_assert(!std::is_copy_constructible_v<Model>, "a model is shared, not copied");

// The tiny model's parts, to be changed and written again.
class ModelTest : public ::testing::Test {
 protected:
  void SetUp() override { archive_ = ReadModelArchive(TinyModelPath()); }

  std::string Write(const ModelArchive& archive) const {
    const std::string path = folder_.File("model.pt");
    testing::WriteArchive(
        path, archive.tensors,
        {{"runnel.json", archive.config_json}, {"units.txt", archive.units_text}});
    return path;
  }

  // The message of Load for the tiny model after `change`, without the path that it must start
  // with.
  std::string ErrorAfter(const std::function<void(ModelArchive*)>& change) const {
    ModelArchive changed = archive_;
    change(&changed);
    const std::string path = Write(changed);
    const std::string message = ErrorMessage<std::runtime_error>([&] { Model::Load(path); });
    EXPECT_EQ(message.substr(0, path.size() + 2), path + ": ");
    return message.size() < path.size() + 2 ? message : message.substr(path.size() + 2);
  }

  // Replaces text in runnel.json; it must be there.
  static void EditConfig(ModelArchive* archive, const std::string& from, const std::string& to) {
    const size_t at = archive->config_json.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    archive->config_json.replace(at, from.size(), to);
  }

  const testing::TemporaryFolder folder_;
  ModelArchive archive_;
};

TEST_F(ModelTest, LoadsTheTinyModel) {
  const std::shared_ptr<const Model> model = Model::Load(TinyModelPath());
  EXPECT_EQ(model->name(), "tiny");
  EXPECT_EQ(model->sample_rate_hz(), 16000);
  EXPECT_EQ(model->encoder_frame_ms(), 40.0);
  EXPECT_EQ(model->tokens().size(), 7);
  EXPECT_EQ(model->tokens().name(6), "\u00e9");
  EXPECT_EQ(model->tokens().Text({1, 2, 3, 1, 6}), "ab \u00e9");
  EXPECT_EQ(model->parts().frame_extractor->dim(), 20);
  EXPECT_EQ(model->streaming().chunk_size, 4);
  EXPECT_EQ(model->streaming().left_context, 8);
  EXPECT_EQ(model->parts().encoder.config().num_layers, 2);
}

TEST_F(ModelTest, SubstitutesRecommendChunks) {
  EditConfig(&archive_, "\"causal\"", "\"symmetric\"");
  EditConfig(&archive_, "\"chunk_size\": 4", "\"chunk_size\": -1");
  EditConfig(&archive_, "\"left_context\": 8", "\"left_context\": -1");
  EditConfig(&archive_, "\"only\": null", "\"only\": [{\"chunk_size\": -1, \"left_context\": -1}]");
  const std::string path = Write(archive_);
  const StreamingConfig whole = Model::Load(path)->streaming();
  EXPECT_EQ(whole.chunk_size, -1);
  EXPECT_EQ(whole.only.size(), 1U);
  ModelOptions options;
  options.dynamic_chunk_convolution = true;
  const StreamingConfig streaming = Model::Load(path, options)->streaming();
  EXPECT_EQ(streaming.chunk_size, 32);
  EXPECT_EQ(streaming.left_context, 128);
  EXPECT_TRUE(streaming.only.empty());
}

TEST_F(ModelTest, SubstitutesWithoutEffectAreRefused) {
  EditConfig(&archive_, "\"causal\"", "\"symmetric\"");
  EditConfig(&archive_, "\"chunk_size\": 4", "\"chunk_size\": -1");
  EditConfig(&archive_, "\"left_context\": 8", "\"left_context\": -1");
  ModelArchive normalizing = archive_;
  EditConfig(&normalizing, R"("type": "global_cmvn")", R"("type": "utterance", "epsilon": 1e-5)");
  for (const char* part : {"mean", "istd"}) {
    normalizing.tensors.erase(std::string("encoder.global_cmvn.") + part);
  }
  ModelOptions options;
  options.dynamic_chunk_convolution = true;
  const std::string half = Write(normalizing);
  EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { Model::Load(half, options); }),
            half +
                ": dynamic chunk convolution was asked for, but the model still needs the whole "
                "utterance: its features are normalised over the whole utterance (normalization "
                "utterance; running, when chosen, uses the frames received so far); expected a "
                "model that can stream with it");
  options.running_normalization = true;
  EXPECT_EQ(Model::Load(half, options)->streaming().chunk_size, 32);
  EditConfig(&archive_, "\"chunk_rpe\"", "\"legacy_rel_pos\"");
  EditConfig(&archive_, R"("table_order": "descending")", R"("table_length": 5000)");
  options.running_normalization = false;
  const std::string legacy = Write(archive_);
  EXPECT_TRUE(
      Contains(ErrorMessage<std::invalid_argument>([&] { Model::Load(legacy, options); }),
               "dynamic chunk convolution was asked for, but the model still needs the whole "
               "utterance: its position scheme counts from the end of the utterance"));
  EXPECT_EQ(Model::Load(legacy)->streaming().chunk_size, -1);
}

// The recorded features of the tiny model.
Matrix Features() {
  return testing::Converted(testing::TinyGoldens().at("features"), DataType::kFloat32);
}

TEST_F(ModelTest, ComputesInTheChosenPrecision) {
  std::map<Precision, DataType> precisions = {{Precision::kFloat32, DataType::kFloat32}};
  if (testing::kHasLibTorch) precisions[Precision::kFloat64] = DataType::kFloat64;
  for (const auto& [precision, type] : precisions) {
    ModelOptions options;
    options.precision = precision;
    const std::shared_ptr<const Model> model = Model::Load(TinyModelPath(), options);
    EXPECT_EQ(model->parts().encoder.data_type(), type);
    const Matrix rows = testing::ForwardUnderMask(model->parts().encoder, Features(), 4, 8);
    EXPECT_LE(testing::RelativeError(model->parts().RequireCtcHead().LogProbs(rows.rows()),
                                     testing::TinyGoldens().at("log_probs_c4_m8")),
              testing::FormulaTolerance(type));
  }
}

TEST_F(ModelTest, AnArchiveWithoutCodeIsTheSameModel) {
  const std::shared_ptr<const Model> model = Model::Load(Write(archive_));
  EXPECT_TRUE(testing::EqualBits(
      testing::ForwardUnderMask(model->parts().encoder, Features(), 3, 5),
      testing::ForwardUnderMask(Model::Load(TinyModelPath())->parts().encoder, Features(), 3, 5)));
}

TEST_F(ModelTest, OutlivesItsFile) {
  const std::shared_ptr<const Model> model = Model::Load(Write(archive_));
  ErrorAfter([](ModelArchive* archive) { archive->tensors.erase("ctc.ctc_lo.bias"); });
  EXPECT_NO_THROW(testing::ForwardUnderMask(model->parts().encoder, Features(), 3, 5));
}

TEST_F(ModelTest, NoFile) {
  const std::string path = folder_.File("none.pt");
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { Model::Load(path); }),
            path + ": no such file, expected a model file that runnel convert wrote");
}

TEST_F(ModelTest, EveryTensorIsRequired) {
  for (const auto& [name, tensor] : archive_.tensors) {
    EXPECT_TRUE(
        Contains(ErrorAfter([&, n = name](ModelArchive* archive) { archive->tensors.erase(n); }),
                 "tensor " + name + " is missing, expected shape ("));
  }
}

TEST_F(ModelTest, EveryShapeIsChecked) {
  for (const auto& [name, tensor] : archive_.tensors) {
    Shape longer = tensor.shape();
    longer.insert(longer.begin(), 1);
    for (const Tensor& other :
         {tensor.Reshaped(longer), Concatenated({tensor, tensor}, tensor.dim() - 1)}) {
      EXPECT_TRUE(Contains(
          ErrorAfter([&, n = name](ModelArchive* archive) { archive->tensors[n] = other; }),
          "tensor " + name + " has shape ("));
    }
  }
}

TEST_F(ModelTest, EveryTypeIsChecked) {
  for (const auto& [name, tensor] : archive_.tensors) {
    const Tensor other(tensor.shape(), Float64Values(tensor));
    EXPECT_EQ(ErrorAfter([&, n = name](ModelArchive* archive) { archive->tensors[n] = other; }),
              "tensor " + name + " is of type float64, expected float32, float16 or bfloat16");
  }
}

TEST_F(ModelTest, EveryValueMustBeFinite) {
  for (const auto& [name, tensor] : archive_.tensors) {
    std::vector<float> values = Float32Values(tensor);
    values.back() = std::numeric_limits<float>::quiet_NaN();
    const Tensor other(tensor.shape(), std::move(values));
    EXPECT_EQ(ErrorAfter([&, n = name](ModelArchive* archive) { archive->tensors[n] = other; }),
              "tensor " + name + " holds NaN or infinity, expected finite values");
  }
}

TEST_F(ModelTest, ExtraTensors) {
  EXPECT_EQ(ErrorAfter([](ModelArchive* archive) {
              const Tensor extra({2}, std::vector<float>{1, 1});
              archive->tensors["encoder.embed.extra"] = extra;
              archive->tensors["decoder.weight"] = extra;
            }),
            "tensors that the configuration does not call for: decoder.weight, "
            "encoder.embed.extra");
}

TEST_F(ModelTest, ConfigurationOfAnotherModel) {
  EXPECT_TRUE(Contains(ErrorAfter([](ModelArchive* archive) {
                         EditConfig(archive, "\"num_layers\": 2", "\"num_layers\": 1");
                       }),
                       "tensors that the configuration does not call for: encoder.encoders.1."));
  EXPECT_TRUE(Contains(ErrorAfter([](ModelArchive* archive) {
                         EditConfig(archive, "\"num_layers\": 2", "\"num_layers\": 3");
                       }),
                       "tensor encoder.encoders.2."));
  EXPECT_TRUE(Contains(ErrorAfter([](ModelArchive* archive) {
                         EditConfig(archive, "\"kernel_size\": 5", "\"kernel_size\": 6");
                       }),
                       "depthwise_conv.weight has shape (16, 1, 5), expected (16, 1, 6)"));
  EXPECT_TRUE(Contains(ErrorAfter([](ModelArchive* archive) {
                         EditConfig(archive, "\"num_heads\": 2", "\"num_heads\": 4");
                       }),
                       "pos_bias_u has shape (2, 8), expected (4, 4)"));
  EXPECT_EQ(
      ErrorAfter([](ModelArchive* archive) { EditConfig(archive, "\"global_cmvn\"", "\"none\""); }),
      "tensors that the configuration does not call for: encoder.global_cmvn.istd, "
      "encoder.global_cmvn.mean");
}

TEST_F(ModelTest, WrongConfiguration) {
  EXPECT_TRUE(Contains(ErrorAfter([](ModelArchive* archive) { archive->config_json.resize(100); }),
                       "valid JSON"));
  EXPECT_TRUE(Contains(ErrorAfter([](ModelArchive* archive) {
                         EditConfig(archive, "\"format_version\": 2", "\"format_version\": 6");
                       }),
                       "format_version is 6, expected 2 to 5"));
  EXPECT_TRUE(Contains(ErrorAfter([](ModelArchive* archive) {
                         EditConfig(archive, "\"num_mel_bins\": 20", "\"num_mel_bins\": 21");
                       }),
                       "encoder.input_dim is 20, expected 21"));
}

TEST_F(ModelTest, WrongUnits) {
  const auto with_units = [&](const std::string& units) {
    return ErrorAfter([&](ModelArchive* archive) { archive->units_text = units; });
  };
  EXPECT_TRUE(Contains(with_units("<blank> 0\na 1\n"), "lines, expected the 7 tokens"));
  EXPECT_TRUE(Contains(with_units(archive_.units_text + "f 7\n"), "lines, expected the 7 tokens"));
  EXPECT_TRUE(Contains(with_units("<blank> 0\na 1\nb 2\nc 3\nd 4\ne 5\nf 5\n"),
                       "units.txt: line 7: expected every id once"));
  EXPECT_TRUE(Contains(with_units("<blank> 0\na 1\nb 2\nc 3\nd 4\ne 5\na 6\n"),
                       "units.txt: line 7: expected every token once"));
  EXPECT_TRUE(Contains(with_units("<blank> 0\na 1\nb 2\nc 3\nd 4\ne 5\n\xff 6\n"),
                       "units.txt: line 7: expected UTF-8"));
  EXPECT_TRUE(Contains(with_units("\n"), "lines, expected the 7 tokens"));
}

}  // namespace
}  // namespace runnel
