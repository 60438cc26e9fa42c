// Deals keys for a descriptor, evaluates it as both parties in one process, and prints each party's shares.
//
//   c++ -std=c++17 -I crates/pfss-ffi/include crates/pfss-ffi/examples/composite.cpp target/release/libtrefoil_pfss.a
//       -lpthread -ldl -lm -o composite
//
// In earnest the dealer and the two parties are three programs; what crosses a channel here is marked so.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "trefoil_pfss.h"

namespace {

constexpr uint64_t RING = 20;
constexpr size_t COUNT = 70;

void check(trefoil_pfss_status status, const char* what) {
    if (status == TREFOIL_PFSS_OK) return;
    std::fprintf(stderr, "%s: %s\n", what, trefoil_pfss_last_error());
    std::exit(1);
}

// A program in the encoding that trefoil_pfss_gate_read describes.
class Program {
public:
    Program& number(uint64_t value) {
        for (int i = 0; i < 8; i++) bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
        return *this;
    }
    Program& numbers(std::initializer_list<uint64_t> values) {
        for (uint64_t value : values) number(value);
        return *this;
    }
    Program& name(const std::string& text) {
        number(text.size());
        bytes_.insert(bytes_.end(), text.begin(), text.end());
        return *this;
    }
    const std::vector<uint8_t>& bytes() const { return bytes_; }

private:
    std::vector<uint8_t> bytes_;
};

// y = 3x^2 + 2x + 1 below 70000, else 5x + 4; sign = top bit of x; both = sign and (x mod 512 < 100).
Program descriptor(uint64_t additive) {
    Program program;
    program.numbers({0, 2, additive, RING});       // one shared key, masked selection, form of the bits, input bits
    program.numbers({RING, 2, 1, 2, 2, 2});        // ring, degree, words, bits, predicates, pieces
    program.name("y").name("sign").name("both");
    program.number(3);                             // the top bit
    program.numbers({2, 9, 100});                  // x mod 2^9 < 100
    program.number(0).numbers({3, 1, 2, 3});       // from 0 on: three coefficients
    program.number(6).numbers({4, 6, 7});          // bits: predicate 0; predicate 0 and predicate 1
    program.number(70000).numbers({2, 4, 5});      // from 70000 on: two coefficients
    program.number(6).numbers({4, 6, 7});
    return program;
}

struct Party {
    trefoil_pfss_backend* backend = nullptr;
    trefoil_pfss_keys* keys = nullptr;
    trefoil_pfss_evaluation* evaluation = nullptr;
    std::vector<uint64_t> x, masked;
    std::vector<uint32_t> bits;
};

void print(const char* what, int party, const std::vector<uint64_t>& values) {
    std::printf("%s %d", what, party);
    for (uint64_t value : values) std::printf(" %llx", static_cast<unsigned long long>(value));
    std::printf("\n");
}

void run(trefoil_pfss_dealer* dealer, uint64_t additive) {
    const uint64_t mask = (uint64_t{1} << RING) - 1;
    const Program program = descriptor(additive);
    trefoil_pfss_gate* gate = nullptr;
    check(trefoil_pfss_gate_read(program.bytes().data(), program.bytes().size(), &gate), "gate");

    Party parties[2];
    for (Party& party : parties) check(trefoil_pfss_backend_open("cpu", &party.backend), "backend");
    trefoil_pfss_bytes* bundles[2] = {nullptr, nullptr};
    check(trefoil_pfss_deal(dealer, parties[0].backend, gate, COUNT, &bundles[0], &bundles[1]), "deal");

    trefoil_pfss_keys_info info;
    for (int p = 0; p < 2; p++) {
        Party& party = parties[p];
        // From the dealer to this party only.
        check(trefoil_pfss_keys_read(trefoil_pfss_bytes_data(bundles[p]), trefoil_pfss_bytes_len(bundles[p]), &party.keys),
              "keys");
        check(trefoil_pfss_keys_inspect(party.keys, &info), "inspect");
        for (size_t e = 0; e < COUNT; e++) {
            const uint64_t share = e * 0x9e3779b97f4a7c15u;
            party.x.push_back((p == 0 ? share : e * 15000 - share) & mask);
        }
        party.masked.resize(COUNT);
        check(trefoil_pfss_keys_mask_inputs(party.keys, party.x.data(), COUNT, party.masked.data()), "mask");
    }

    // Between the parties: masked inputs.
    std::vector<uint64_t> hatx(COUNT);
    for (size_t e = 0; e < COUNT; e++) hatx[e] = (parties[0].masked[e] + parties[1].masked[e]) & mask;
    for (Party& party : parties) {
        check(trefoil_pfss_evaluate(party.backend, party.keys, hatx.data(), COUNT, &party.evaluation), "evaluate");
    }
    for (uint32_t round = 0; round < info.rounds; round++) {
        for (Party& party : parties) {
            size_t words = 0;
            check(trefoil_pfss_evaluation_pending(party.evaluation, &words), "pending");
            party.bits.resize(words);
            check(trefoil_pfss_evaluation_masked_bits(party.evaluation, party.bits.data(), words), "masked bits");
        }
        for (int p = 0; p < 2; p++) {
            // Between the parties: masked bits.
            const std::vector<uint32_t>& theirs = parties[1 - p].bits;
            check(trefoil_pfss_evaluation_resume(parties[p].evaluation, theirs.data(), theirs.size()), "resume");
        }
    }

    for (int p = 0; p < 2; p++) {
        Party& party = parties[p];
        std::vector<uint64_t> words(COUNT * info.words);
        check(trefoil_pfss_y_share(party.evaluation, words.data(), words.size()), "words");
        print("words", p, words);
        if (info.additive != 0) {
            std::vector<uint64_t> bools(COUNT * info.bools);
            check(trefoil_pfss_bool_share(party.evaluation, bools.data(), bools.size()), "bools");
            print("bools", p, bools);
        } else {
            std::vector<uint32_t> bools((COUNT + 31) / 32 * info.bools);
            check(trefoil_pfss_bool_share_packed(party.evaluation, bools.data(), bools.size()), "packed bools");
            print("packed", p, std::vector<uint64_t>(bools.begin(), bools.end()));
        }
        // Keys serve once.
        if (trefoil_pfss_evaluate(party.backend, party.keys, hatx.data(), COUNT, &party.evaluation) != TREFOIL_PFSS_STATE) {
            std::fprintf(stderr, "spent keys were accepted\n");
            std::exit(1);
        }
        trefoil_pfss_evaluation_free(party.evaluation);
        trefoil_pfss_keys_free(party.keys);
        trefoil_pfss_backend_free(party.backend);
        trefoil_pfss_bytes_free(bundles[p]);
    }
    trefoil_pfss_gate_free(gate);
}

}  // namespace

int main() {
    if (trefoil_pfss_abi_version() != 3) return 1;
    trefoil_pfss_dealer* dealer = nullptr;
    // A fixed seed, so that a test can compare; trefoil_pfss_dealer_open draws a secret one.
    check(trefoil_pfss_dealer_insecure_from_seed(7, &dealer), "dealer");
    run(dealer, 1);
    run(dealer, 0);
    trefoil_pfss_dealer_free(dealer);
    return 0;
}
