#include "queue.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <utility>

#include "memory.h"

namespace orbbec::lazy {

namespace {

constexpr int kStreams = 32;  // torch hands out so many, repeatedly

struct Stream {
  uint64_t queued = 0;
  uint64_t done = 0;
  Clock clock;               // of its last task or wait
  std::deque<Task> pending;  // those after `done`
  std::shared_ptr<Graph> capture;
};

enum class Schedule { kLate, kEager, kShuffle };

struct State {
  std::vector<Stream> streams{1};
  Clock host;  // what the host knows to be done
  Schedule schedule = Schedule::kLate;
  std::mt19937 random{1};
  bool refuses_waits = false;
  int graphs = 0;
};

State& state() {
  static auto* const only = new State;
  return *only;
}

thread_local int current = 0;
thread_local int capturing = -1;  // the stream that this thread captures
thread_local Running* now_running = nullptr;

using Guard = std::lock_guard<std::recursive_mutex>;

bool is_ready(const Stream& stream) {
  if (stream.pending.empty()) return false;
  const Task& task = stream.pending.front();
  for (int s = 0; s < static_cast<int>(task.clock.size()); ++s) {
    if (s != task.stamp.stream && state().streams[s].done < task.clock[s]) return false;
  }
  return true;
}

void run_front(Stream& stream) {
  Task task = std::move(stream.pending.front());
  stream.pending.pop_front();
  Running here{&task};
  Running* const before = now_running;
  now_running = &here;
  memory().begin_task();
  try {
    task.run();
  } catch (const std::exception& error) {
    report(name_of(here.label()) + ": " + error.what());
  }
  memory().end_task();
  now_running = before;
  state().streams[task.stamp.stream].done = task.stamp.count;
  memory().release_unreachable();
}

// Runs one of the ready tasks that `wanted` counts; false: there is none.
bool run_one(const Clock* wanted) {
  std::vector<int> ready;
  std::vector<Stream>& streams = state().streams;
  for (int s = 0; s < static_cast<int>(streams.size()); ++s) {
    const bool is_wanted = wanted == nullptr || streams[s].done < count_of(*wanted, s);
    if (is_wanted && is_ready(streams[s])) ready.push_back(s);
  }
  if (ready.empty()) return false;
  run_front(streams[ready[state().random() % ready.size()]]);
  return true;
}

void run_some() {
  if (now_running != nullptr) return;
  if (state().schedule == Schedule::kEager) {
    while (run_one(nullptr)) {
    }
  }
  if (state().schedule == Schedule::kShuffle) {
    while (state().random() % 3 == 0 && run_one(nullptr)) {
    }
  }
}

void check_wait(Wait kind, const char* why) {
  const std::string text = why;
  if (thread_captures()) {
    throw Refused(text + ": the host waits, which is not permitted while a stream is capturing");
  }
  if (kind == Wait::kImplicit && state().refuses_waits) {
    throw Refused(text + ": the host waits for the device (set_sync_debug_mode)");
  }
}

void wait_until_run(const Clock& clock) {
  while (!have_run(clock)) {
    if (!run_one(&clock)) report("tasks wait for one another for ever");
  }
  merge(state().host, clock);
}

}  // namespace

void merge(Clock& into, const Clock& other) {
  if (into.size() < other.size()) into.resize(other.size());
  for (size_t s = 0; s < other.size(); ++s) into[s] = std::max(into[s], other[s]);
}

std::recursive_mutex& lock() {
  static auto* const only = new std::recursive_mutex;
  return *only;
}

int new_stream() {
  const Guard guard(lock());
  static int next = 0;
  const int stream = 1 + next++ % kStreams;
  if (stream == static_cast<int>(state().streams.size())) state().streams.emplace_back();
  return stream;
}

int current_stream() { return current; }
int exchange_current_stream(int stream) { return std::exchange(current, stream); }

void push(int stream, Label label, std::function<void()> run) {
  const Guard guard(lock());
  Stream& on = state().streams.at(stream);
  if (on.capture != nullptr) {
    on.capture->tasks.push_back({std::move(label), std::move(run), {}, {}});
    return;
  }
  merge(on.clock, state().host);
  if (on.clock.size() <= static_cast<size_t>(stream)) on.clock.resize(stream + 1);
  on.clock[stream] = ++on.queued;
  on.pending.push_back({std::move(label), std::move(run), {stream, on.queued}, on.clock});
  run_some();
}

void record(Event& event, int stream) {
  const Guard guard(lock());
  Stream& on = state().streams.at(stream);
  event = {true, stream, on.clock, on.capture.get()};
}

void wait_for(const Event& event, int stream) {
  const Guard guard(lock());
  Stream& on = state().streams.at(stream);
  if (!event.is_recorded) return;
  if (event.graph != on.capture.get()) {
    if (event.graph == nullptr) {
      throw Refused("cudaStreamWaitEvent: a captured stream waits for work that is not captured");
    }
    throw Refused("cudaStreamWaitEvent: captures of several streams are not modelled");
  }
  merge(on.clock, event.clock);
}

bool has_happened(const Event& event) {
  const Guard guard(lock());
  if (thread_captures()) throw Refused("cudaEventQuery: not permitted while a stream is capturing");
  if (event.is_recorded && !have_run(event.clock)) {
    run_some();  // or a loop that asks would never end
    if (state().schedule == Schedule::kLate) run_one(&event.clock);
    if (!have_run(event.clock)) return false;
  }
  merge(state().host, event.clock);
  return true;
}

void host_waits_for(const Clock& clock, Wait kind, const char* why) {
  const Guard guard(lock());
  check_wait(kind, why);
  wait_until_run(clock);
}

void host_waits_for_stream(int stream, Wait kind, const char* why) {
  const Guard guard(lock());
  check_wait(kind, why);
  wait_until_run(Clock(state().streams.at(stream).clock));
}

void host_waits_for_all() {
  const Guard guard(lock());
  check_wait(Wait::kAsked, "cudaDeviceSynchronize");
  Clock all;
  for (const Stream& stream : state().streams) merge(all, stream.clock);
  wait_until_run(all);
}

bool is_idle(int stream) {
  Event event;
  record(event, stream);
  return has_happened(event);
}

void refuse_waits(bool on) {
  const Guard guard(lock());
  state().refuses_waits = on;
}

Clock clock_of(int stream) {
  const Guard guard(lock());
  Clock clock = state().streams.at(stream).clock;
  merge(clock, state().host);
  return clock;
}

void begin_capture(int stream) {
  const Guard guard(lock());
  if (thread_captures()) throw Refused("cudaStreamBeginCapture: this thread captures already");
  auto graph = std::make_shared<Graph>();
  graph->id = ++state().graphs;
  graph->stream = stream;
  state().streams.at(stream).capture = graph;
  capturing = stream;
}

std::shared_ptr<Graph> end_capture() {
  const Guard guard(lock());
  if (!thread_captures()) throw Refused("cudaStreamEndCapture: this thread captures nothing");
  auto graph = std::move(state().streams[capturing].capture);
  state().streams[capturing].capture = nullptr;
  capturing = -1;
  return graph;
}

Graph* captured(int stream) {
  const Guard guard(lock());
  return state().streams.at(stream).capture.get();
}

bool thread_captures() { return capturing >= 0; }

void replay(const std::shared_ptr<Graph>& graph, int stream) {
  push(stream, {"a graph's replay"}, [graph] {
    now_running->graph = graph.get();
    for (size_t i = 0; i < graph->tasks.size(); ++i) {
      now_running->index = i;
      graph->tasks[i].run();
      memory().end_task();  // each of its tasks is checked by itself
    }
  });
}

bool have_run(const Clock& clock) {
  for (size_t s = 0; s < clock.size(); ++s) {
    if (state().streams[s].done < clock[s]) return false;
  }
  return true;
}

const Running* running() { return now_running; }

void choose_schedule() {
  const Guard guard(lock());
  const char* const text = std::getenv("ORBBEC_EMULATION_STREAMS");
  const std::string name = text == nullptr ? "late" : text;
  unsigned seed = 1;
  if (name == "late") {
    state().schedule = Schedule::kLate;
  } else if (name == "eager") {
    state().schedule = Schedule::kEager;
  } else if (name.compare(0, 7, "shuffle") == 0) {
    state().schedule = Schedule::kShuffle;
    if (name.size() > 8) seed = std::strtoul(name.c_str() + 8, nullptr, 10);
  } else {
    report("ORBBEC_EMULATION_STREAMS: expected late, eager, shuffle or shuffle:SEED");
  }
  state().random.seed(seed);
}

}  // namespace orbbec::lazy
