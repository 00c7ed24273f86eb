// Sinusoids of the absolute frame added to the input of layer 0 (Vaswani et al. 2017, section 3.5).
// Attention itself has no positions. The 64-bit frame number continues from chunk to chunk.
#include "encoder/position/schemes.h"
#include "encoder/position/sinusoids.h"

namespace runnel {

PositionModules BuildScheme(const AbsolutePosition& /*config*/, const SchemeSource& source) {
  PositionModules modules;
  modules.layers.resize(source.names.size(), ContentOnly(source.sizes));
  modules.input.emplace(source.sizes.model_dim);
  return modules;
}

namespace {

template <class T>
void AddValues(const double* from, int64_t count, T* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += static_cast<T>(from[i]);
}

class InputPositions final : public InputPositionModule {
 public:
  explicit InputPositions(const Sinusoids& sinusoids) : sinusoids_(sinusoids) {}

  void AddTo(int64_t first_frame, Rows x) const override {
    const Matrix positions = sinusoids_.Rows(first_frame, first_frame + x.count - 1);
    const double* values = positions.rows().float64();
    if (x.type == DataType::kFloat64) {
      AddValues(values, x.count * x.dim, x.float64());
    } else {
      AddValues(values, x.count * x.dim, x.float32());
    }
  }

 private:
  Sinusoids sinusoids_;
};

}  // namespace

std::unique_ptr<const InputPositionModule> MakeInputPositions(const PositionModules& modules) {
  if (!modules.input) return nullptr;
  return std::make_unique<InputPositions>(*modules.input);
}

}  // namespace runnel
