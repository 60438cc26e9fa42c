/* The functions that SUF's bridge to SIGMA calls: keys and evaluation of activations, exponentials and inverses.

   SIGMA keeps every value between its layers under a mask. Both parties have the open x + r modulo 2^bw, and only the
   dealer has r. A keygen function takes the masks r of the inputs, appends one party's keys to a buffer and gives the masks
   r_out of the outputs. An eval function takes the open masked inputs x + r and gives the open masked outputs y + r_out,
   equal for both parties.

   - suf_sigma_* have the names and the order of arguments of SUF's bridge, and share one context in the process;
     trefoil_pfss_sigma_* take a context of the caller's.
   - Every call returns a status; trefoil_pfss_last_error names the expected and the received value. Results go to arrays of the
     caller's, which must not overlap each other or the buffer of keys, and are written only on success.
   - Arrays of masks and of masked values are in host memory, or in memory of the context's device; the address tells which.
     Managed memory counts as memory of its device.
     A context on the processor takes host memory alone. All other pointers are to host memory.
   - An array in device memory lies within one allocation, or one range of addresses that is mapped. It is read after the work
     that the context's stream holds, and filled before the work that the stream gets later, so that no call of the caller's
     has to wait. The stream is the legacy default stream until trefoil_pfss_sigma_set_stream sets another one. A call waits
     until its input is read, and returns before its output is filled. An array in host memory, pinned memory too, has no order
     with the stream.
   - A call looks up its device arrays and copies its input before it takes keys from the buffer. trefoil_pfss.h lists what is
     refused then, with keys, cursor and output unchanged: memory of another device, an array that is too long, an input that
     is not mapped, captures. It also lists what is found only after keys are taken, such as an output that is not mapped; an
     evaluation then fails and its keys are spent, while a keygen function writes no keys. An address that the driver does not
     know, as of freed device memory, counts as host memory.
   - Trefoil's copies of device arrays in host memory are wiped, pinned ones when their memory is used again or a queue
     finishes; the driver's own copies of arrays that are not pinned are not.
   - Inputs and outputs of all functions are words of bw bits with scale fraction bits, 8 to 20.
   - Masked inputs are open before a call; SUF's calls open the parties' shares of them.
   - Two processes that make keys take the same secret seed: SUF's random numbers start from a constant.
   - Keys are evaluated once: a copy of their bytes is refused.
   - Errors of results, in units of the last place, for 12 fraction bits: gelu 0.62, silu 0.83, nexp 1.33, inverse 0.55,
     rsqrt 1.2 with extradiv below 32, else 1.6. Inputs outside the stated range give arbitrary results. */

#ifndef TREFOIL_SIGMA_H
#define TREFOIL_SIGMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trefoil_pfss.h"

// The state of both halves of the bridge: a dealer's seed, a buffer of keys, and keys read from it.
typedef struct trefoil_pfss_sigma trefoil_pfss_sigma;

// The other party, as a function of the caller's that exchanges bytes with it.
typedef struct {
  // Handed to exchange, and not used otherwise.
  void *ctx;
  // Sends out_len bytes to the other party and receives in_len bytes from it. Both parties call it at the same step, and
  // neither waits to be sent to first. Returns 0 on success; any other number ends the evaluation. It throws no exception.
  int (*exchange)(void *ctx, const uint8_t *out, size_t out_len, uint8_t *in, size_t in_len);
} trefoil_pfss_sigma_peer;

// What evaluations have moved between the parties; a call adds to it. Set to zero at first.
typedef struct {
  // Bytes sent.
  uint64_t sent_bytes;
  // Bytes received.
  uint64_t received_bytes;
  // Exchanges.
  uint64_t rounds;
} trefoil_pfss_sigma_stats;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens a context on a backend.
//
// seed is 32 secret bytes from which keys are made, or null with len 0 for bytes from the operating system. Contexts that
// make the two parties' keys apart need the same seed: whoever has it and the masks of the inputs has both parties' keys.
// Contexts that evaluate need none. The backend may be freed before the context.
trefoil_pfss_status trefoil_pfss_sigma_open(trefoil_pfss_backend *backend,
                                            const uint8_t *seed,
                                            size_t len,
                                            trefoil_pfss_sigma **context);

// Wipes the keys that were consumed and the seed, and frees a context.
void trefoil_pfss_sigma_free(trefoil_pfss_sigma *context);

// Makes keys from the first deal on again.
//
// The same calls with the same masks then make the same deals, for the other party too. For other masks, open a context
// with another seed: masks that repeat by chance would show in equal keys.
trefoil_pfss_status trefoil_pfss_sigma_reset_keygen(trefoil_pfss_sigma *context);

// Drops and wipes keys that were consumed and not evaluated. SUF's call goes back to the first keys instead, to evaluate
// them again.
trefoil_pfss_status trefoil_pfss_sigma_reset_eval(trefoil_pfss_sigma *context);

// Reads the keys at the cursor into the context, wipes their bytes, and moves the cursor behind them.
trefoil_pfss_status trefoil_pfss_sigma_consume_key(trefoil_pfss_sigma *context);

