// Evaluates several gates in one super-batch as both parties in one process, and prints each party's shares.
//
//   c++ -std=c++17 -I crates/pfss-ffi/include crates/pfss-ffi/examples/batch.cpp target/release/libtrefoil_pfss.a
//       -lpthread -ldl -lm -o batch
//
// In earnest the dealer and the two parties are three programs; what crosses a channel here is marked so.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "trefoil_pfss.h"

namespace {

void check(trefoil_pfss_status status, const char* what) {
    if (status == TREFOIL_PFSS_OK) return;
    std::fprintf(stderr, "%s: %s\n", what, trefoil_pfss_last_error());
    std::exit(1);
}

struct Work {
    const char* name;
    size_t count;
    trefoil_pfss_gate_parameters parameters;
    trefoil_pfss_gate* gate;
};

// Keys of one gate, with the masked inputs that both parties know.
struct Input {
    trefoil_pfss_bytes* bundle = nullptr;
    trefoil_pfss_keys* keys = nullptr;
    std::vector<uint64_t> masked;
    uint64_t job = 0;
};

struct Party {
    trefoil_pfss_backend* backend = nullptr;
    trefoil_pfss_batch* batch = nullptr;
    std::vector<Input> inputs;
    std::vector<uint8_t> message;
};

uint64_t ring_mask(uint32_t bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

// Deals keys for one gate and opens its inputs under their masks; gives what both parties see.
std::vector<uint64_t> prepare(trefoil_pfss_dealer* dealer, const Work& work, Party (&parties)[2]) {
    const uint64_t mask = ring_mask(work.parameters.n);
    Input inputs[2];
    check(trefoil_pfss_deal(dealer, parties[0].backend, work.gate, work.count, &inputs[0].bundle, &inputs[1].bundle),
          "deal");
    for (size_t p = 0; p < 2; p++) {
        Input& input = inputs[p];
        // From the dealer to this party only.
        check(trefoil_pfss_keys_read(trefoil_pfss_bytes_data(input.bundle), trefoil_pfss_bytes_len(input.bundle),
                                     &input.keys),
              "keys");
        std::vector<uint64_t> shares(work.count);
        for (size_t e = 0; e < work.count; e++) {
            const uint64_t share = e * 0x9e3779b97f4a7c15u;
            shares[e] = (p == 0 ? share : e * 100 - 2000 - share) & mask;
        }
        input.masked.resize(work.count);
        check(trefoil_pfss_keys_mask_inputs(input.keys, shares.data(), work.count, input.masked.data()), "mask");
    }
    // Between the parties: masked inputs.
    std::vector<uint64_t> hatx(work.count);
    for (size_t e = 0; e < work.count; e++) hatx[e] = (inputs[0].masked[e] + inputs[1].masked[e]) & mask;
    for (size_t p = 0; p < 2; p++) parties[p].inputs.push_back(inputs[p]);
    return hatx;
}

void open_all(Party (&parties)[2]) {
    for (;;) {
        for (Party& party : parties) {
            size_t bytes = 0;
            check(trefoil_pfss_batch_pending(party.batch, &bytes), "pending");
            party.message.resize(bytes);
            if (bytes > 0) check(trefoil_pfss_batch_masked(party.batch, party.message.data(), bytes), "masked");
        }
        if (parties[0].message.empty()) return;
        for (int p = 0; p < 2; p++) {
            // Between the parties: masked bits and words of all jobs.
            const std::vector<uint8_t>& theirs = parties[1 - p].message;
            check(trefoil_pfss_batch_absorb(parties[p].batch, theirs.data(), theirs.size()), "absorb");
        }
    }
}

}  // namespace

int main() {
    if (trefoil_pfss_abi_version() != 3) return 1;
    trefoil_pfss_dealer* dealer = nullptr;
    // A fixed seed, so that a test can compare; trefoil_pfss_dealer_open draws a secret one.
    check(trefoil_pfss_dealer_insecure_from_seed(9, &dealer), "dealer");

    std::vector<uint64_t> table(64);
    for (uint64_t x = 0; x < 64; x++) table[x] = x * x;
    Work work[4] = {};
    work[0].name = "relu";
    work[0].parameters.n = 64;
    work[0].parameters.min = -2000;  // proven of the inputs, so keys look at 14 bits and not at 64
    work[0].parameters.max = 5000;
    work[1].name = "ars";
    work[1].parameters.n = 32;
    work[1].parameters.shift = 7;
    work[2].name = "lut";
    work[2].parameters.n = 6;
    work[2].parameters.word_bits = 20;
    work[2].parameters.table = table.data();
    work[2].parameters.table_len = table.size();
    work[3].name = "truncate_reduce";
    work[3].parameters.n = 20;
    work[3].parameters.shift = 5;

    Party parties[2];
    trefoil_pfss_batch_options options;
    check(trefoil_pfss_batch_options_default(&options), "options");
    options.split = 1;  // jobs that do not fit the device are cut, and their keys streamed
    for (Party& party : parties) {
        check(trefoil_pfss_backend_open("cpu", &party.backend), "backend");
        check(trefoil_pfss_batch_open(party.backend, &options, &party.batch), "batch");
    }
    for (size_t g = 0; g < 4; g++) {
        work[g].count = 40 + 10 * g;
        check(trefoil_pfss_gate_named(work[g].name, &work[g].parameters, &work[g].gate), work[g].name);
        const std::vector<uint64_t> hatx = prepare(dealer, work[g], parties);
        for (Party& party : parties) {
            Input& input = party.inputs.back();
            check(trefoil_pfss_batch_submit(party.batch, work[g].gate, input.keys, hatx.data(), hatx.size(), &input.job),
                  "submit");
        }
    }

    // Between the parties: digests, to see that both run the same jobs.
    uint8_t digests[2][32];
    for (int p = 0; p < 2; p++) {
        check(trefoil_pfss_batch_flush(parties[p].batch), "flush");
        check(trefoil_pfss_batch_digest(parties[p].batch, digests[p], sizeof digests[p]), "digest");
    }
    if (std::memcmp(digests[0], digests[1], sizeof digests[0]) != 0) return 1;
    open_all(parties);

    for (int p = 0; p < 2; p++) {
        Party& party = parties[p];
        for (size_t g = 0; g < 4; g++) {
            std::vector<uint64_t> words(work[g].count);
            check(trefoil_pfss_batch_y_share(party.batch, party.inputs[g].job, words.data(), words.size()), "words");
            std::printf("%s %d", work[g].name, p);
            for (uint64_t word : words) std::printf(" %llx", static_cast<unsigned long long>(word));
            std::printf("\n");
        }
        trefoil_pfss_counters counters;
        check(trefoil_pfss_batch_counters(party.batch, &counters), "counters");
        std::printf("jobs %llu elements %llu aes %llu opened %llu rounds %llu\n",
                    static_cast<unsigned long long>(counters.jobs), static_cast<unsigned long long>(counters.elements),
                    static_cast<unsigned long long>(counters.aes),
                    static_cast<unsigned long long>(counters.opened_bytes),
                    static_cast<unsigned long long>(counters.rounds));
        // A cleared batch takes in jobs again, and gives no result of an old one.
        check(trefoil_pfss_batch_clear(party.batch), "clear");
        uint64_t word = 0;
        if (trefoil_pfss_batch_y_share(party.batch, party.inputs[0].job, &word, 1) != TREFOIL_PFSS_STATE) {
            std::fprintf(stderr, "an old job was accepted\n");
            return 1;
        }
        for (Input& input : party.inputs) {
            trefoil_pfss_keys_free(input.keys);
            trefoil_pfss_bytes_free(input.bundle);
        }
        trefoil_pfss_backend_free(party.backend);
        trefoil_pfss_batch_free(party.batch);
    }
    for (Work& one : work) trefoil_pfss_gate_free(one.gate);
    trefoil_pfss_dealer_free(dealer);
    return 0;
}
