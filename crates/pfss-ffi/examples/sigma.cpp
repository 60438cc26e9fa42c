// The functions of SUF's bridge to SIGMA on masked values: a dealer makes both parties' keys from the masks of the inputs,
// and the parties take open masked inputs to open masked outputs. Party 0 calls SUF's own names, party 1 the same functions
// with a context. Prints the results without their masks, which only the dealer can compute.
//
//   c++ -std=c++17 -I crates/pfss-ffi/include crates/pfss-ffi/examples/sigma.cpp target/release/libtrefoil_pfss.a
//       -lpthread -ldl -lm -o sigma
//
// In earnest the dealer and the two parties are three programs; what crosses a channel here is marked so.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "peer.hpp"
#include "trefoil_sigma.h"

namespace {

constexpr size_t COUNT = 50;
constexpr int BW = 50, SCALE = 12, NMAX = 128, EXTRADIV = 768;
constexpr uint64_t RING = (uint64_t{1} << BW) - 1;
constexpr size_t CAPACITY = size_t{1} << 21;
constexpr int FUNCTIONS = 4;
const char* const NAMES[FUNCTIONS] = {"silu", "nexp", "inverse", "rsqrt"};

using Words = std::vector<uint64_t>;

void check(trefoil_pfss_status status, const char* what) {
    if (status == TREFOIL_PFSS_OK) return;
    std::fprintf(stderr, "%s: %s\n", what, trefoil_pfss_last_error());
    std::exit(1);
}

// An input of each function.
int64_t input(int function, size_t e) {
    const int64_t at = static_cast<int64_t>(e);
    switch (function) {
        case 0: return (at - 25) * 700;
        case 1: return at * 1500;
        case 2: return 4096 + at * 8000;
        default: return 200000 + at * 1000000;
    }
}

// Masks of a function's inputs: in earnest they are the masks of the layer before, uniform and secret.
Words masks(int function) {
    Words words(COUNT);
    for (size_t e = 0; e < COUNT; e++) words[e] = ((e + 1) * 0x9e3779b97f4a7c15u + function) & RING;
    return words;
}

trefoil_pfss_status keygen(trefoil_pfss_sigma* dealer, int party, int function, const Words& in, Words& out) {
    switch (function) {
        case 0:
            return trefoil_pfss_sigma_keygen_activation(dealer, party, BW, SCALE, true, in.data(), COUNT, out.data());
        case 1: return trefoil_pfss_sigma_keygen_nexp(dealer, party, BW, SCALE, in.data(), COUNT, out.data());
        case 2: return trefoil_pfss_sigma_keygen_inverse(dealer, party, BW, SCALE, NMAX, in.data(), COUNT, out.data());
        default:
            return trefoil_pfss_sigma_keygen_rsqrt(dealer, party, BW, SCALE, EXTRADIV, in.data(), COUNT, out.data());
    }
}

trefoil_pfss_status eval_global(const trefoil_pfss_sigma_peer* peer, int function, const Words& in, Words& out,
                                trefoil_pfss_sigma_stats* stats) {
    switch (function) {
        case 0: return suf_sigma_eval_activation(peer, 0, BW, SCALE, true, in.data(), COUNT, out.data(), stats);
        case 1: return suf_sigma_eval_nexp(peer, 0, BW, SCALE, in.data(), COUNT, out.data(), stats);
        case 2: return suf_sigma_eval_inverse(peer, 0, BW, SCALE, NMAX, in.data(), COUNT, out.data(), stats);
        default: return suf_sigma_eval_rsqrt(peer, 0, BW, SCALE, EXTRADIV, in.data(), COUNT, out.data(), stats);
    }
}

trefoil_pfss_status eval(trefoil_pfss_sigma* context, const trefoil_pfss_sigma_peer* peer, int function, const Words& in,
                         Words& out, trefoil_pfss_sigma_stats* stats) {
    switch (function) {
        case 0:
            return trefoil_pfss_sigma_eval_activation(context, peer, 1, BW, SCALE, true, in.data(), COUNT, out.data(),
                                                      stats);
        case 1:
            return trefoil_pfss_sigma_eval_nexp(context, peer, 1, BW, SCALE, in.data(), COUNT, out.data(), stats);
        case 2:
            return trefoil_pfss_sigma_eval_inverse(context, peer, 1, BW, SCALE, NMAX, in.data(), COUNT, out.data(), stats);
        default:
            return trefoil_pfss_sigma_eval_rsqrt(context, peer, 1, BW, SCALE, EXTRADIV, in.data(), COUNT, out.data(),
                                                 stats);
    }
}

}  // namespace

