#include "frontend/features/mfcc_options.h"

#include "frontend/features/option_checks.h"

namespace runnel {
namespace {

constexpr float kMaxLifter = 1e6F;
constexpr OptionChecks kChecks("MfccOptions");

}  // namespace

void MfccOptions::Validate() const {
  FbankOptions::Validate();
  kChecks.Range("num_ceps", num_ceps, 1, num_mel_bins);
  kChecks.Range("cepstral_lifter", cepstral_lifter, 0.0F, kMaxLifter);
  if (!use_log_fbank) kChecks.Fail("use_log_fbank", "false", "true");
  if (htk_compat) kChecks.Fail("htk_compat", "true", "false");
}

}  // namespace runnel
