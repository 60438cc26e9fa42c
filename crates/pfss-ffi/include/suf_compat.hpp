// SUF's names for calls with one key for each input, on top of trefoil_pfss.h. C++17, header only.
//
// Differences from SUF:
// - Thresholds, cut points and payloads are of the input x itself and public; the dealer draws a fresh mask for each
//   input, which the keys hold. Parties mask their shares of x (mask), add both parties' masked words modulo 2^in_bits
//   (for interval look-ups modulo 2^64), and evaluate on these public sums.
// - A key string holds one key for each of `count` inputs, and is used once. One key for many inputs ("broadcast") throws:
//   one mask for many values reveals their differences.
// - Keys take the place of in_bits, key_bytes and keys_flat in the eval calls.
// - There is no stager: a batch stages its keys by itself.
// - Arrays of words given by pointers may be in memory of a device, once set_stream has named its backend and a stream for
//   the calling thread (trefoil_pfss_set_stream). Keys and messages are in host memory.
#ifndef TREFOIL_SUF_COMPAT_HPP
#define TREFOIL_SUF_COMPAT_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "trefoil_pfss.h"

namespace trefoil {
namespace suf {

// A call that was refused: the status, and the message of trefoil_pfss_last_error.
class Error : public std::runtime_error {
public:
    explicit Error(trefoil_pfss_status status) : std::runtime_error(trefoil_pfss_last_error()), status_(status) {}
    trefoil_pfss_status status() const { return status_; }

private:
    trefoil_pfss_status status_;
};

inline void check(trefoil_pfss_status status) {
    if (status != TREFOIL_PFSS_OK) throw Error(status);
}

template <class T, void (*Free)(T*)>
struct Freed {
    void operator()(T* handle) const { Free(handle); }
};
template <class T, void (*Free)(T*)>
using Handle = std::unique_ptr<T, Freed<T, Free>>;

using BytesHandle = Handle<trefoil_pfss_bytes, trefoil_pfss_bytes_free>;
using BackendHandle = Handle<trefoil_pfss_backend, trefoil_pfss_backend_free>;
using DealerHandle = Handle<trefoil_pfss_dealer, trefoil_pfss_dealer_free>;
using KeysHandle = Handle<trefoil_pfss_suf_keys, trefoil_pfss_suf_keys_free>;
using BatchHandle = Handle<trefoil_pfss_batch, trefoil_pfss_batch_free>;

// One party's keys as bytes, for this party only; wiped when freed.
struct FssKey {
    BytesHandle bytes;
    const uint8_t* data() const { return trefoil_pfss_bytes_data(bytes.get()); }
    size_t size() const { return trefoil_pfss_bytes_len(bytes.get()); }
};

struct KeyPair {
    FssKey k0, k1;
};
using DcfKeyPair = KeyPair;
using PackedLtKeyPair = KeyPair;
using IntervalLutKeyPair = KeyPair;

// Interval i is cutpoints[i] <= x < cutpoints[i + 1] and has out_words words of payload_flat. Cut points ascend from 0 to
// 2^in_bits, which is written as 0 for 64 bits.
struct IntervalLutDesc {
    int in_bits = 64;
    int out_words = 0;
    std::vector<uint64_t> cutpoints;
    std::vector<uint64_t> payload_flat;
};

// One party's keys, read from bytes: they mask once and are evaluated once.
class Keys {
public:
    Keys(const uint8_t* data, size_t size) {
        trefoil_pfss_suf_keys* keys = nullptr;
        check(trefoil_pfss_suf_keys_read(data, size, &keys));
        keys_.reset(keys);
    }
    explicit Keys(const FssKey& key) : Keys(key.data(), key.size()) {}

    // This party's shares of the masked inputs: the sum of both parties' words is public.
    std::vector<uint64_t> mask(const std::vector<uint64_t>& x) {
        std::vector<uint64_t> masked(x.size());
        check(trefoil_pfss_suf_keys_mask_inputs(keys_.get(), x.data(), x.size(), masked.data()));
        return masked;
    }
    // The same for `count` words, in host memory or in memory of the thread's device.
    void mask(const uint64_t* x, size_t count, uint64_t* masked) {
        check(trefoil_pfss_suf_keys_mask_inputs(keys_.get(), x, count, masked));
    }

