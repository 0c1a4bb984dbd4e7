#include "../../executors/executor_cuda.h"
#include "roi_pool.h"

namespace orbbec {

template <class F>
int make_roi_pool_geometries_cuda(const RoiArguments& a, void* stream) {
  return for_each_item_cuda(MakeRoiPoolGeometries<F>{a}, 1, static_cast<int>(a.pooled.count),
                            stream);
}

int roi_pool_cuda(const RoiPoolArguments& a, void* stream) {
  return dispatch_roi_dtype(a.roi.dtype, [&](auto pixel) {
    using T = decltype(pixel);
    const int status = make_roi_pool_geometries_cuda<Compute<T>>(a.roi, stream);
    const RoiPool<T> op(a);
    return status != 0 ? status : for_each_pixel_cuda(op, op.shape(), stream);
  });
}

int roi_pool_backward_cuda(const RoiPoolArguments& a, void* stream) {
  return dispatch_roi_dtype(a.roi.dtype, [&](auto pixel) {
    using T = decltype(pixel);
    const int status = make_roi_pool_geometries_cuda<Compute<T>>(a.roi, stream);
    const GatherRoiPoolGradient<T> op(a);
    return status != 0 ? status : for_each_pixel_cuda(op, op.shape(), stream);
  });
}

}  // namespace orbbec
