#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "tools/benchmark/durations.h"
#include "tools/benchmark/matmul_timer.h"

namespace runnel {
namespace {

using dnnl::memory;

struct Types {
  memory::data_type input;
  memory::data_type weight;
  memory::data_type output;
};

std::optional<Types> TypesOf(const std::string& precision) {
  using Type = memory::data_type;
  if (precision == "float32") return Types{Type::f32, Type::f32, Type::f32};
  if (precision == "bfloat16") return Types{Type::bf16, Type::bf16, Type::f32};
  if (precision == "int8") return Types{Type::u8, Type::s8, Type::s32};
  return std::nullopt;
}

const dnnl::engine& Cpu() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

// Memory whose bytes are small positive values in every type used here, never denormal.
memory Filled(const memory::desc& desc) {
  memory filled(desc, Cpu());
  auto* bytes = static_cast<unsigned char*>(filled.get_data_handle());
  const size_t size = desc.get_size();
  uint32_t random = 1;
  for (size_t i = 0; i < size; ++i) {
    random = random * 1664525U + 1013904223U;
    bytes[i] = static_cast<unsigned char>(0x38 + (random >> 24) % 6);
  }
  return filled;
}

struct Operation {
  ModelPart part;
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
};

template <typename PrimitiveDesc>
Operation MakeOperation(ModelPart part, const PrimitiveDesc& desc) {
  return {part,
          dnnl::primitive(desc),
          {{DNNL_ARG_SRC, Filled(desc.src_desc())},
           {DNNL_ARG_WEIGHTS, Filled(desc.weights_desc())},
           {DNNL_ARG_DST, Filled(desc.dst_desc())}}};
}

Operation MakeMatmul(const Matmul& matmul, const Types& types) {
  using Tag = memory::format_tag;
  const dnnl::matmul::desc desc(
      memory::desc({matmul.rows, matmul.inputs}, types.input, Tag::ab),
      memory::desc({matmul.inputs, matmul.outputs}, types.weight, Tag::any),
      memory::desc({matmul.rows, matmul.outputs}, types.output, Tag::ab));
  return MakeOperation(matmul.part, dnnl::matmul::primitive_desc(desc, Cpu()));
}

// Padding counts as input.
Operation MakeConvolution(const Matmul& matmul, const Types& types) {
  using Tag = memory::format_tag;
  const auto inputs = [&](int64_t outputs) {
    return (outputs - 1) * matmul.stride + matmul.kernel_size;
  };
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      memory::desc({matmul.rows, matmul.inputs, inputs(matmul.height), inputs(matmul.width)},
                   types.input, Tag::nhwc),
      memory::desc({matmul.outputs, matmul.inputs, matmul.kernel_size, matmul.kernel_size},
                   types.weight, Tag::any),
      memory::desc({matmul.rows, matmul.outputs, matmul.height, matmul.width}, types.output,
                   Tag::nhwc),
      {matmul.stride, matmul.stride}, {0, 0}, {0, 0});
  return MakeOperation(matmul.part, dnnl::convolution_forward::primitive_desc(desc, Cpu()));
}

class OneDnnMatmulTimer : public MatmulTimer {
 public:
  // Throws dnnl::error for types that the CPU lacks.
  OneDnnMatmulTimer(const Types& types, const std::vector<Matmul>& matmuls) : stream_(Cpu()) {
    for (const Matmul& matmul : matmuls) {
      operations_.push_back(matmul.kernel_size > 1 ? MakeConvolution(matmul, types)
                                                   : MakeMatmul(matmul, types));
    }
  }

  std::array<double, kNumModelParts> Run() override {
    std::array<double, kNumModelParts> milliseconds = {};
    for (Operation& operation : operations_) {
      milliseconds[operation.part] += MillisecondsOf([&] {
        operation.primitive.execute(stream_, operation.arguments);
        stream_.wait();
      });
    }
    return milliseconds;
  }

 private:
  dnnl::stream stream_;
  std::vector<Operation> operations_;
};

}  // namespace

std::unique_ptr<MatmulTimer> MatmulTimer::Make(const std::string& precision,
                                               const std::vector<Matmul>& matmuls) {
  const std::optional<Types> types = TypesOf(precision);
  if (!types) return nullptr;
  try {
    return std::make_unique<OneDnnMatmulTimer>(*types, matmuls);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

std::optional<double> PeakGigaOperations(const std::string& precision, double seconds) {
  constexpr std::array<std::array<int64_t, 3>, 5> kShapes = {
      {{64, 2048, 256}, {256, 512, 512}, {256, 2048, 256}, {512, 1024, 512}, {512, 256, 1024}}};
  std::optional<double> peak;
  for (const auto& [rows, inputs, outputs] : kShapes) {
    const auto timer = MatmulTimer::Make(precision, {{kCtcPart, rows, inputs, outputs}});
    if (!timer) return std::nullopt;
    timer->Run();
    std::vector<double> milliseconds;
    double spent_ms = 0;
    do {
      milliseconds.push_back(timer->Run()[kCtcPart]);
      spent_ms += milliseconds.back();
    } while (spent_ms < seconds * 1000 / kShapes.size());
    const double operations = 2.0 * static_cast<double>(rows * inputs * outputs);
    peak = std::max(peak.value_or(0), operations / Summarize(milliseconds).median_ms * 1e-6);
  }
  return peak;
}

std::string OneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

}  // namespace runnel