// Wipes all keys of the context, and keys that it wrote to its buffer and did not read. These are wiped in their places,
// whatever the caller has put there since. The context then has no buffer.
trefoil_pfss_status trefoil_pfss_sigma_clear(trefoil_pfss_sigma *context);

// Sets the buffer of keys: capacity bytes from *cursor on.
//
// Keys are written and read at *cursor, which moves on; the caller may move it within the buffer at any time, and have
// other bytes between keys. Both stay valid until another buffer is set, or the context is cleared or freed. Where keys
// are read, bytes are initialised.
trefoil_pfss_status trefoil_pfss_sigma_set_keybuf_ptr(trefoil_pfss_sigma *context, uint8_t **cursor, size_t capacity);

// Sets the stream in whose order arrays in device memory are read and filled.
//
// stream is a CUstream or cudaStream_t of the primary context of the context's device, which cudaStreamCreate uses too. Null,
// also for a new context, is the legacy default stream. A context on the processor has no streams, and takes null alone. The
// stream lives until another is set or the context is freed, and as long as a call on the context runs.
trefoil_pfss_status trefoil_pfss_sigma_set_stream(trefoil_pfss_sigma *context, void *stream);

// Makes keys of GeLU or SiLU for n inputs, and appends them to the buffer.
//
// party is the one whose keys they are, 0 or 1. bw is the number of bits of the ring of inputs and outputs, scale the
// number of fraction bits of both, 8 to 20. silu selects SiLU. Inputs satisfy |x| < 2^12, or |x| < 2^(27 - scale) above 15
// fraction bits, and bw is at least scale + 14, or 29. input_mask holds the masks of the inputs, and output_mask gets the
// masks of the outputs.
//
// If the buffer has too little room, or anything else is refused, nothing is written.
trefoil_pfss_status trefoil_pfss_sigma_keygen_activation(trefoil_pfss_sigma *context,
                                                         int party,
                                                         int bw,
                                                         int scale,
                                                         bool silu,
                                                         const uint64_t *input_mask,
                                                         size_t n,
                                                         uint64_t *output_mask);

// Evaluates GeLU or SiLU on n masked inputs, with the next keys.
//
// These are the oldest keys that were consumed and not evaluated, or else those at the cursor. They must have been made for
// the same party, function, parameters and n; keys for another call stay where they are. Keys are evaluated once, also if
// the evaluation fails.
//
// input_masked holds the open inputs x + r modulo 2^bw, equal for both parties, and output_masked gets the open outputs
// y + r_out. stats gets the bytes and rounds of this call added, or is null.
trefoil_pfss_status trefoil_pfss_sigma_eval_activation(trefoil_pfss_sigma *context,
                                                       const trefoil_pfss_sigma_peer *peer,
                                                       int party,
                                                       int bw,
                                                       int scale,
                                                       bool silu,
                                                       const uint64_t *input_masked,
                                                       size_t n,
                                                       uint64_t *output_masked,
                                                       trefoil_pfss_sigma_stats *stats);

// Makes keys of exp(-x) for x >= 0, as trefoil_pfss_sigma_keygen_activation.
//
// Inputs are integers below 2^(bw - 2), or any positive ones with 64 bits, and bw is at least scale + 7. The result is 0
// from 16 on.
trefoil_pfss_status trefoil_pfss_sigma_keygen_nexp(trefoil_pfss_sigma *context,
                                                   int party,
                                                   int bw,
                                                   int scale,
                                                   const uint64_t *input_mask,
                                                   size_t n,
                                                   uint64_t *output_mask);

// Evaluates exp(-x) for x >= 0, as trefoil_pfss_sigma_eval_activation.
trefoil_pfss_status trefoil_pfss_sigma_eval_nexp(trefoil_pfss_sigma *context,
                                                 const trefoil_pfss_sigma_peer *peer,
                                                 int party,
                                                 int bw,
                                                 int scale,
                                                 const uint64_t *input_masked,
                                                 size_t n,
                                                 uint64_t *output_masked,
                                                 trefoil_pfss_sigma_stats *stats);

// Makes keys of 1 / x for 1 <= x <= nmax, as trefoil_pfss_sigma_keygen_activation.
//
// nmax is at most 4096, and bw at least scale + 3 + log2(nmax), rounded up, or scale + 4.
trefoil_pfss_status trefoil_pfss_sigma_keygen_inverse(trefoil_pfss_sigma *context,
                                                      int party,
                                                      int bw,
                                                      int scale,
                                                      int nmax,
                                                      const uint64_t *input_mask,
                                                      size_t n,
                                                      uint64_t *output_mask);

// Evaluates 1 / x for 1 <= x <= nmax, as trefoil_pfss_sigma_eval_activation.
trefoil_pfss_status trefoil_pfss_sigma_eval_inverse(trefoil_pfss_sigma *context,
                                                    const trefoil_pfss_sigma_peer *peer,
                                                    int party,
                                                    int bw,
                                                    int scale,
                                                    int nmax,
                                                    const uint64_t *input_masked,
                                                    size_t n,
                                                    uint64_t *output_masked,
                                                    trefoil_pfss_sigma_stats *stats);

