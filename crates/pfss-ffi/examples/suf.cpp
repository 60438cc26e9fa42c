// SUF's calls with one key for each input: packed comparisons, a DCF and an interval look-up, as both parties in one
// process, and a job of a super-batch. Prints the opened results.
//
//   c++ -std=c++17 -I crates/pfss-ffi/include crates/pfss-ffi/examples/suf.cpp target/release/libtrefoil_pfss.a
//       -lpthread -ldl -lm -o suf
//
// In earnest the dealer and the two parties are three programs; what crosses a channel here is marked so.
#include <cstdio>
#include <cstring>

#include "suf_compat.hpp"

namespace suf = trefoil::suf;

namespace {

constexpr int IN_BITS = 12;
constexpr size_t COUNT = 40;

uint64_t input(size_t e) { return e * 100; }

// From the dealer to each party only; then both mask their shares, and open the sums.
std::vector<uint64_t> open_inputs(suf::Keys& zero, suf::Keys& one, uint64_t ring_mask) {
    std::vector<uint64_t> x[2];
    for (size_t e = 0; e < COUNT; e++) {
        const uint64_t share = e * 0x9e3779b97f4a7c15u;
        x[0].push_back(share & ring_mask);
        x[1].push_back((input(e) - share) & ring_mask);
    }
    const std::vector<uint64_t> first = zero.mask(x[0]), second = one.mask(x[1]);
    // Between the parties: masked inputs.
    std::vector<uint64_t> hatx(COUNT);
    for (size_t e = 0; e < COUNT; e++) hatx[e] = (first[e] + second[e]) & ring_mask;
    return hatx;
}

void print(const char* what, const std::vector<uint64_t>& values) {
    std::printf("%s", what);
    for (uint64_t value : values) std::printf(" %llx", static_cast<unsigned long long>(value));
    std::printf("\n");
}

// ReLU of COUNT inputs in a super-batch: party 0 by SUF's class, party 1 by the C functions.
void super_batch(trefoil_pfss_dealer* dealer, const suf::PfssBackendBatch& backend) {
    const uint64_t ring_mask = (uint64_t{1} << IN_BITS) - 1;
    trefoil_pfss_gate_parameters parameters = {};
    parameters.n = IN_BITS;
    trefoil_pfss_gate* gate = nullptr;
    suf::check(trefoil_pfss_gate_named("relu", &parameters, &gate));
    trefoil_pfss_bytes* bundles[2];
    suf::check(trefoil_pfss_deal(dealer, backend.get(), gate, COUNT, &bundles[0], &bundles[1]));
    trefoil_pfss_keys* keys[2];
    std::vector<uint64_t> hatx(COUNT);
    for (int p = 0; p < 2; p++) {
        suf::check(trefoil_pfss_keys_read(trefoil_pfss_bytes_data(bundles[p]), trefoil_pfss_bytes_len(bundles[p]), &keys[p]));
        trefoil_pfss_bytes_free(bundles[p]);
        std::vector<uint64_t> shares(COUNT), masked(COUNT);
        for (size_t e = 0; e < COUNT; e++) shares[e] = p == 0 ? e : (input(e) - e) & ring_mask;
        suf::check(trefoil_pfss_keys_mask_inputs(keys[p], shares.data(), COUNT, masked.data()));
        // Between the parties: masked inputs.
        for (size_t e = 0; e < COUNT; e++) hatx[e] = (hatx[e] + masked[e]) & ring_mask;
    }

    suf::PfssSuperBatch zero(backend);
    const uint64_t job = zero.enqueue_composite(gate, keys[0], hatx);
    zero.flush_eval();
    trefoil_pfss_batch* one = nullptr;
    uint64_t other = 0;
    suf::check(trefoil_pfss_batch_open(backend.get(), nullptr, &one));
    suf::check(trefoil_pfss_batch_submit(one, gate, keys[1], hatx.data(), COUNT, &other));
    suf::check(trefoil_pfss_batch_flush(one));
    // Between the parties: masked bits.
    zero.finalize_all([&](const std::vector<uint8_t>& mine) {
        size_t bytes = 0;
        suf::check(trefoil_pfss_batch_pending(one, &bytes));
        std::vector<uint8_t> theirs(bytes);
        suf::check(trefoil_pfss_batch_masked(one, theirs.data(), bytes));
        suf::check(trefoil_pfss_batch_absorb(one, mine.data(), mine.size()));
        return theirs;
    });
    size_t left = 0;
    suf::check(trefoil_pfss_batch_pending(one, &left));

    std::vector<uint64_t> words = zero.view_shared(job, COUNT), others(COUNT);
    suf::check(trefoil_pfss_batch_y_share(one, other, others.data(), COUNT));
    for (size_t e = 0; e < COUNT; e++) words[e] = (words[e] + others[e]) & ring_mask;
    print("relu", words);
    std::printf("jobs %llu\n", static_cast<unsigned long long>(zero.stats().jobs));
    zero.clear();
    trefoil_pfss_batch_free(one);
    for (trefoil_pfss_keys* one_of_them : keys) trefoil_pfss_keys_free(one_of_them);
    trefoil_pfss_gate_free(gate);
}

void run(trefoil_pfss_dealer* dealer) {
    const uint64_t ring_mask = (uint64_t{1} << IN_BITS) - 1;
    suf::PfssBackendBatch backend("cpu");

    {
        const suf::PackedLtKeyPair pair = backend.gen_packed_lt(dealer, IN_BITS, {5, 700, 701, 3000}, COUNT);
        suf::Keys zero(pair.k0), one(pair.k1);
        const std::vector<uint64_t> hatx = open_inputs(zero, one, ring_mask);
        std::vector<uint64_t> shares[2] = {std::vector<uint64_t>(COUNT), std::vector<uint64_t>(COUNT)};
        backend.eval_packed_lt_many(zero, hatx, 1, shares[0].data());
        backend.eval_packed_lt_many(one, hatx, 1, shares[1].data());
        for (size_t e = 0; e < COUNT; e++) shares[0][e] ^= shares[1][e];
        print("packed", shares[0]);
    }
    {
        const suf::DcfKeyPair pair = backend.gen_dcf(dealer, IN_BITS, 1000, {0x12, 0x34}, COUNT);
        suf::Keys zero(pair.k0), one(pair.k1);
        const std::vector<uint64_t> hatx = open_inputs(zero, one, ring_mask);
        std::vector<uint8_t> shares[2] = {std::vector<uint8_t>(2 * COUNT), std::vector<uint8_t>(2 * COUNT)};
        backend.eval_dcf_many_u64(zero, hatx, 2, shares[0].data());
        backend.eval_dcf_many_u64(one, hatx, 2, shares[1].data());
        std::vector<uint64_t> bytes(2 * COUNT);
        for (size_t i = 0; i < 2 * COUNT; i++) bytes[i] = shares[0][i] ^ shares[1][i];
        print("dcf", bytes);
    }
    {
        suf::IntervalLutDesc desc;
        desc.in_bits = IN_BITS;
        desc.out_words = 2;
        desc.cutpoints = {0, 900, 2000, uint64_t{1} << IN_BITS};
        desc.payload_flat = {1, ~uint64_t{0}, 20, 21, 300, uint64_t{1} << 63};
        const suf::IntervalLutKeyPair pair = backend.gen_interval_lut(dealer, desc, COUNT);
        suf::Keys zero(pair.k0), one(pair.k1);
        const std::vector<uint64_t> hatx = open_inputs(zero, one, ~uint64_t{0});
        std::vector<uint64_t> shares[2] = {std::vector<uint64_t>(2 * COUNT), std::vector<uint64_t>(2 * COUNT)};
        backend.eval_interval_lut_many_u64(zero, hatx, 2, shares[0].data());
        backend.eval_interval_lut_many_u64(one, hatx, 2, shares[1].data());
        for (size_t i = 0; i < 2 * COUNT; i++) shares[0][i] += shares[1][i];
        print("lut", shares[0]);
    }
    // One key for many inputs.
    try {
        const suf::DcfKeyPair pair = backend.gen_dcf(dealer, IN_BITS, 1000, {1});
        suf::Keys keys(pair.k0);
        std::vector<uint8_t> outs(COUNT);
        backend.eval_dcf_many_u64(keys, std::vector<uint64_t>(COUNT), 1, outs.data());
        std::printf("one mask was used for many values\n");
    } catch (const suf::Error& error) {
        const char* reason = std::strstr(error.what(), "one mask");
        std::printf("%s\n", reason == nullptr ? error.what() : reason);
    }
    super_batch(dealer, backend);
}

}  // namespace

int main() {
    trefoil_pfss_dealer* dealer = nullptr;
    suf::check(trefoil_pfss_dealer_open(&dealer));
    const suf::DealerHandle freed(dealer);
    run(dealer);
    return 0;
}
