#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "tools/benchmark/durations.h"
#include "tools/benchmark/product_timer.h"

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

// Bytes that make small positive numbers of every type used here, none of them denormal.
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

// A primitive with its arguments.
struct Operation {
  ProductPart part;
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
};

template <typename PrimitiveDesc>
Operation MakeOperation(ProductPart part, const PrimitiveDesc& desc) {
  return {part,
          dnnl::primitive(desc),
          {{DNNL_ARG_SRC, Filled(desc.src_desc())},
           {DNNL_ARG_WEIGHTS, Filled(desc.weights_desc())},
           {DNNL_ARG_DST, Filled(desc.dst_desc())}}};
}

Operation MakeMatmul(const Product& product, const Types& types) {
  using Tag = memory::format_tag;
  const dnnl::matmul::desc desc(
      memory::desc({product.rows, product.inputs}, types.input, Tag::ab),
      memory::desc({product.inputs, product.outputs}, types.weight, Tag::any),
      memory::desc({product.rows, product.outputs}, types.output, Tag::ab));
  return MakeOperation(product.part, dnnl::matmul::primitive_desc(desc, Cpu()));
}

// Whatever is padded counts as input.
Operation MakeConvolution(const Product& product, const Types& types) {
  using Tag = memory::format_tag;
  const auto inputs = [&](int64_t outputs) {
    return (outputs - 1) * product.stride + product.kernel_size;
  };
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      memory::desc({product.rows, product.inputs, inputs(product.height), inputs(product.width)},
                   types.input, Tag::nhwc),
      memory::desc({product.outputs, product.inputs, product.kernel_size, product.kernel_size},
                   types.weight, Tag::any),
      memory::desc({product.rows, product.outputs, product.height, product.width}, types.output,
                   Tag::nhwc),
      {product.stride, product.stride}, {0, 0}, {0, 0});
  return MakeOperation(product.part, dnnl::convolution_forward::primitive_desc(desc, Cpu()));
}

class OneDnnProductTimer : public ProductTimer {
 public:
  // Throws dnnl::error for what the CPU lacks.
  OneDnnProductTimer(const Types& types, const std::vector<Product>& products) : stream_(Cpu()) {
    for (const Product& product : products) {
      operations_.push_back(product.kernel_size > 1 ? MakeConvolution(product, types)
                                                    : MakeMatmul(product, types));
    }
  }

  std::array<double, kNumProductParts> Run() override {
    std::array<double, kNumProductParts> milliseconds = {};
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

std::unique_ptr<ProductTimer> ProductTimer::Make(const std::string& precision,
                                                 const std::vector<Product>& products) {
  const std::optional<Types> types = TypesOf(precision);
  if (!types) return nullptr;
  try {
    return std::make_unique<OneDnnProductTimer>(*types, products);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

std::optional<double> PeakGigaOperations(const std::string& precision, double seconds) {
  constexpr std::array<std::array<int64_t, 3>, 5> kShapes = {
      {{64, 2048, 256}, {256, 512, 512}, {256, 2048, 256}, {512, 1024, 512}, {512, 256, 1024}}};
  std::optional<double> peak;
  for (const auto& [rows, inputs, outputs] : kShapes) {
    const auto timer = ProductTimer::Make(precision, {{kCtcProducts, rows, inputs, outputs}});
    if (!timer) return std::nullopt;
    timer->Run();
    std::vector<double> milliseconds;
    double spent_ms = 0;
    do {
      milliseconds.push_back(timer->Run()[kCtcProducts]);
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
