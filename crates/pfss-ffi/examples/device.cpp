// Gates, a product of matrices, a product by opened weights, and SUF's calls on arrays in device memory: inputs, masked
// inputs, opened words and shares stay on the device, in the order of the program's stream. Prints the opened results, and
// then what the calls refuse.
//
//   c++ -std=c++17 -I crates/pfss-ffi/include crates/pfss-ffi/examples/device.cpp -L PREFIX/lib -ltrefoil_pfss -lcuda
//       -lpthread -o device
//
// The first argument is the backend, gpu by default. sim is the simulated device; its driver is within the library that cargo
// builds, which the program then links in place of -lcuda. The refusals need two devices. In earnest the dealer and the two
// parties are three programs; what crosses a channel here is marked so.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cuda.hpp"
#include "suf_compat.hpp"

namespace suf = trefoil::suf;

namespace {

constexpr size_t COUNT = 40;
constexpr uint32_t BITS = 20;
constexpr uint64_t RING = (uint64_t{1} << BITS) - 1;

using Words = std::vector<uint64_t>;

void* stream = nullptr;

// Elements on the device, in the order of the program's stream, which no member but get waits for.
template <class T>
class Array {
  public:
    // Elements of one pattern, so that a result that is not written would be seen.
    explicit Array(size_t count) : count_(count) {
        driver(cuMemAlloc_v2(&address_, count * sizeof(T)), "memory");
        driver(cuMemsetD8Async(address_, 0xee, count * sizeof(T), stream), "fill");
    }
    // A copy, as a kernel of the layer before would leave it.
    explicit Array(const std::vector<T>& elements) : Array(elements.size()) {
        driver(cuMemcpyHtoDAsync_v2(address_, elements.data(), count_ * sizeof(T), stream), "copy");
    }
    ~Array() {
        driver(cuStreamSynchronize(stream), "stream");
        driver(cuMemFree_v2(address_), "memory");
    }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;

    T* data() const { return reinterpret_cast<T*>(address_); }
    std::vector<T> get() const {
        std::vector<T> elements(count_);
        driver(cuMemcpyDtoHAsync_v2(elements.data(), address_, count_ * sizeof(T), stream), "copy");
        driver(cuStreamSynchronize(stream), "stream");
        return elements;
    }

  private:
    size_t count_;
    CUdeviceptr address_ = 0;
};

uint64_t input(size_t e) { return (e * 30000 - 600000) & RING; }

// A party's additive shares.
Words shares(int party, size_t count, const std::function<uint64_t(size_t)>& secret) {
    Words words(count);
    for (size_t e = 0; e < count; e++) {
        const uint64_t share = (e + 1) * 0x9e3779b97f4a7c15u;
        words[e] = party == 0 ? share : secret(e) - share;
    }
    return words;
}

void print(const char* what, const Words& values) {
    std::printf("%s", what);
    for (uint64_t value : values) std::printf(" %llx", static_cast<unsigned long long>(value));
    std::printf("\n");
}

// The two parties' shares on the device, opened modulo a power of two.
template <class Fill>
Words opened(size_t count, uint64_t mask, Fill fill) {
    Words sums(count);
    for (int party = 0; party < 2; party++) {
        Array<uint64_t> words(count);
        suf::check(fill(party, words.data(), count));
        const Words mine = words.get();
        for (size_t e = 0; e < count; e++) sums[e] = (sums[e] + mine[e]) & mask;
    }
    return sums;
}

// Both parties' keys of a gate, and the masked inputs that both know.
struct Dealt {
    trefoil_pfss_keys* keys[2] = {nullptr, nullptr};
    Words hatx;

