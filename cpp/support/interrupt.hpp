// Stopping long work: by Ctrl-C, or because another thread has failed.
//
// Kernels call `check()` regularly, such as once per node of a tree. On the thread that called the kernel, it checks
// the interpreter for signals every 50 ms; on other threads it only reads a flag.

#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

namespace fuselearn {

struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

class Interrupt {
public:
    // Returns whether the user wants to stop; called on the thread that made this object.
    using Poll = bool (*)() noexcept;

    explicit Interrupt(Poll asks) : poll_(asks), owner_(std::this_thread::get_id()) {}
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    void check() {
        if (stopped_.load(std::memory_order_relaxed)) throw Interrupted();
        if (std::this_thread::get_id() == owner_) poll_if_due();
    }

    void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }

    // For the owner only: check for signals now.
    void poll() {
        last_poll_ = Clock::now();
        if (poll_ != nullptr && poll_()) {
            stop();
            throw Interrupted();
        }
    }

    static constexpr std::chrono::milliseconds interval{50};

private:
    using Clock = std::chrono::steady_clock;

    void poll_if_due() {
        if (++n_checks_ % checks_per_look != 0) return;
        if (Clock::now() - last_poll_ >= interval) poll();
    }

    static constexpr unsigned checks_per_look = 16;

    Poll poll_;
    std::thread::id owner_;
    std::atomic<bool> stopped_{false};
    unsigned n_checks_ = 0;
    Clock::time_point last_poll_ = Clock::now();
};

}  // namespace fuselearn
