#include "../../bridge/call_memory.h"
#include "../../bridge/images.h"
#include "binding_call.h"
#include "crop.h"

namespace orbbec {

void augment_crop_cpu(const AugmentCropArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int augment_crop_cuda(const AugmentCropArguments& arguments, void* stream);

namespace {

constexpr const char* kOp = "augment_crop";
constexpr int64_t kMinImagesPerThread = 4;  // with fewer, threads would wait for the last one

// The crops as images without memory, in the layout of their source.
AnyImages crops_of(const AnyImages& source, std::array<int64_t, 2> size) {
  const bool in_pixels = source.stride_c == 1 && source.stride_x != 1;
  const int64_t channels = source.channels, pixels = size[0] * size[1];
  AnyImages crops{};
  crops.count = source.count;
  crops.channels = channels;
  crops.height = static_cast<int>(size[0]);
  crops.width = static_cast<int>(size[1]);
  crops.stride_n = channels * pixels;
  crops.stride_x = in_pixels ? channels : 1;
  crops.stride_y = crops.stride_x * size[1];
  crops.stride_c = in_pixels ? 1 : pixels;
  return crops;
}

// Memory for all crops; null if threads have the memory of an image each.
std::shared_ptr<void> new_crops(const Tensor& images, const AnyImages& crops, bool mixes) {
  const int64_t threads = torch::stable::get_num_threads();
  const bool has_enough = !mixes && crops.count >= kMinImagesPerThread * threads;
  if (has_enough && !runs_cuda_kernels(images)) return nullptr;
  return call_memory(kOp, crops.count * crops.stride_n, images);
}

// Returns the arguments that follow.
StableIValue* unpack_call(StableIValue* stack, ResizeCall& r, AugmentCall& a) {
  AugmentTensors& t = a.tensors.emplace();
  return unpack(stack, r.images, r.layout, r.channels, r.boxes.emplace(), r.size, r.interpolation,
                r.antialias, r.arithmetic, r.longest, r.flips, t.colors, t.boxes, t.mix, a.mean,
                a.std, a.scale, a.max_value, a.contrast);
}

void augment_crop(StableIValue* stack, uint64_t, uint64_t) {
  ResizeCall crop;
  AugmentCall call;
  int64_t dtype;
  unpack(unpack_call(stack, crop, call), dtype, call.channels_last);
  call.dtype = dtype_numbered(kOp, dtype, true, false);
  give(stack, run_augment_crop(crop, call));
}

void augment_crop_out(StableIValue* stack, uint64_t, uint64_t) {
  ResizeCall crop;
  AugmentCall call;
  Tensor out;
  unpack(unpack_call(stack, crop, call), out);
  call.out = out;
  call.dtype = out.scalar_type();
  run_augment_crop(crop, call);
}

}  // namespace

Tensor run_augment_crop(const ResizeCall& crop, AugmentCall call) {
  const Tensor& images = crop.images;
  check(images.scalar_type() == ScalarType::Byte, kOp, "expected images of uint8");
  const AnyImages source = source_images(kOp, images, crop.layout, crop.channels, crop.takes_one);
  check(source.channels <= kMaxFills, kOp, "expected images of 1 to ", kMaxFills,
        " channels, but got ", source.channels);
  AnyImages crops = crops_of(source, output_size(kOp, source, crop.size));
  if (source.count == 0) resize_into(crops, crop, nullptr);  // checks the options, and no more
  const std::shared_ptr<void> memory = new_crops(images, crops, call.tensors && call.tensors->mix);
  crops.data = memory.get();
  call.images = images;
  call.takes_one = crop.takes_one;
  call.size = crop.size;
  call.interpolation = "nearest";
  call.border = "replicate";
  call.fill = {0};
  return augment_from(crops, call, [&](const AugmentArguments& augment) {
    resize_into(crops, crop, [&](const ResizeArguments& resize) {
      run_where(kOp, images, augment_crop_cpu, augment_crop_cuda,
                AugmentCropArguments{resize, augment});
    });
  });
}

}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  const std::string inputs =
      "Tensor images, Tensor? layout, int channels, Tensor boxes, SymInt[] size, "
      "str interpolation, bool antialias, str arithmetic, SymInt[] longest, Tensor? flips, "
      "Tensor? colors, Tensor? erase, Tensor? mix, float[] mean, float[] std, float scale, "
      "float max_value, bool contrast, ";
  m.def(("augment_crop(" + inputs + "int dtype, bool channels_last) -> Tensor").c_str());
  m.def(("augment_crop_out(" + inputs + "Tensor(a!) out) -> ()").c_str());
}

ORBBEC_IMPLEMENT(m) {
  m.impl("augment_crop", &orbbec::augment_crop);
  m.impl("augment_crop_out", &orbbec::augment_crop_out);
}
