// Which streams of the C interface share a prepared language model, and for how long.
#include "runtime/c_api/shared_scorers.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include "runtime/model.h"
#include "tests/support/temporary_folder.h"

namespace runnel::c_api {
namespace {

std::shared_ptr<const Model> LoadDigits() {
  return Model::Load(std::string(RUNNEL_SOURCE_DIR) + "/models/digits/digits.pt");
}

TEST(SharedScorersTest, EqualSettingsShareWhileOneIsInUse) {
  const testing::TemporaryFolder folder;
  // "o" is a word and a token of the model, so that both levels are possible.
  const std::string path = folder.File("letters.arpa");
  std::ofstream(path) << "\\data\\\nngram 1=1\n\n\\1-grams:\n-1 o\n\n\\end\\\n";
  LanguageModelOptions options;
  options.model = LanguageModel::Load(path);
  const std::weak_ptr<const LanguageModel> language_model = options.model;
  auto model = LoadDigits();
  SharedScorers scorers;

  auto first = scorers.Get(options, model);
  EXPECT_EQ(scorers.Get(options, model), first);
  EXPECT_NE(scorers.Get(options, LoadDigits()), first) << "another model";
  LanguageModelOptions others = options;
  others.weight = 0.25;
  EXPECT_NE(scorers.Get(others, model), first);
  others = options;
  others.bonus = 0;
  EXPECT_NE(scorers.Get(others, model), first);
  others = options;
  others.level = LanguageModelLevel::kToken;
  EXPECT_NE(scorers.Get(others, model), first);
  EXPECT_EQ(scorers.Get(options, model), first);
  others.weight = -1;
  EXPECT_THROW(scorers.Get(others, model), std::invalid_argument);

  const std::weak_ptr<const LanguageModelScorer> scorer = first;
  const std::weak_ptr<const Model> digits = model;
  first.reset();
  model.reset();
  options.model.reset();
  others.model.reset();
  EXPECT_TRUE(scorer.expired());
  EXPECT_TRUE(digits.expired());
  EXPECT_TRUE(language_model.expired());
}

}  // namespace
}  // namespace runnel::c_api
