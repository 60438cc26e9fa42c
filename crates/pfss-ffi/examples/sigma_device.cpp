// A function of SUF's bridge to SIGMA on values in device memory: masks, masked inputs and masked outputs stay on the device,
// in the order of the caller's streams. Prints the results without their masks, which only the dealer can compute, and then
// what the calls refuse.
//
//   c++ -std=c++17 -I crates/pfss-ffi/include crates/pfss-ffi/examples/sigma_device.cpp -L PREFIX/lib -ltrefoil_pfss -lcuda
//       -lpthread -o sigma_device
//
// The first argument is the backend, gpu by default. sim is the simulated device; its driver is within the library that cargo
// builds, which the program then links in place of -lcuda. In earnest the dealer and the two parties are three programs.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "cuda.hpp"
#include "peer.hpp"
#include "trefoil_sigma.h"

namespace {

constexpr size_t COUNT = 50, BYTES = COUNT * sizeof(uint64_t);
constexpr int BW = 50, SCALE = 12;
constexpr uint64_t RING = (uint64_t{1} << BW) - 1;
constexpr size_t CAPACITY = size_t{1} << 20;

using Words = std::vector<uint64_t>;

void check(trefoil_pfss_status status, const char* what) {
    if (status == TREFOIL_PFSS_OK) return;
    std::fprintf(stderr, "%s: %s\n", what, trefoil_pfss_last_error());
    std::exit(1);
}

// A stream, and an array for inputs and one for outputs on the device. The constructor makes the device's context current.
class Device {
  public:
    Device() {
        void* context = nullptr;
        driver(cuInit(0), "cuInit");
        driver(cuDevicePrimaryCtxRetain(&context, 0), "context");
        driver(cuCtxSetCurrent(context), "context");
        driver(cuStreamCreate(&stream_, NON_BLOCKING), "stream");
        for (CUdeviceptr& address : arrays_) driver(cuMemAlloc_v2(&address, BYTES), "memory");
    }

    ~Device() {
        driver(cuStreamSynchronize(stream_), "stream");
        for (CUdeviceptr address : arrays_) driver(cuMemFree_v2(address), "memory");
        driver(cuStreamDestroy_v2(stream_), "stream");
    }

    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    void* stream() const { return stream_; }
    uint64_t* input() const { return reinterpret_cast<uint64_t*>(arrays_[0]); }
    uint64_t* output() const { return reinterpret_cast<uint64_t*>(arrays_[1]); }

    // Enqueues a copy to the input, as a kernel of the layer before would leave it, and spoils the output.
    void put(const Words& words) {
        driver(cuMemsetD8Async(arrays_[1], 0xee, BYTES, stream_), "fill");
        driver(cuMemcpyHtoDAsync_v2(arrays_[0], words.data(), BYTES, stream_), "copy");
    }

    // The output, after all work of the stream.
    Words get() {
        Words words(COUNT);
        driver(cuMemcpyDtoHAsync_v2(words.data(), arrays_[1], BYTES, stream_), "copy");
        driver(cuStreamSynchronize(stream_), "stream");
        return words;
    }

  private:
    void* stream_ = nullptr;
    CUdeviceptr arrays_[2] = {};
};

int64_t input(size_t e) {
    return (static_cast<int64_t>(e) - 25) * 700;
}

trefoil_pfss_status keygen(trefoil_pfss_sigma* dealer, int party, const uint64_t* in, uint64_t* out) {
    return trefoil_pfss_sigma_keygen_activation(dealer, party, BW, SCALE, true, in, COUNT, out);
}

void refused(trefoil_pfss_status status) {
    std::printf("%d %s\n", static_cast<int>(status), trefoil_pfss_last_error());
}

}  // namespace

