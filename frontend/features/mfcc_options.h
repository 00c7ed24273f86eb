// Options of the mel-frequency cepstral coefficients, with the names that Kaldi gives them.
#ifndef RUNNEL_FRONTEND_FEATURES_MFCC_OPTIONS_H_
#define RUNNEL_FRONTEND_FEATURES_MFCC_OPTIONS_H_

#include "frontend/features/fbank_options.h"

namespace runnel {

// The options of the filters, and two of the cosine transform of their logarithms. The defaults are
// those of Kaldi's compute-mfcc-feats, except that `dither`, `energy_floor` and `use_energy` have
// the defaults of FbankOptions.
struct MfccOptions : FbankOptions {
  // Number of coefficients, 1 to num_mel_bins. With `use_energy`, the log energy of the window
  // takes the place of coefficient 0.
  int num_ceps = 13;

  // Q: coefficient i is multiplied by 1 + Q / 2 sin(pi i / Q). 0: by 1. At most 1e6.
  float cepstral_lifter = 22.0F;

  // As FbankOptions::Validate. `use_log_fbank` must be true and `htk_compat` false.
  void Validate() const;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURES_MFCC_OPTIONS_H_