// Makes keys of 1 / sqrt(x / extradiv), as trefoil_pfss_sigma_keygen_activation.
//
// Inputs satisfy 1/16 <= x / extradiv <= 256, and bw is at least scale + 11 + log2(extradiv), rounded up.
trefoil_pfss_status trefoil_pfss_sigma_keygen_rsqrt(trefoil_pfss_sigma *context,
                                                    int party,
                                                    int bw,
                                                    int scale,
                                                    int extradiv,
                                                    const uint64_t *input_mask,
                                                    size_t n,
                                                    uint64_t *output_mask);

// Evaluates 1 / sqrt(x / extradiv), as trefoil_pfss_sigma_eval_activation.
trefoil_pfss_status trefoil_pfss_sigma_eval_rsqrt(trefoil_pfss_sigma *context,
                                                  const trefoil_pfss_sigma_peer *peer,
                                                  int party,
                                                  int bw,
                                                  int scale,
                                                  int extradiv,
                                                  const uint64_t *input_masked,
                                                  size_t n,
                                                  uint64_t *output_masked,
                                                  trefoil_pfss_sigma_stats *stats);

/* SUF's own names. They are the functions above with one context for the process, which threads may share: calls take turns,
   except that the context is free during an evaluation's exchanges. */

// Opens the process's context, as trefoil_pfss_sigma_open, and clears the one before.
//
// Without this call, the first call opens the backend named in the environment, and a seed from the operating system.
trefoil_pfss_status trefoil_pfss_sigma_open_global(trefoil_pfss_backend *backend, const uint8_t *seed, size_t len);

// Sets the stream of the process's context, as trefoil_pfss_sigma_set_stream. A context that is opened later has the legacy
// default stream.
trefoil_pfss_status trefoil_pfss_sigma_set_stream_global(void *stream);

// Sets whether SIGMA's softmax and norms take these functions. SUF reads this from variables of the environment, and takes
// none if they are not set.
void trefoil_pfss_sigma_enable(bool softmax, bool layernorm);

// Whether SIGMA's softmax takes these functions: yes, unless they were disabled.
bool suf_softmax_enabled(void);

// Whether SIGMA's norms take these functions: yes, unless they were disabled.
bool suf_layernorm_enabled(void);

trefoil_pfss_status suf_sigma_reset_keygen(void);

trefoil_pfss_status suf_sigma_reset_eval(void);

trefoil_pfss_status suf_sigma_consume_key(void);

// As trefoil_pfss_sigma_clear, and closes the process's context. The next call opens another one, with another seed.
trefoil_pfss_status suf_sigma_clear(void);

trefoil_pfss_status suf_sigma_set_keybuf_ptr(uint8_t **cursor, size_t capacity);

trefoil_pfss_status suf_sigma_keygen_activation(int party,
                                                int bw,
                                                int scale,
                                                bool silu,
                                                const uint64_t *input_mask,
                                                size_t n,
                                                uint64_t *output_mask);

trefoil_pfss_status suf_sigma_eval_activation(const trefoil_pfss_sigma_peer *peer,
                                              int party,
                                              int bw,
                                              int scale,
                                              bool silu,
                                              const uint64_t *input_masked,
                                              size_t n,
                                              uint64_t *output_masked,
                                              trefoil_pfss_sigma_stats *stats);

trefoil_pfss_status suf_sigma_keygen_nexp(int party,
                                          int bw,
                                          int scale,
                                          const uint64_t *input_mask,
                                          size_t n,
                                          uint64_t *output_mask);

trefoil_pfss_status suf_sigma_eval_nexp(const trefoil_pfss_sigma_peer *peer,
                                        int party,
                                        int bw,
                                        int scale,
                                        const uint64_t *input_masked,
                                        size_t n,
                                        uint64_t *output_masked,
                                        trefoil_pfss_sigma_stats *stats);

trefoil_pfss_status suf_sigma_keygen_inverse(int party,
                                             int bw,
                                             int scale,
                                             int nmax,
                                             const uint64_t *input_mask,
                                             size_t n,
                                             uint64_t *output_mask);

trefoil_pfss_status suf_sigma_eval_inverse(const trefoil_pfss_sigma_peer *peer,
                                           int party,
                                           int bw,
                                           int scale,
                                           int nmax,
                                           const uint64_t *input_masked,
                                           size_t n,
                                           uint64_t *output_masked,
                                           trefoil_pfss_sigma_stats *stats);

trefoil_pfss_status suf_sigma_keygen_rsqrt(int party,
                                           int bw,
                                           int scale,
                                           int extradiv,
                                           const uint64_t *input_mask,
                                           size_t n,
                                           uint64_t *output_mask);

trefoil_pfss_status suf_sigma_eval_rsqrt(const trefoil_pfss_sigma_peer *peer,
                                         int party,
                                         int bw,
                                         int scale,
                                         int extradiv,
                                         const uint64_t *input_masked,
                                         size_t n,
                                         uint64_t *output_masked,
                                         trefoil_pfss_sigma_stats *stats);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TREFOIL_SIGMA_H */