int main(int argc, char** argv) {
    trefoil_pfss_backend* backend = nullptr;
    check(trefoil_pfss_backend_open(argc > 1 ? argv[1] : "gpu", &backend), "backend");

    // The dealer: masks of the inputs are on the device, and masks of the outputs get there. The fixed masks and seed are for
    // a test that compares.
    Words masks(COUNT), output_masks[2];
    for (size_t e = 0; e < COUNT; e++) masks[e] = ((e + 1) * 0x9e3779b97f4a7c15u) & RING;
    std::vector<uint8_t> keys[2] = {std::vector<uint8_t>(CAPACITY), std::vector<uint8_t>(CAPACITY)};
    const uint8_t seed[32] = {7};
    trefoil_pfss_sigma* dealer = nullptr;
    check(trefoil_pfss_sigma_open(backend, seed, sizeof seed, &dealer), "dealer");
    {
        Device device;
        check(trefoil_pfss_sigma_set_stream(dealer, device.stream()), "stream");
        for (int party = 0; party < 2; party++) {
            uint8_t* cursor = keys[party].data();
            check(trefoil_pfss_sigma_set_keybuf_ptr(dealer, &cursor, CAPACITY), "buffer");
            check(trefoil_pfss_sigma_reset_keygen(dealer), "reset");
            device.put(masks);
            check(keygen(dealer, party, device.input(), device.output()), "keygen");
            output_masks[party] = device.get();
        }
        check(trefoil_pfss_sigma_set_stream(dealer, nullptr), "stream");
    }
    if (output_masks[0] != output_masks[1]) return 1;

    // The parties: both know the masked inputs. Party 0 calls SUF's names, and party 1 has its input on the device and its
    // output in host memory.
    Words hatx(COUNT), opened[2] = {Words(), Words(COUNT)};
    for (size_t e = 0; e < COUNT; e++) hatx[e] = (static_cast<uint64_t>(input(e)) + masks[e]) & RING;
    Pipe to_zero, to_one;
    std::thread zero([&] {
        Device device;
        Peer link = {&to_one, &to_zero};
        const trefoil_pfss_sigma_peer peer = {&link, exchange};
        uint8_t* cursor = keys[0].data();
        check(trefoil_pfss_sigma_open_global(backend, nullptr, 0), "open");
        check(trefoil_pfss_sigma_set_stream_global(device.stream()), "stream");
        check(suf_sigma_set_keybuf_ptr(&cursor, CAPACITY), "buffer");
        device.put(hatx);
        check(suf_sigma_eval_activation(&peer, 0, BW, SCALE, true, device.input(), COUNT, device.output(), nullptr),
              "eval");
        opened[0] = device.get();
        check(suf_sigma_clear(), "clear");
    });
    std::thread one([&] {
        Device device;
        Peer link = {&to_zero, &to_one};
        const trefoil_pfss_sigma_peer peer = {&link, exchange};
        uint8_t* cursor = keys[1].data();
        trefoil_pfss_sigma* context = nullptr;
        check(trefoil_pfss_sigma_open(backend, nullptr, 0, &context), "open");
        check(trefoil_pfss_sigma_set_stream(context, device.stream()), "stream");
        check(trefoil_pfss_sigma_set_keybuf_ptr(context, &cursor, CAPACITY), "buffer");
        device.put(hatx);
        check(trefoil_pfss_sigma_eval_activation(context, &peer, 1, BW, SCALE, true, device.input(), COUNT,
                                                 opened[1].data(), nullptr),
              "eval");
        trefoil_pfss_sigma_free(context);
    });
    zero.join();
    one.join();
    if (opened[0] != opened[1]) return 1;
    std::printf("silu");
    for (size_t e = 0; e < COUNT; e++) {
        std::printf(" %llx", static_cast<unsigned long long>((opened[0][e] - output_masks[0][e]) & RING));
    }
    std::printf("\n");

    // Refused calls write neither keys nor masks, and leave the cursor where it is.
    {
        Device device;
        std::vector<uint8_t> spare(CAPACITY);
        uint8_t* cursor = spare.data();
        check(trefoil_pfss_sigma_set_keybuf_ptr(dealer, &cursor, CAPACITY), "buffer");
        device.put(masks);
        const Words before = device.get();
        refused(keygen(dealer, 0, device.input() + 1, device.output()));
        refused(keygen(dealer, 0, device.input(), device.output() + COUNT - 2));
        refused(keygen(dealer, 0, device.input(), device.input() + 1));
        if (device.get() != before || cursor != spare.data()) return 1;
        for (uint8_t byte : spare) {
            if (byte != 0) return 1;
        }
        // Calls take host memory on a device's context as well, and device memory on the legacy default stream.
        Words host(COUNT);
        check(trefoil_pfss_sigma_reset_keygen(dealer), "reset");
        check(keygen(dealer, 0, masks.data(), host.data()), "host arrays");
        check(trefoil_pfss_sigma_reset_keygen(dealer), "reset");
        check(keygen(dealer, 0, device.input(), device.output()), "legacy stream");
        driver(cuStreamSynchronize(nullptr), "stream");
        if (host != output_masks[0] || device.get() != host) return 1;
        check(trefoil_pfss_sigma_clear(dealer), "clear");
    }
    trefoil_pfss_sigma_free(dealer);
    trefoil_pfss_backend_free(backend);

    // The processor has no streams.
    int somewhere = 0;
    check(trefoil_pfss_backend_open("cpu", &backend), "backend");
    check(trefoil_pfss_sigma_open(backend, seed, sizeof seed, &dealer), "dealer");
    check(trefoil_pfss_sigma_set_stream(dealer, nullptr), "stream");
    refused(trefoil_pfss_sigma_set_stream(dealer, &somewhere));
    trefoil_pfss_sigma_free(dealer);
    trefoil_pfss_backend_free(backend);
    return 0;
}
