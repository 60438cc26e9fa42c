// A channel between two threads that stand for the parties, in place of a connection.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

// Bytes on their way to one party.
class Pipe {
  public:
    void send(const uint8_t* bytes, size_t len) {
        std::lock_guard<std::mutex> lock(mutex_);
        bytes_.insert(bytes_.end(), bytes, bytes + len);
        arrived_.notify_one();
    }

    void receive(uint8_t* bytes, size_t len) {
        std::unique_lock<std::mutex> lock(mutex_);
        arrived_.wait(lock, [&] { return bytes_.size() >= len; });
        for (size_t i = 0; i < len; i++) {
            bytes[i] = bytes_.front();
            bytes_.pop_front();
        }
    }

  private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<uint8_t> bytes_;
};

struct Peer {
    Pipe* to;
    Pipe* from;
};

// Between the parties: masked values and masked bits.
inline int exchange(void* ctx, const uint8_t* out, size_t out_len, uint8_t* in, size_t in_len) {
    Peer* peer = static_cast<Peer*>(ctx);
    peer->to->send(out, out_len);
    peer->from->receive(in, in_len);
    return 0;
}
