// Gives a torch without CUDA the lazy device as its CUDA device: allocators, streams, events.
// lazy_cuda.py replaces what of torch.cuda is bound to torch's own CUDA library.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include "memory.h"
#include "queue.h"

namespace orbbec::lazy {

namespace {

using c10::Device;
using c10::DeviceIndex;

const Device kDevice(c10::DeviceType::CUDA, 0);

void free_on_device(void* data) {
  if (data != nullptr) memory().free(data);
}

class DeviceAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* const data = memory().allocate(bytes, current_stream());
    TORCH_CHECK(bytes == 0 || data != nullptr, "CUDA out of memory: ", bytes, " bytes");
    return {data, data, &free_on_device, kDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_on_device; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    push(current_stream(), {"a copy of storage"}, [=] { std::memcpy(to, from, bytes); });
  }
};

void free_on_host(void* data) { memory().free_pinned(data); }

class PinnedAllocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* const data = memory().allocate_pinned(bytes);
    TORCH_CHECK(data != nullptr, "not enough page-locked memory for ", bytes, " bytes");
    return {data, data, &free_on_host, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_on_host; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
  bool record_event(void* data, void*, c10::Stream stream) override {
    memory().use_pinned(memory().pinned_begin(data), static_cast<int>(stream.id()));
    return true;
  }
  void empty_cache() override {}
  at::HostStats get_stats() override { return {}; }
  void reset_accumulated_stats() override {}
  void reset_peak_stats() override {}
};

PinnedAllocator* pinned_allocator() {
  static auto* const only = new PinnedAllocator;
  return only;
}

int number_of(const c10::Stream& stream) { return static_cast<int>(stream.id()); }

struct Guard final : c10::impl::DeviceGuardImplInterface {
  static c10::Stream stream(int number) {
    return c10::Stream(c10::Stream::UNSAFE, kDevice, number);
  }

  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }
  Device exchangeDevice(Device) const override { return kDevice; }
  Device getDevice() const override { return kDevice; }
  void setDevice(Device device) const override {
    TORCH_CHECK(device.index() <= 0, "CUDA error: invalid device ordinal");
  }
  void uncheckedSetDevice(Device) const noexcept override {}
  DeviceIndex deviceCount() const noexcept override { return 1; }

  c10::Stream getStream(Device) const override { return stream(current_stream()); }
  c10::Stream getDefaultStream(Device) const override { return stream(0); }
  c10::Stream getStreamFromGlobalPool(Device, bool) const override { return stream(new_stream()); }
  c10::Stream getNewStream(Device, int) const override { return stream(new_stream()); }
  c10::Stream exchangeStream(c10::Stream given) const override {
    return stream(exchange_current_stream(number_of(given)));
  }
  void* getStreamNativeHandle(const c10::Stream given) const override {
    return reinterpret_cast<void*>(given.id());
  }
  bool queryStream(const c10::Stream& given) const override { return is_idle(number_of(given)); }
  void synchronizeStream(const c10::Stream& given) const override {
    host_waits_for_stream(number_of(given), Wait::kAsked, "cudaStreamSynchronize");
  }
  void synchronizeDevice(DeviceIndex) const override { host_waits_for_all(); }
  bool isStreamCapturing(const c10::Stream& given) const override {
    return captured(number_of(given)) != nullptr;
  }

  void destroyEvent(void* event, DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
  }
  void record(void** event, const c10::Stream& given, DeviceIndex, c10::EventFlag) const override {
    if (*event == nullptr) *event = new Event;
    lazy::record(*static_cast<Event*>(*event), number_of(given));
  }
  void block(void* event, const c10::Stream& given) const override {
    if (event != nullptr) wait_for(*static_cast<Event*>(event), number_of(given));
  }
  bool queryEvent(void* event) const override {
    return event == nullptr || has_happened(*static_cast<Event*>(event));
  }
  void synchronizeEvent(void* event) const override {
    if (event == nullptr) return;
    host_waits_for(static_cast<Event*>(event)->clock, Wait::kAsked, "cudaEventSynchronize");
  }
  double elapsedTime(void*, void*, DeviceIndex) const override { return 1.0; }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& given) const override {
    memory().record_stream(data.get(), number_of(given));
  }
};

C10_REGISTER_GUARD_IMPL(CUDA, Guard);

struct Hooks final : at::CUDAHooksInterface {
  explicit Hooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasCUDA() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  int getNumGPUs() const override { return 1; }
  DeviceIndex deviceCount() const override { return 1; }
  DeviceIndex current_device() const override { return 0; }
  DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(DeviceIndex) const override {}
  DeviceIndex exchangeDevice(DeviceIndex) const override { return 0; }
  DeviceIndex maybeExchangeDevice(DeviceIndex) const override { return 0; }
  void deviceSynchronize(DeviceIndex) const override { host_waits_for_all(); }
  bool isPinnedPtr(const void* data) const override {
    return memory().pinned_begin(data) != nullptr;
  }
  c10::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
  c10::Allocator* getCUDADeviceAllocator() const override {
    return c10::GetAllocator(c10::DeviceType::CUDA);
  }
  Device getDeviceFromPtr(void* data) const override {
    return memory().owns(data) ? kDevice : Device(c10::DeviceType::CPU);
  }
  // Random numbers are the CPU's.
  const at::Generator& getDefaultGenerator(DeviceIndex) const override {
    return at::detail::getDefaultCPUGenerator();
  }
};

using at::CUDAHooksRegistry;
using at::RegistererCUDAHooksRegistry;
C10_REGISTER_CLASS(CUDAHooksRegistry, CUDAHooks, Hooks)

const bool is_installed = [] {
  c10::SetAllocator(c10::DeviceType::CUDA, new DeviceAllocator, 255);
  at::setHostAllocator(c10::DeviceType::CUDA, pinned_allocator(), 255);
  choose_schedule();
  return true;
}();

std::map<int64_t, std::shared_ptr<Graph>>& graphs() {
  static auto* const only = new std::map<int64_t, std::shared_ptr<Graph>>;
  return *only;
}

int64_t end_graph() {
  const auto graph = end_capture();
  graphs()[graph->id] = graph;
  return graph->id;
}

TORCH_LIBRARY(lazy_device, m) {
  m.def("begin_capture", [] { begin_capture(current_stream()); });
  m.def("end_capture", &end_graph);
  m.def("replay", [](int64_t graph) { replay(graphs().at(graph), current_stream()); });
  m.def("drop_graph", [](int64_t graph) { graphs().erase(graph); });
  m.def("is_capturing", [] { return captured(current_stream()) != nullptr; });
  m.def("refuse_waits", &refuse_waits);
  m.def("choose_schedule", &choose_schedule);
}

}  // namespace

}  // namespace orbbec::lazy

// orbbec looks this up in torch's CUDA library.
extern "C" int32_t aoti_torch_get_current_cuda_stream(int32_t, void** stream) {
  *stream = reinterpret_cast<void*>(static_cast<intptr_t>(orbbec::lazy::current_stream()));
  return 0;
}
