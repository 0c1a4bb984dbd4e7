#include "../../bridge/images.h"
#include "../../bridge/noise.h"
#include "../../filters/binding_call.h"
#include "elastic.h"

namespace orbbec {

void elastic_displacement_cpu(const ElasticArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int elastic_displacement_cuda(const ElasticArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "elastic_displacement";

// The arguments of `elastic_displacement`, as its schema has them.
struct Call {
  Tensor sample_ids, sigma, alpha;
  std::vector<int64_t> size, kernel_size;
  bool adds_pixels = false;
  int64_t seed = 0, epoch = 0, transform_index = 0;

  explicit Call(StableIValue* stack) {
    unpack(stack, sample_ids, size, kernel_size, sigma, alpha, adds_pixels, seed, epoch,
           transform_index);
  }
};

// [N, 2, height, width].
Tensor new_field(const Call& call, const Tensor& samples) {
  check(samples.dim() == 1, kOp, "expected sample_ids of shape [N], but got ", shape_text(samples));
  check(call.size.size() == 2 && call.size[0] >= 1 && call.size[1] >= 1 &&
            call.size[0] <= kMaxSide / 2 && call.size[1] <= kMaxSide / 2,
        kOp, "expected size as (height, width), each at least 1, but got ", shape_text(call.size));
  const std::vector<int64_t> shape{samples.size(0), 2, call.size[0], call.size[1]};
  check(is_addressable(shape), kOp, "an output of shape ", shape_text(shape), " is too large");
  const Tensor field = new_images(kOp, samples, shape, false, ScalarType::Float);
  check(field.is_contiguous(), kOp, "expected contiguous out");
  return field;
}

Tensor run(const Call& call) {
  const Tensor samples = whole_numbers_on(kOp, "sample_ids", call.sample_ids, call.sample_ids);
  const Tensor output = new_field(call, samples);
  const int64_t count = samples.size(0);
  check(call.alpha.dim() == 2 && (call.alpha.size(0) == 1 || call.alpha.size(0) == count) &&
            call.alpha.size(1) == 2 && call.alpha.scalar_type() == ScalarType::Float,
        kOp, "expected alpha as float32 of shape [", count, ", 2] or [1, 2], but got ",
        shape_text(call.alpha));
  const Tensor strengths = argument_on_device_of(kOp, "alpha", call.alpha, output);
  const Tensor noise = runs_cuda_kernels(output)
                           ? new_tensor(kOp, output.sizes(), ScalarType::Float, output)
                           : output;
  SeparableArguments blur{};
  blur.source = dense_images(kOp, "noise", noise, noise.mutable_data_ptr());
  blur.output = dense_images(kOp, "out", output, output.mutable_data_ptr());
  blur.dtype = DType::kFloat32;
  blur.border = Border::kReflect101;
  const PreparedBlur prepared = prepare_gaussian_blur(blur, call.kernel_size, call.sigma, output);
  if (output.numel() == 0) return output;
  const NoiseKey key{key_of(call.seed, call.epoch),
                     static_cast<const int64_t*>(samples.const_data_ptr()),
                     checked_position(kOp, call.transform_index), Noise::kCentered};
  ElasticArguments a{};
  a.noise = {.noise = key,
             .output = static_cast<float*>(noise.mutable_data_ptr()),
             .count = count,
             .rows = 2 * blur.output.height,
             .width = blur.output.width};
  a.blur = prepared.arguments;
  a.strengths = static_cast<const float*>(strengths.const_data_ptr());
  a.strength_stride = strengths.size(0) == 1 ? 0 : 2;
  a.adds_pixels = call.adds_pixels;
  run_where(kOp, output, elastic_displacement_cpu, elastic_displacement_cuda, a);
  return output;
}

void elastic_displacement(StableIValue* stack, uint64_t, uint64_t) {
  give(stack, run(Call(stack)));
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  orbbec::define_with_out(
      m,
      "elastic_displacement(Tensor sample_ids, SymInt[] size, SymInt[] kernel_size, Tensor sigma, "
      "Tensor alpha, bool adds_pixels, SymInt seed, SymInt epoch, SymInt transform_index) -> "
      "Tensor");
}

ORBBEC_IMPLEMENT(m) {
  orbbec::implement_with_out<&orbbec::elastic_displacement>(m, "elastic_displacement");
}
