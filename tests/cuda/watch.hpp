// What compute-sanitizer's memcheck and racecheck look for, on the host: each access of a kernel has to lie in memory that the
// kernel may use, at a multiple of its size, and two accesses of which one writes have to be ordered. Threads of a block are ordered
// by its barriers, which divide what they do into epochs; blocks are ordered by those that one block publishes and another acquires.
#pragma once
#include "host.hpp"

#include <string>
#include <vector>

namespace Watch {

/// Memory that kernels of this library may use, by their first bytes in ascending order.
extern "C" void memory(const uintptr_t *begins, const size_t *sizes, unsigned count);

/// A launch begins, whose blocks have their dynamic memory at `shared` + number of the block * stride.
void Begin(const Shape &shape, For waits, const float *shared, size_t stride);
/// Looks for what only the end tells; what was wrong first, or null.
const char *End();

/// From now on this is the stack of the thread, if it is not that of the launch.
void Stack(const void *begin, const void *end);

void Access(const void *at, size_t bytes, bool writes, bool isAtomic = false);
/// A copy is on its way, which may be made at any time until it has arrived: until then nobody uses `to`, or writes `from`.
void Leaves(const float *to, const float *from);
void Arrives(const float *to, const float *from);

/// All threads of this block have met.
void Met(unsigned block);
/// What this block has done before its last barrier, and what it knows of others, is published with this number of arrivals.
void Publish(const unsigned *arrived);
/// The same is acquired, for what this block does after its next barrier.
void Acquire(const unsigned *arrived, unsigned expected);

/// Something is wrong: the thread that says so does not go on.
[[noreturn]] void Fail(const std::string &what);
/// Leaves the thread.
[[noreturn]] void Leave();
bool HasFailed();

} // namespace Watch
