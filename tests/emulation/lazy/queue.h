// The queue of the lazy device: what streams are to do, in an order that CUDA allows and that no
// other device would choose. README.md says what is checked. All state is guarded by `lock()`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace orbbec::lazy {

// Per stream, how many of its tasks come before. Task a comes before task b if b's clock counts a.
using Clock = std::vector<uint64_t>;

inline uint64_t count_of(const Clock& clock, int stream) {
  return stream < static_cast<int>(clock.size()) ? clock[stream] : 0;
}
void merge(Clock& into, const Clock& other);

// A number of a stream's task; 0 is before the first.
struct Stamp {
  int stream = 0;
  uint64_t count = 0;
  bool is_before(const Clock& clock) const { return count_of(clock, stream) >= count; }
};

// What a task is called in a report: a kernel's host function, whose symbol is looked up then, or
// an operator of torch.
struct Label {
  std::string text;
  const void* kernel = nullptr;
};

struct Task {
  Label label;
  std::function<void()> run;
  Stamp stamp;
  Clock clock;  // with the task itself
};

// What a stream did while it was captured.
struct Graph {
  int id = 0;
  int stream = 0;
  std::vector<Task> tasks;
};

struct Event {
  bool is_recorded = false;
  int stream = 0;
  Clock clock;
  const Graph* graph = nullptr;  // recorded in its capture
};

// What CUDA reports with an error and torch raises: a wait or copy where none is allowed.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::recursive_mutex& lock();

// Streams. 0 is the default stream; others do not wait for it, as those of torch.
int new_stream();
int current_stream();  // of this thread
int exchange_current_stream(int stream);

// Queues a task, or records it if its stream is captured.
void push(int stream, Label label, std::function<void()> run);

void record(Event& event, int stream);
void wait_for(const Event& event, int stream);
bool has_happened(const Event& event);

// The host waits. `why` says for what in a report; refused while this thread captures, and while
// implicit waits are refused.
enum class Wait { kAsked, kImplicit };
void host_waits_for(const Clock& clock, Wait kind, const char* why);
void host_waits_for_stream(int stream, Wait kind, const char* why);
void host_waits_for_all();
bool is_idle(int stream);

// torch.cuda.set_sync_debug_mode: refuses implicit waits of the host in all threads.
void refuse_waits(bool on);

// The clock of a task that would be queued now.
Clock clock_of(int stream);

// Capture of this thread's current stream.
void begin_capture(int stream);
std::shared_ptr<Graph> end_capture();
Graph* captured(int stream);  // null: not captured
bool thread_captures();
void replay(const std::shared_ptr<Graph>& graph, int stream);

// Whether all tasks that `clock` counts have run.
bool have_run(const Clock& clock);

// The task that this thread executes, and the index of the graph's task in a replay.
struct Running {
  const Task* task = nullptr;
  const Graph* graph = nullptr;
  size_t index = 0;
  const Label& label() const { return graph ? graph->tasks[index].label : task->label; }
};
const Running* running();

// Reads ORBBEC_EMULATION_STREAMS again.
void choose_schedule();

}  // namespace orbbec::lazy