    trefoil_pfss_suf_keys* get() const { return keys_.get(); }

private:
    KeysHandle keys_;
};

// The calls of SUF's backends: plain, batch, interval and packed. `name` is a backend of trefoil_pfss_backend_open.
class PfssBackendBatch {
public:
    explicit PfssBackendBatch(const char* name = nullptr) {
        trefoil_pfss_backend* backend = nullptr;
        check(trefoil_pfss_backend_open(name, &backend));
        backend_.reset(backend);
    }

    // This thread's calls read and fill arrays in memory of the backend's device in the order of `stream`; null is the legacy
    // default stream. The backend is the thread's until another is set.
    void set_stream(void* stream) const { check(trefoil_pfss_set_stream(backend_.get(), stream)); }

    // The dealer's calls, for `count` inputs. The dealer must run apart from both parties.
    DcfKeyPair gen_dcf(trefoil_pfss_dealer* dealer, int in_bits, uint64_t alpha, const std::vector<uint8_t>& payload,
                       size_t count = 1) const {
        return pair([&](trefoil_pfss_bytes** k0, trefoil_pfss_bytes** k1) {
            return trefoil_pfss_suf_gen_dcf(dealer, backend_.get(), width(in_bits), alpha, payload.data(), payload.size(),
                                            count, k0, k1);
        });
    }
    PackedLtKeyPair gen_packed_lt(trefoil_pfss_dealer* dealer, int in_bits, const std::vector<uint64_t>& thresholds,
                                  size_t count = 1) const {
        return pair([&](trefoil_pfss_bytes** k0, trefoil_pfss_bytes** k1) {
            return trefoil_pfss_suf_gen_packed_lt(dealer, backend_.get(), width(in_bits), thresholds.data(),
                                                  thresholds.size(), count, k0, k1);
        });
    }
    IntervalLutKeyPair gen_interval_lut(trefoil_pfss_dealer* dealer, const IntervalLutDesc& desc, size_t count = 1) const {
        return pair([&](trefoil_pfss_bytes** k0, trefoil_pfss_bytes** k1) {
            return trefoil_pfss_suf_gen_interval_lut(dealer, backend_.get(), width(desc.in_bits), width(desc.out_words),
                                                     desc.cutpoints.data(), desc.cutpoints.size(),
                                                     desc.payload_flat.data(), desc.payload_flat.size(), count, k0, k1);
        });
    }

    // A party's calls, on the public masked inputs. Results are as in SUF: XOR shares of bytes, XOR shares of bit masks,
    // additive shares of words.
    std::vector<uint8_t> eval_dcf(Keys& keys, uint64_t hatx, size_t out_bytes) const {
        std::vector<uint8_t> out(out_bytes);
        eval_dcf_many_u64(keys, {hatx}, out_bytes, out.data());
        return out;
    }
    void eval_dcf_many_u64(Keys& keys, const std::vector<uint64_t>& hatx, size_t out_bytes, uint8_t* outs_flat) const {
        check(trefoil_pfss_suf_eval_dcf_many(backend_.get(), keys.get(), hatx.data(), hatx.size(), outs_flat,
                                             hatx.size() * out_bytes));
    }
    void eval_packed_lt_many(Keys& keys, const std::vector<uint64_t>& hatx, size_t out_words, uint64_t* outs_bitmask) const {
        check(trefoil_pfss_suf_eval_packed_lt_many(backend_.get(), keys.get(), hatx.data(), hatx.size(), outs_bitmask,
                                                   hatx.size() * out_words));
    }
    void eval_interval_lut_many_u64(Keys& keys, const std::vector<uint64_t>& hatx, size_t out_words,
                                    uint64_t* outs_flat) const {
        check(trefoil_pfss_suf_eval_interval_lut_many(backend_.get(), keys.get(), hatx.data(), hatx.size(), outs_flat,
                                                      hatx.size() * out_words));
    }

    // The same for `count` inputs by pointer. Inputs and results are in host memory or in memory of the thread's device.
    void eval_dcf_many_u64(Keys& keys, const uint64_t* hatx, size_t count, size_t out_bytes, uint8_t* outs_flat) const {
        check(trefoil_pfss_suf_eval_dcf_many(backend_.get(), keys.get(), hatx, count, outs_flat, count * out_bytes));
    }
    void eval_packed_lt_many(Keys& keys, const uint64_t* hatx, size_t count, size_t out_words,
                             uint64_t* outs_bitmask) const {
        check(trefoil_pfss_suf_eval_packed_lt_many(backend_.get(), keys.get(), hatx, count, outs_bitmask,
                                                   count * out_words));
    }
    void eval_interval_lut_many_u64(Keys& keys, const uint64_t* hatx, size_t count, size_t out_words,
                                    uint64_t* outs_flat) const {
        check(trefoil_pfss_suf_eval_interval_lut_many(backend_.get(), keys.get(), hatx, count, outs_flat,
                                                      count * out_words));
    }

