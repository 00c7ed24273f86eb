#include "tools/verification/verify_model.h"

#include "runtime/model/reference_component.h"

namespace runnel {
namespace {

auto* Verify() {
  return ReferenceFunction<decltype(runnel_reference_verify)>("runnel_reference_verify",
                                                              "the verification");
}

}  // namespace

void RequireVerification() { Verify(); }

VerificationReport VerifyModel(const std::string& model_path, const ModelOptions& model_options,
                               const std::vector<float>& samples,
                               const VerificationOptions& options, const OnSetting& on_setting) {
  VerificationReport report;
  Verify()(model_path, model_options, samples, options, on_setting, &report);
  return report;
}

}  // namespace runnel