    Dealt(trefoil_pfss_dealer* dealer, trefoil_pfss_backend* backend, trefoil_pfss_gate* gate) {
        trefoil_pfss_bytes* bundles[2];
        suf::check(trefoil_pfss_deal(dealer, backend, gate, COUNT, &bundles[0], &bundles[1]));
        for (int party = 0; party < 2; party++) {
            const suf::BytesHandle bytes(bundles[party]);
            suf::check(trefoil_pfss_keys_read(trefoil_pfss_bytes_data(bytes.get()), trefoil_pfss_bytes_len(bytes.get()),
                                              &keys[party]));
        }
        // Between the parties: masked inputs.
        hatx = opened(COUNT, RING, [&](int party, uint64_t* masked, size_t count) {
            const Array<uint64_t> x(shares(party, COUNT, input));
            return trefoil_pfss_keys_mask_inputs(keys[party], x.data(), count, masked);
        });
    }
    ~Dealt() {
        for (trefoil_pfss_keys* one : keys) trefoil_pfss_keys_free(one);
    }
};

// ReLU by name, in a batch.
void batch(trefoil_pfss_dealer* dealer, trefoil_pfss_backend* backend) {
    trefoil_pfss_gate_parameters parameters = {};
    parameters.n = BITS;
    trefoil_pfss_gate* gate = nullptr;
    suf::check(trefoil_pfss_gate_named("relu", &parameters, &gate));
    const Dealt dealt(dealer, backend, gate);
    const Array<uint64_t> hatx(dealt.hatx);
    trefoil_pfss_batch* parties[2];
    uint64_t jobs[2];
    std::vector<uint8_t> messages[2];
    for (int party = 0; party < 2; party++) {
        suf::check(trefoil_pfss_batch_open(backend, nullptr, &parties[party]));
        suf::check(
            trefoil_pfss_batch_submit(parties[party], gate, dealt.keys[party], hatx.data(), COUNT, &jobs[party]));
        suf::check(trefoil_pfss_batch_flush(parties[party]));
        size_t bytes = 0;
        suf::check(trefoil_pfss_batch_pending(parties[party], &bytes));
        messages[party].resize(bytes);
        suf::check(trefoil_pfss_batch_masked(parties[party], messages[party].data(), bytes));
    }
    for (int party = 0; party < 2; party++) {
        // Between the parties: masked bits.
        size_t left = 1;
        const std::vector<uint8_t>& theirs = messages[1 - party];
        suf::check(trefoil_pfss_batch_absorb(parties[party], theirs.data(), theirs.size()));
        suf::check(trefoil_pfss_batch_pending(parties[party], &left));
        if (left != 0) std::exit(1);
    }
    print("relu", opened(COUNT, RING, [&](int party, uint64_t* words, size_t len) {
              return trefoil_pfss_batch_y_share(parties[party], jobs[party], words, len);
          }));
    for (trefoil_pfss_batch* one : parties) trefoil_pfss_batch_free(one);
    trefoil_pfss_gate_free(gate);
}

// A descriptor evaluated by itself: y = x + 7 below 1000, else 3x; and the top bit of x.
void descriptor(trefoil_pfss_dealer* dealer, trefoil_pfss_backend* backend, uint64_t additive) {
    std::vector<uint8_t> bytes;
    const auto numbers = [&](std::initializer_list<uint64_t> values) {
        for (uint64_t value : values) {
            for (int i = 0; i < 8; i++) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
        }
    };
    const auto name = [&](const std::string& text) {
        numbers({text.size()});
        bytes.insert(bytes.end(), text.begin(), text.end());
    };
    numbers({0, 2, additive, BITS, BITS, 1, 1, 1, 1, 2});
    name("y");
    name("sign");
    numbers({3, 0, 2, 7, 1, 6, 1000, 2, 0, 3, 6});
    trefoil_pfss_gate* gate = nullptr;
    suf::check(trefoil_pfss_gate_read(bytes.data(), bytes.size(), &gate));
    const Dealt dealt(dealer, backend, gate);
    const Array<uint64_t> hatx(dealt.hatx);
    trefoil_pfss_evaluation* parties[2];
    for (int party = 0; party < 2; party++) {
        suf::check(trefoil_pfss_evaluate(backend, dealt.keys[party], hatx.data(), COUNT, &parties[party]));
    }
    for (;;) {
        // Between the parties: masked bits.
        std::vector<uint32_t> messages[2];
        for (int party = 0; party < 2; party++) {
            size_t words = 0;
            suf::check(trefoil_pfss_evaluation_pending(parties[party], &words));
            messages[party].resize(words);
            if (words == 0) continue;
            suf::check(trefoil_pfss_evaluation_masked_bits(parties[party], messages[party].data(), words));
        }
        if (messages[0].empty()) break;
        for (int party = 0; party < 2; party++) {
            const std::vector<uint32_t>& theirs = messages[1 - party];
            suf::check(trefoil_pfss_evaluation_resume(parties[party], theirs.data(), theirs.size()));
        }
    }
    print("y", opened(COUNT, RING, [&](int party, uint64_t* words, size_t len) {
              return trefoil_pfss_y_share(parties[party], words, len);
          }));
    if (additive == 1) {
        print("sign", opened(COUNT, RING, [&](int party, uint64_t* bools, size_t len) {
                  return trefoil_pfss_bool_share(parties[party], bools, len);
              }));
    } else {
        const size_t words = (COUNT + 31) / 32;
        std::vector<uint32_t> bits(words);
        for (trefoil_pfss_evaluation* party : parties) {
            const Array<uint32_t> mine(words);
            suf::check(trefoil_pfss_bool_share_packed(party, mine.data(), words));
            const std::vector<uint32_t> packed = mine.get();
            for (size_t i = 0; i < words; i++) bits[i] ^= packed[i];
        }
        Words sign(COUNT);
        for (size_t e = 0; e < COUNT; e++) sign[e] = (bits[e / 32] >> (e % 32)) & 1;
        print("sign", sign);
    }
    for (trefoil_pfss_evaluation* party : parties) trefoil_pfss_evaluation_free(party);
    trefoil_pfss_gate_free(gate);
}

// Drives both parties' runs to their end.
void exchange(trefoil_pfss_run* (&runs)[2]) {
    for (;;) {
        std::vector<uint8_t> messages[2];
        for (int party = 0; party < 2; party++) {
            size_t bytes = 0;
            suf::check(trefoil_pfss_run_pending(runs[party], &bytes));
            messages[party].resize(bytes);
            if (bytes > 0) suf::check(trefoil_pfss_run_masked(runs[party], messages[party].data(), bytes));
        }
        if (messages[0].empty()) return;
        for (int party = 0; party < 2; party++) {
            // Between the parties: masked values.
            const std::vector<uint8_t>& theirs = messages[1 - party];
            suf::check(trefoil_pfss_run_absorb(runs[party], theirs.data(), theirs.size()));
        }
    }
}

uint64_t left(size_t e) { return e * e + 3; }
uint64_t right(size_t e) { return 1000 - 77 * e; }

void print_product(const char* what, trefoil_pfss_run* (&runs)[2]) {
    print(what, opened(4, ~uint64_t{0}, [&](int party, uint64_t* words, size_t len) {
              return trefoil_pfss_run_y_share(runs[party], words, len);
          }));
    for (trefoil_pfss_run* run : runs) trefoil_pfss_run_free(run);
}

// A product of two secret matrices, 2 by 3 and 3 by 2, modulo 2^64.
void matrices(trefoil_pfss_dealer* dealer, trefoil_pfss_backend* backend) {
    trefoil_pfss_plan* plan = nullptr;
    suf::check(trefoil_pfss_plan_matmul(64, 1, 2, 3, 2, &plan));
    trefoil_pfss_bytes* keys[2];
    suf::check(trefoil_pfss_plan_deal(dealer, backend, plan, &keys[0], &keys[1]));
    trefoil_pfss_run* runs[2];
    for (int party = 0; party < 2; party++) {
        const suf::BytesHandle bytes(keys[party]);
        const Array<uint64_t> x(shares(party, 6, left)), y(shares(party, 6, right));
        suf::check(trefoil_pfss_run_start(backend, plan, trefoil_pfss_bytes_data(bytes.get()),
                                          trefoil_pfss_bytes_len(bytes.get()), x.data(), 6, y.data(), 6, &runs[party]));
    }
    exchange(runs);
    print_product("matmul", runs);
    trefoil_pfss_plan_free(plan);
}

// The same product, whose second factor is opened under its mask first.
void weights(trefoil_pfss_dealer* dealer, trefoil_pfss_backend* backend) {
    trefoil_pfss_bytes *keys[2], *mask_bytes;
    suf::check(trefoil_pfss_weights_deal(dealer, 64, 3, 2, &keys[0], &keys[1], &mask_bytes));
    const suf::BytesHandle mask(mask_bytes);
    trefoil_pfss_run* runs[2];
    for (int party = 0; party < 2; party++) {
        const suf::BytesHandle bytes(keys[party]);
        const Array<uint64_t> y(shares(party, 6, right));
        suf::check(trefoil_pfss_weights_open(backend, 64, 3, 2, trefoil_pfss_bytes_data(bytes.get()),
                                             trefoil_pfss_bytes_len(bytes.get()), y.data(), 6, &runs[party]));
    }
    exchange(runs);
    trefoil_pfss_weights* opened_weights[2];
    for (int party = 0; party < 2; party++) {
        suf::check(trefoil_pfss_run_weights(runs[party], &opened_weights[party]));
        trefoil_pfss_run_free(runs[party]);
    }
    suf::check(trefoil_pfss_weights_deal_product(dealer, backend, trefoil_pfss_bytes_data(mask.get()),
                                                 trefoil_pfss_bytes_len(mask.get()), 2, &keys[0], &keys[1]));
    for (int party = 0; party < 2; party++) {
        const suf::BytesHandle bytes(keys[party]);
        const Array<uint64_t> x(shares(party, 6, left));
        suf::check(trefoil_pfss_weights_product(backend, opened_weights[party], trefoil_pfss_bytes_data(bytes.get()),
                                                trefoil_pfss_bytes_len(bytes.get()), x.data(), 6, &runs[party]));
        trefoil_pfss_weights_free(opened_weights[party]);
    }
    exchange(runs);
    print_product("weights", runs);
}

// SUF's masked inputs, opened modulo a power of two.
Words open_inputs(suf::Keys (&keys)[2], uint64_t mask) {
    // Between the parties: masked inputs.
    return opened(COUNT, mask, [&](int party, uint64_t* masked, size_t count) {
        const Array<uint64_t> x(shares(party, count, input));
        keys[party].mask(x.data(), count, masked);
        return TREFOIL_PFSS_OK;
    });
}

// SUF's calls with one key for each input.
void suf_calls(trefoil_pfss_dealer* dealer, const suf::PfssBackendBatch& backend) {
    {
        const suf::PackedLtKeyPair pair = backend.gen_packed_lt(dealer, BITS, {5, 30000, 30001, 600000}, COUNT);
        suf::Keys keys[2] = {suf::Keys(pair.k0), suf::Keys(pair.k1)};
        const Array<uint64_t> hatx(open_inputs(keys, RING));
        Words bits(COUNT);
        for (suf::Keys& party : keys) {
            const Array<uint64_t> outs(COUNT);
            backend.eval_packed_lt_many(party, hatx.data(), COUNT, 1, outs.data());
            const Words mine = outs.get();
            for (size_t e = 0; e < COUNT; e++) bits[e] ^= mine[e];
        }
        print("packed", bits);
    }
    {
        const suf::DcfKeyPair pair = backend.gen_dcf(dealer, BITS, 300000, {0x12, 0x34}, COUNT);
        suf::Keys keys[2] = {suf::Keys(pair.k0), suf::Keys(pair.k1)};
        const Array<uint64_t> hatx(open_inputs(keys, RING));
        Words bytes(2 * COUNT);
        for (suf::Keys& party : keys) {
            const Array<uint8_t> outs(2 * COUNT);
            backend.eval_dcf_many_u64(party, hatx.data(), COUNT, 2, outs.data());
            const std::vector<uint8_t> mine = outs.get();
            for (size_t i = 0; i < 2 * COUNT; i++) bytes[i] ^= mine[i];
        }
        print("dcf", bytes);
    }
    {
        suf::IntervalLutDesc desc;
        desc.in_bits = BITS;
        desc.out_words = 2;
        desc.cutpoints = {0, 90000, 600000, uint64_t{1} << BITS};
        desc.payload_flat = {1, ~uint64_t{0}, 20, 21, 300, uint64_t{1} << 63};
        const suf::IntervalLutKeyPair pair = backend.gen_interval_lut(dealer, desc, COUNT);
        suf::Keys keys[2] = {suf::Keys(pair.k0), suf::Keys(pair.k1)};
        const Array<uint64_t> hatx(open_inputs(keys, ~uint64_t{0}));
        print("lut", opened(2 * COUNT, ~uint64_t{0}, [&](int party, uint64_t* outs, size_t) {
                  backend.eval_interval_lut_many_u64(keys[party], hatx.data(), COUNT, 2, outs);
                  return TREFOIL_PFSS_OK;
              }));
    }
}

void refused(trefoil_pfss_status status) {
    std::printf("%d %s\n", static_cast<int>(status), trefoil_pfss_last_error());
}

// Refused calls spend no keys and write nothing.
void refusals(trefoil_pfss_dealer* dealer, const suf::PfssBackendBatch& backend) {
    const suf::PackedLtKeyPair pair = backend.gen_packed_lt(dealer, BITS, {30000}, COUNT);
    suf::Keys keys(pair.k0);
    const Array<uint64_t> x(shares(0, COUNT, input)), masked(COUNT);
    const Words before = masked.get();
    const auto mask = [&](const uint64_t* from, uint64_t* to) {
        return trefoil_pfss_suf_keys_mask_inputs(keys.get(), from, COUNT, to);
    };
    refused(mask(x.data() + 1, masked.data()));
    refused(mask(x.data(), masked.data() + COUNT - 2));
    // Memory of another device.
    void *contexts[2], *graph;
    CUdeviceptr elsewhere = 0;
    for (int device = 0; device < 2; device++) {
        driver(cuDevicePrimaryCtxRetain(&contexts[device], device), "context");
    }
    driver(cuCtxSetCurrent(contexts[1]), "context");
    driver(cuMemAlloc_v2(&elsewhere, COUNT * sizeof(uint64_t)), "memory");
    refused(mask(reinterpret_cast<const uint64_t*>(elsewhere), masked.data()));
    driver(cuMemFree_v2(elsewhere), "memory");
    driver(cuCtxSetCurrent(contexts[0]), "context");
    // A stream that records its work, whichever array would need it.
    Words host(COUNT);
    driver(cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED), "capture");
    refused(mask(x.data(), host.data()));
    refused(mask(host.data(), masked.data()));
    driver(cuStreamEndCapture(stream, &graph), "capture");
    driver(cuGraphDestroy(graph), "graph");
    if (masked.get() != before) std::exit(1);

