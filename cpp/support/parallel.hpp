// Run independent pieces of work on a few threads that end with the call.
//
// The calling thread waits and checks for Ctrl-C. Results must not depend on which thread does which piece. No thread
// outlives the call, so a process may be forked between calls.

#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "support/interrupt.hpp"
#include "support/views.hpp"

namespace fuselearn {

// Call work(piece) for every piece from 0 to n_pieces - 1. The first exception of a piece stops the others.
template <class Work>
void run_pieces(Index n_pieces, int n_threads, Interrupt& interrupt, const Work& work) {
    if (n_threads <= 1 || n_pieces <= 1) {
        for (Index piece = 0; piece < n_pieces; ++piece) {
            interrupt.check();
            work(piece);
        }
        return;
    }
    std::atomic<Index> next{0};
    std::mutex mutex;
    std::condition_variable finished;
    std::exception_ptr failure;
    Index n_running = std::min<Index>(n_threads, n_pieces);

    const auto take_pieces = [&] {
        try {
            for (Index piece = next++; piece < n_pieces; piece = next++) {
                interrupt.check();
                work(piece);
            }
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
            interrupt.stop();
        }
        const std::lock_guard lock(mutex);
        --n_running;
        finished.notify_one();
    };

    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(n_running));
    const Index n_wanted = n_running;
    for (Index t = 0; t < n_wanted; ++t) {
        try {
            threads.emplace_back(take_pieces);
        } catch (const std::system_error&) {  // no more threads to be had: those that run do the work
            const std::lock_guard lock(mutex);
            n_running -= n_wanted - t;
            break;
        }
    }
    if (threads.empty()) {
        n_running = 1;
        take_pieces();
    }
    {
        std::unique_lock lock(mutex);
        while (n_running > 0) {
            if (finished.wait_for(lock, Interrupt::interval, [&] { return n_running == 0; })) break;
            lock.unlock();
            try {
                interrupt.poll();
            } catch (const Interrupted&) {
                // The threads see the flag and end.
            }
            lock.lock();
        }
    }
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
    interrupt.check();
}

}  // namespace fuselearn
