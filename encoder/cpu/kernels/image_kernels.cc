#include "encoder/cpu/kernels/image_kernels.h"

#include <algorithm>
#include <cstring>

#include "encoder/cpu/kernels/dispatch.h"
#include "encoder/cpu/kernels/step_threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "encoder/cpu/kernels/image_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// The next ones are compiled once per instruction set.
#include "encoder/cpu/kernels/row_kernels-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {

// Where an output reads: the input's frame and bin of the kernel's first corner.
struct Corner {
  int64_t frame;  // within the image
  int64_t bin;
};
HWY_INLINE Corner CornerOf(const Image& x, const ImageKernel& kernel, int64_t frame, int64_t bin) {
  return {frame * kernel.stride - kernel.padding - x.first_frame,
          bin * kernel.stride - kernel.padding};
}

// The kernel's taps whose input is there: [begin, end) along one axis.
struct Taps {
  int64_t begin;
  int64_t end;

  bool holds(int64_t tap) const { return tap >= begin && tap < end; }
  bool is_whole(int64_t kernel_size) const { return begin == 0 && end == kernel_size; }
};
HWY_INLINE Taps TapsWithin(int64_t corner, int64_t kernel_size, int64_t input_size) {
  const int64_t begin = corner < 0 ? -corner : 0;
  return {begin, std::max(begin, std::min(kernel_size, input_size - corner))};
}

constexpr int kFirstKernelSize = 3;
constexpr int kFirstKernelTaps = kFirstKernelSize * kFirstKernelSize;

// The inputs of an output stay in registers while its channels pass by. Taps without an input are
// left out, so that a sum has the same terms at an edge of an image and within a larger one.
template <class Function>
void ActivatedOneChannel(const Image& x, const ImageKernel& kernel, const ImageOutputs& outputs,
                         const float* weights, const float* bias, int64_t channels,
                         const Function& activate, float* y) {
  const FloatTag d;
  for (int64_t t = 0; t < outputs.num_frames; ++t) {
    for (int64_t f = 0; f < outputs.bins; ++f, y += channels) {
      const Corner corner = CornerOf(x, kernel, outputs.first_frame + t, f);
      const Taps frames = TapsWithin(corner.frame, kFirstKernelSize, x.num_frames);
      const Taps bins = TapsWithin(corner.bin, kFirstKernelSize, x.bins);
      const int64_t first = corner.frame * x.bins + corner.bin;
      if (frames.is_whole(kFirstKernelSize) && bins.is_whole(kFirstKernelSize)) {
        FloatVector inputs[kFirstKernelTaps];
        for (int tap = 0; tap < kFirstKernelTaps; ++tap) {
          inputs[tap] = hn::Set(
              d, x.values[first + tap / kFirstKernelSize * x.bins + tap % kFirstKernelSize]);
        }
        ForEachVector(channels, [&](int64_t c, auto part) HWY_ATTR {
          FloatVector sum = part.Load(bias + c);
          for (int tap = 0; tap < kFirstKernelTaps; ++tap) {
            sum = hn::MulAdd(inputs[tap], part.Load(weights + tap * channels + c), sum);
          }
          part.Store(activate(sum), y + c);
        });
        continue;
      }
      ForEachVector(channels, [&](int64_t c, auto part) HWY_ATTR {
        FloatVector sum = part.Load(bias + c);
        for (int64_t i = frames.begin; i < frames.end; ++i) {
          for (int64_t j = bins.begin; j < bins.end; ++j) {
            sum = hn::MulAdd(hn::Set(d, x.values[first + i * x.bins + j]),
                             part.Load(weights + (i * kFirstKernelSize + j) * channels + c), sum);
          }
        }
        part.Store(activate(sum), y + c);
      });
    }
  }
}

void OneChannel(const Image& x, const ImageKernel& kernel, const ImageOutputs& outputs,
                const float* weights, const float* bias, int64_t channels, Activation activation,
                float* y) {
  WithActivation(activation, [&](auto function) HWY_ATTR {
    ActivatedOneChannel(x, kernel, outputs, weights, bias, channels, function, y);
  });
}

void Depthwise(const Image& x, const ImageKernel& kernel, const ImageOutputs& outputs,
               const float* weights, const float* bias, const MatmulInput& y) {
  const int64_t channels = x.channels;
  Scratch scratch;
  auto* temporary = scratch.Take<float>(channels);
  for (int64_t t = 0; t < outputs.num_frames; ++t) {
    for (int64_t f = 0; f < outputs.bins; ++f) {
      const Corner corner = CornerOf(x, kernel, outputs.first_frame + t, f);
      const Taps frames = TapsWithin(corner.frame, kernel.size, x.num_frames);
      const Taps bins = TapsWithin(corner.bin, kernel.size, x.bins);
      const int64_t index = t * outputs.bins + f;
      float* row = RowToCompute(y, index, temporary);
      ForEachVector(channels, [&](int64_t c, auto part) HWY_ATTR {
        FloatVector sum = part.Load(bias + c);
        for (int64_t i = frames.begin; i < frames.end; ++i) {
          for (int64_t j = bins.begin; j < bins.end; ++j) {
            const int64_t place = (corner.frame + i) * x.bins + corner.bin + j;
            sum = hn::MulAdd(part.Load(x.values + place * channels + c),
                             part.Load(weights + (i * kernel.size + j) * channels + c), sum);
          }
        }
        part.Store(sum, row + c);
      });
      StoreRow(row, y, index);
    }
  }
}