    // The keys serve as before, from host memory to the device.
    const Words shared = shares(0, COUNT, input);
    suf::check(mask(shared.data(), masked.data()));
    if (masked.get() == before) std::exit(1);
    const Array<uint64_t> hatx(shares(0, COUNT, input)), outs(COUNT);
    const Words unwritten = outs.get();
    refused(trefoil_pfss_suf_eval_packed_lt_many(backend.get(), keys.get(), hatx.data(), COUNT, outs.data() + 1, COUNT));
    if (outs.get() != unwritten) std::exit(1);
    backend.eval_packed_lt_many(keys, hatx.data(), COUNT, 1, outs.data());
    if (outs.get() == unwritten) std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
    void* context = nullptr;
    trefoil_pfss_dealer* opened_dealer = nullptr;
    suf::check(trefoil_pfss_dealer_open(&opened_dealer));
    const suf::DealerHandle dealer(opened_dealer);
    {
        const suf::PfssBackendBatch backend(argc > 1 ? argv[1] : "gpu");
        driver(cuInit(0), "cuInit");
        driver(cuDevicePrimaryCtxRetain(&context, 0), "context");
        driver(cuCtxSetCurrent(context), "context");
        driver(cuStreamCreate(&stream, NON_BLOCKING), "stream");
        backend.set_stream(stream);
        batch(dealer.get(), backend.get());
        descriptor(dealer.get(), backend.get(), 1);
        descriptor(dealer.get(), backend.get(), 0);
        matrices(dealer.get(), backend.get());
        weights(dealer.get(), backend.get());
        suf_calls(dealer.get(), backend);
        refusals(dealer.get(), backend);
        // The device of the stream is the arrays', whichever backend computes.
        const suf::PfssBackendBatch processor("cpu");
        matrices(dealer.get(), processor.get());
        driver(cuStreamDestroy_v2(stream), "stream");
        // The legacy default stream.
        stream = nullptr;
        backend.set_stream(stream);
        matrices(dealer.get(), backend.get());
    }
    // A stream has no meaning without its backend.
    const suf::PfssBackendBatch processor("cpu");
    const suf::PackedLtKeyPair pair = processor.gen_packed_lt(dealer.get(), BITS, {30000}, 1);
    suf::Keys keys(pair.k0);
    uint64_t word = 5;
    refused(trefoil_pfss_suf_keys_mask_inputs(keys.get(), &word, 1, &word));
    refused(trefoil_pfss_set_stream(processor.get(), &word));
    refused(trefoil_pfss_set_stream(nullptr, &word));
    suf::check(trefoil_pfss_set_stream(nullptr, nullptr));
    keys.mask(&word, 1, &word);
    return 0;
}