    trefoil_pfss_backend* get() const { return backend_.get(); }

private:
    // A negative number is no width; the library refuses the greatest one.
    static uint32_t width(int number) { return number < 0 ? UINT32_MAX : static_cast<uint32_t>(number); }

    template <class Gen>
    static KeyPair pair(Gen gen) {
        trefoil_pfss_bytes *k0 = nullptr, *k1 = nullptr;
        check(gen(&k0, &k1));
        return {FssKey{BytesHandle(k0)}, FssKey{BytesHandle(k1)}};
    }

    BackendHandle backend_;
};

// SUF's super-batch: jobs in, one flush, one message a round, shares out.
class PfssSuperBatch {
public:
    // Sends this party's message of a round and returns the other party's.
    using Exchange = std::function<std::vector<uint8_t>(const std::vector<uint8_t>&)>;

    explicit PfssSuperBatch(const PfssBackendBatch& backend) { open(backend, nullptr); }
    PfssSuperBatch(const PfssBackendBatch& backend, const trefoil_pfss_batch_options& limits) { open(backend, &limits); }

    uint64_t enqueue_composite(trefoil_pfss_gate* gate, trefoil_pfss_keys* keys, const std::vector<uint64_t>& hatx) {
        uint64_t job = 0;
        check(trefoil_pfss_batch_submit(batch_.get(), gate, keys, hatx.data(), hatx.size(), &job));
        return job;
    }
    // The same for `count` inputs by pointer, in host memory or in memory of the thread's device.
    uint64_t enqueue_composite(trefoil_pfss_gate* gate, trefoil_pfss_keys* keys, const uint64_t* hatx, size_t count) {
        uint64_t job = 0;
        check(trefoil_pfss_batch_submit(batch_.get(), gate, keys, hatx, count, &job));
        return job;
    }
    void flush_eval() { check(trefoil_pfss_batch_flush(batch_.get())); }
    void finalize_all(const Exchange& exchange) {
        for (;;) {
            size_t bytes = 0;
            check(trefoil_pfss_batch_pending(batch_.get(), &bytes));
            if (bytes == 0) return;
            std::vector<uint8_t> message(bytes);
            check(trefoil_pfss_batch_masked(batch_.get(), message.data(), bytes));
            const std::vector<uint8_t> theirs = exchange(message);
            check(trefoil_pfss_batch_absorb(batch_.get(), theirs.data(), theirs.size()));
        }
    }
    // `len` shares of a job's words: of haty if the gate masks its outputs (view), else of y (view_shared).
    std::vector<uint64_t> view(uint64_t job, size_t len) const {
        std::vector<uint64_t> words(len);
        check(trefoil_pfss_batch_haty_share(batch_.get(), job, words.data(), len));
        return words;
    }
    std::vector<uint64_t> view_shared(uint64_t job, size_t len) const {
        std::vector<uint64_t> words(len);
        check(trefoil_pfss_batch_y_share(batch_.get(), job, words.data(), len));
        return words;
    }
    // The same into an array in host memory or in memory of the thread's device.
    void view(uint64_t job, uint64_t* words, size_t len) const {
        check(trefoil_pfss_batch_haty_share(batch_.get(), job, words, len));
    }
    void view_shared(uint64_t job, uint64_t* words, size_t len) const {
        check(trefoil_pfss_batch_y_share(batch_.get(), job, words, len));
    }
    trefoil_pfss_counters stats() const {
        trefoil_pfss_counters counters;
        check(trefoil_pfss_batch_counters(batch_.get(), &counters));
        return counters;
    }
    void clear() { check(trefoil_pfss_batch_clear(batch_.get())); }

private:
    void open(const PfssBackendBatch& backend, const trefoil_pfss_batch_options* limits) {
        trefoil_pfss_batch* batch = nullptr;
        check(trefoil_pfss_batch_open(backend.get(), limits, &batch));
        batch_.reset(batch);
    }

    BatchHandle batch_;
};

}  // namespace suf
}  // namespace trefoil

#endif
