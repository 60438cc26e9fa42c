// Two gates in a row: what ReLU opens under the masks of its outputs is the masked input of a shift, whose results stay
// shares. Plays both parties in one process and prints each one's shares.
//
//   c++ -std=c++17 -I crates/pfss-ffi/include crates/pfss-ffi/examples/circuit.cpp target/release/libtrefoil_pfss.a
//       -lpthread -ldl -lm -o circuit
//
// In earnest the dealer and the two parties are three programs; what crosses a channel here is marked so.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "trefoil_pfss.h"

namespace {

constexpr size_t COUNT = 50;
constexpr uint32_t RING = 40;
constexpr uint64_t MASK = (uint64_t{1} << RING) - 1;

void check(trefoil_pfss_status status, const char* what) {
    if (status == TREFOIL_PFSS_OK) return;
    std::fprintf(stderr, "%s: %s\n", what, trefoil_pfss_last_error());
    std::exit(1);
}

trefoil_pfss_gate* gate(const char* name, uint32_t shift) {
    trefoil_pfss_gate_parameters parameters = {};
    parameters.n = RING;
    parameters.shift = shift;
    trefoil_pfss_gate* gate = nullptr;
    check(trefoil_pfss_gate_named(name, &parameters, &gate), name);
    return gate;
}

struct Party {
    trefoil_pfss_backend* backend = nullptr;
    trefoil_pfss_batch* batch = nullptr;
    std::vector<uint8_t> message;
};

trefoil_pfss_keys* read(trefoil_pfss_bytes* bundle) {
    trefoil_pfss_keys* keys = nullptr;
    check(trefoil_pfss_keys_read(trefoil_pfss_bytes_data(bundle), trefoil_pfss_bytes_len(bundle), &keys), "keys");
    trefoil_pfss_bytes_free(bundle);
    return keys;
}

// One gate on the masked inputs that both parties know; gives the number of each party's job.
void run(Party (&parties)[2], trefoil_pfss_gate* gate, trefoil_pfss_keys* (&keys)[2], const std::vector<uint64_t>& hatx,
         uint64_t (&jobs)[2]) {
    for (int p = 0; p < 2; p++) {
        check(trefoil_pfss_batch_submit(parties[p].batch, gate, keys[p], hatx.data(), hatx.size(), &jobs[p]), "submit");
        check(trefoil_pfss_batch_flush(parties[p].batch), "flush");
        trefoil_pfss_keys_free(keys[p]);
    }
    for (;;) {
        for (Party& party : parties) {
            size_t bytes = 0;
            check(trefoil_pfss_batch_pending(party.batch, &bytes), "pending");
            party.message.resize(bytes);
            if (bytes > 0) check(trefoil_pfss_batch_masked(party.batch, party.message.data(), bytes), "masked");
        }
        if (parties[0].message.empty()) return;
        for (int p = 0; p < 2; p++) {
            // Between the parties: masked bits.
            const std::vector<uint8_t>& theirs = parties[1 - p].message;
            check(trefoil_pfss_batch_absorb(parties[p].batch, theirs.data(), theirs.size()), "absorb");
        }
    }
}

std::vector<uint64_t> open(const std::vector<uint64_t> (&shares)[2]) {
    std::vector<uint64_t> sums(COUNT);
    for (size_t e = 0; e < COUNT; e++) sums[e] = (shares[0][e] + shares[1][e]) & MASK;
    return sums;
}

}  // namespace

int main() {
    if (trefoil_pfss_abi_version() != 3) return 1;
    trefoil_pfss_dealer* dealer = nullptr;
    // A fixed seed, so that a test can compare; trefoil_pfss_dealer_open draws a secret one.
    check(trefoil_pfss_dealer_insecure_from_seed(11, &dealer), "dealer");
    Party parties[2];
    for (Party& party : parties) {
        check(trefoil_pfss_backend_open("cpu", &party.backend), "backend");
        check(trefoil_pfss_batch_open(party.backend, nullptr, &party.batch), "batch");
    }

    // The dealer makes both gates' keys before any input is there: the wire joins them.
    trefoil_pfss_gate *relu = gate("relu", 0), *ars = gate("ars", 7);
    check(trefoil_pfss_gate_mask_outputs(relu), "masked outputs");
    trefoil_pfss_bytes *first[2], *second[2];
    trefoil_pfss_wires* wires = nullptr;
    check(trefoil_pfss_deal_wired(dealer, parties[0].backend, relu, COUNT, nullptr, 0, &first[0], &first[1], &wires), "deal");
    check(trefoil_pfss_deal_wired(dealer, parties[0].backend, ars, COUNT, wires, 0, &second[0], &second[1], nullptr), "deal");
    trefoil_pfss_wires_free(wires);
    trefoil_pfss_dealer_free(dealer);

    // From the dealer to each party only.
    trefoil_pfss_keys* relu_keys[2] = {read(first[0]), read(first[1])};
    trefoil_pfss_keys* ars_keys[2] = {read(second[0]), read(second[1])};

    // Between the parties: masked inputs.
    std::vector<uint64_t> masked[2];
    for (int p = 0; p < 2; p++) {
        std::vector<uint64_t> shares(COUNT);
        for (size_t e = 0; e < COUNT; e++) {
            const uint64_t share = e * 0x9e3779b97f4a7c15u;
            shares[e] = (p == 0 ? share : e * 1000 - 20000 - share) & MASK;
        }
        masked[p].resize(COUNT);
        check(trefoil_pfss_keys_mask_inputs(relu_keys[p], shares.data(), COUNT, masked[p].data()), "mask");
        // Keys mask once, and keys of a wire not at all.
        if (trefoil_pfss_keys_mask_inputs(relu_keys[p], shares.data(), COUNT, masked[p].data()) != TREFOIL_PFSS_STATE ||
            trefoil_pfss_keys_mask_inputs(ars_keys[p], shares.data(), COUNT, masked[p].data()) != TREFOIL_PFSS_STATE) {
            std::fprintf(stderr, "masks were used twice\n");
            return 1;
        }
    }
    uint64_t jobs[2];
    run(parties, relu, relu_keys, open(masked), jobs);

    // Between the parties: masked outputs, the masked inputs of the shift.
    std::vector<uint64_t> haty[2];
    for (int p = 0; p < 2; p++) {
        haty[p].resize(COUNT);
        check(trefoil_pfss_batch_haty_share(parties[p].batch, jobs[p], haty[p].data(), COUNT), "haty");
        check(trefoil_pfss_batch_clear(parties[p].batch), "clear");
    }
    run(parties, ars, ars_keys, open(haty), jobs);

    for (int p = 0; p < 2; p++) {
        std::vector<uint64_t> words(COUNT);
        check(trefoil_pfss_batch_y_share(parties[p].batch, jobs[p], words.data(), COUNT), "words");
        std::printf("y %d", p);
        for (uint64_t word : words) std::printf(" %llx", static_cast<unsigned long long>(word));
        std::printf("\n");
        trefoil_pfss_batch_free(parties[p].batch);
        trefoil_pfss_backend_free(parties[p].backend);
    }
    trefoil_pfss_gate_free(relu);
    trefoil_pfss_gate_free(ars);
    return 0;
}