// Copies one frame's part of a patch, (size, channels), zeros where bins are missing.
HWY_INLINE void CopyPatchRow(const Image& x, int64_t frame, const Corner& corner, const Taps& bins,
                             int64_t kernel_size, float* to) {
  const int64_t channels = x.channels;
  const auto bytes = [](int64_t count) { return static_cast<size_t>(count) * sizeof(float); };
  std::memset(to, 0, bytes(bins.begin * channels));
  if (bins.begin == bins.end) {  // nothing there to point at
    std::memset(to + bins.begin * channels, 0, bytes((kernel_size - bins.begin) * channels));
    return;
  }
  std::memcpy(to + bins.begin * channels,
              x.values + (frame * x.bins + corner.bin + bins.begin) * channels,
              bytes((bins.end - bins.begin) * channels));
  std::memset(to + bins.end * channels, 0, bytes((kernel_size - bins.end) * channels));
}

// A patch that lies within the image, rounded or quantised from where it lies: `count` values per
// frame, `stride` apart.
HWY_INLINE void StoreWholePatch(const float* first, int64_t num_frames, int64_t stride,
                                int64_t count, const MatmulInput& y, int64_t index) {
  RowRange range{};
  if (y.type == MatmulType::kInt8) {
    Extremes extremes;
    for (int64_t i = 0; i < num_frames; ++i) {
      extremes.Include(ExtremesOf(first + i * stride, count));
    }
    range = RangeFor(extremes);
    y.scales[index] = range.scale;
    y.zero_points[index] = range.zero_point;
  }
  for (int64_t i = 0; i < num_frames; ++i) {
    const float* row = first + i * stride;
    switch (y.type) {
      case MatmulType::kFloat32:
        std::memcpy(y.float_row(index) + i * count, row,
                    static_cast<size_t>(count) * sizeof(float));
        break;
      case MatmulType::kBfloat16:
        ToBfloat16(row, count, y.bfloat16_row(index) + i * count);
        break;
      case MatmulType::kInt8:
        Quantize(row, count, range, y.quantized_row(index) + i * count);
        break;
    }
  }
}

void Patches(const Image& x, const ImageKernel& kernel, const ImageOutputs& outputs,
             const MatmulInput& y) {
  const int64_t row_size = kernel.bin_size * x.channels;
  Scratch scratch;
  auto* temporary = scratch.Take<float>(y.dim);
  for (int64_t t = 0; t < outputs.num_frames; ++t) {
    for (int64_t f = 0; f < outputs.bins; ++f) {
      const Corner corner = CornerOf(x, kernel, outputs.first_frame + t, f);
      const Taps frames = TapsWithin(corner.frame, kernel.size, x.num_frames);
      const Taps bins = TapsWithin(corner.bin, kernel.bin_size, x.bins);
      const int64_t index = t * outputs.bins + f;
      if (frames.is_whole(kernel.size) && bins.is_whole(kernel.bin_size)) {
        StoreWholePatch(x.values + (corner.frame * x.bins + corner.bin) * x.channels, kernel.size,
                        x.bins * x.channels, row_size, y, index);
        continue;
      }
      float* row = RowToCompute(y, index, temporary);
      for (int64_t i = 0; i < kernel.size; ++i) {
        CopyPatchRow(x, corner.frame + i, corner,
                     frames.holds(i) ? bins : Taps{kernel.bin_size, kernel.bin_size},
                     kernel.bin_size, row + i * row_size);
      }
      StoreRow(row, y, index);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace runnel::kernels {

RUNNEL_EXPORT(OneChannel);
RUNNEL_EXPORT(Depthwise);
RUNNEL_EXPORT(Patches);

// Calls body(outputs of a part, index of its first one) for parts of the frames, in the threads of
// the step. values: read or written per output.
template <class Body>
static void InParts(const ImageOutputs& outputs, int64_t values, const Body& body) {
  const int64_t operations = kOperationsOfValue * outputs.num_frames * outputs.bins * values;
  StepThreads::Split(outputs.num_frames, operations, [&](int64_t begin, int64_t end) {
    body(ImageOutputs{outputs.first_frame + begin, end - begin, outputs.bins},
         begin * outputs.bins);
  });
}

void ConvolveOneChannel(const Image& x, const ImageKernel& kernel, const ImageOutputs& outputs,
                        const float* weights, const float* bias, int64_t channels,
                        Activation activation, float* y) {
  InParts(outputs, channels, [&](const ImageOutputs& part, int64_t first) {
    RUNNEL_DISPATCH(OneChannel)
    (x, kernel, part, weights, bias, channels, activation, y + first * channels);
  });
}
void ConvolveDepthwise(const Image& x, const ImageKernel& kernel, const ImageOutputs& outputs,
                       const float* weights, const float* bias, const MatmulInput& y) {
  InParts(outputs, x.channels, [&](const ImageOutputs& part, int64_t first) {
    RUNNEL_DISPATCH(Depthwise)(x, kernel, part, weights, bias, y.From(first));
  });
}
void GatherPatches(const Image& x, const ImageKernel& kernel, const ImageOutputs& outputs,
                   const MatmulInput& y) {
  InParts(outputs, y.dim, [&](const ImageOutputs& part, int64_t first) {
    RUNNEL_DISPATCH(Patches)(x, kernel, part, y.From(first));
  });
}

}  // namespace runnel::kernels
#endif  // HWY_ONCE