int main() {
    trefoil_pfss_backend* backend = nullptr;
    check(trefoil_pfss_backend_open("cpu", &backend), "backend");

    // The dealer: the same calls make each party's keys, and give the same masks of outputs. A fixed seed, so that a test
    // can compare; null draws a secret one.
    const uint8_t seed[32] = {7};
    trefoil_pfss_sigma* dealer = nullptr;
    check(trefoil_pfss_sigma_open(backend, seed, sizeof seed, &dealer), "dealer");
    std::vector<uint8_t> keys[2] = {std::vector<uint8_t>(CAPACITY), std::vector<uint8_t>(CAPACITY)};
    std::vector<Words> output_masks[2] = {std::vector<Words>(FUNCTIONS, Words(COUNT)),
                                          std::vector<Words>(FUNCTIONS, Words(COUNT))};
    for (int party = 0; party < 2; party++) {
        uint8_t* cursor = keys[party].data();
        check(trefoil_pfss_sigma_set_keybuf_ptr(dealer, &cursor, CAPACITY), "buffer");
        check(trefoil_pfss_sigma_reset_keygen(dealer), "reset");
        for (int f = 0; f < FUNCTIONS; f++) check(keygen(dealer, party, f, masks(f), output_masks[party][f]), NAMES[f]);
    }
    trefoil_pfss_sigma_free(dealer);
    if (output_masks[0] != output_masks[1]) return 1;

    // From the dealer to each party only: keys[party]. Both parties know the masked inputs.
    std::vector<Words> opened[2] = {std::vector<Words>(FUNCTIONS, Words(COUNT)),
                                    std::vector<Words>(FUNCTIONS, Words(COUNT))};
    std::vector<Words> hatx(FUNCTIONS, Words(COUNT));
    for (int f = 0; f < FUNCTIONS; f++) {
        const Words r = masks(f);
        for (size_t e = 0; e < COUNT; e++) hatx[f][e] = (static_cast<uint64_t>(input(f, e)) + r[e]) & RING;
    }
    Pipe to_zero, to_one;
    trefoil_pfss_sigma_stats stats[2] = {};
    std::thread zero([&] {
        Peer link = {&to_one, &to_zero};
        const trefoil_pfss_sigma_peer peer = {&link, exchange};
        uint8_t* cursor = keys[0].data();
        check(trefoil_pfss_sigma_open_global(backend, nullptr, 0), "open");
        check(suf_sigma_set_keybuf_ptr(&cursor, CAPACITY), "buffer");
        // SIGMA reads all keys of a layer first, and evaluates then.
        for (int f = 0; f < FUNCTIONS; f++) check(suf_sigma_consume_key(), "consume");
        for (int f = 0; f < FUNCTIONS; f++) check(eval_global(&peer, f, hatx[f], opened[0][f], &stats[0]), NAMES[f]);
        check(suf_sigma_clear(), "clear");
    });
    std::thread one([&] {
        Peer link = {&to_zero, &to_one};
        const trefoil_pfss_sigma_peer peer = {&link, exchange};
        uint8_t* cursor = keys[1].data();
        trefoil_pfss_sigma* context = nullptr;
        check(trefoil_pfss_sigma_open(backend, nullptr, 0, &context), "open");
        check(trefoil_pfss_sigma_set_keybuf_ptr(context, &cursor, CAPACITY), "buffer");
        for (int f = 0; f < FUNCTIONS; f++) check(eval(context, &peer, f, hatx[f], opened[1][f], &stats[1]), NAMES[f]);
        trefoil_pfss_sigma_free(context);
    });
    zero.join();
    one.join();
    if (opened[0] != opened[1] || std::memcmp(&stats[0], &stats[1], sizeof stats[0]) != 0) return 1;

    for (int f = 0; f < FUNCTIONS; f++) {
        std::printf("%s", NAMES[f]);
        for (size_t e = 0; e < COUNT; e++) {
            const uint64_t y = (opened[0][f][e] - output_masks[0][f][e]) & RING;
            std::printf(" %llx", static_cast<unsigned long long>(y));
        }
        std::printf("\n");
    }
    trefoil_pfss_backend_free(backend);
    return 0;
}
