/* Function secret sharing for two-party secure inference: deals keys for gates, and evaluates them as one party, a
   descriptor by itself or many gates in a batch.

   - A function that can fail returns a status; trefoil_pfss_last_error says what was expected and what came. Results
     go to the last arguments and are written only on success.
   - Handles belong to the caller, who frees each once; freeing null does nothing. No handle is used by two threads at once.
   - Arrays are pointers with numbers of elements. Null, misalignment and wrong numbers are refused; whether the memory
     is there is up to the caller.
   - Anything with hat in its name is public: masked inputs hatx = x + r, masked outputs haty = y + r_out, meant to be opened.
     Shares of y and of bits add up to the secrets themselves.
   - Keys in handles are wiped when freed, and shares once their whole batch is computed; the caller wipes its own arrays. */

#ifndef TREFOIL_PFSS_H
#define TREFOIL_PFSS_H

/* Generated from crates/pfss-ffi by cbindgen. */

#include <stddef.h>
#include <stdint.h>

// How a call ended.
enum trefoil_pfss_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // It succeeded.
  TREFOIL_PFSS_OK = 0,
  // A pointer is null or misaligned, or a name or a number is meaningless.
  TREFOIL_PFSS_ARGUMENT = 1,
  // An array does not have the number of elements that the call needs.
  TREFOIL_PFSS_LENGTH = 2,
  // The bytes are not a key bundle.
  TREFOIL_PFSS_BUNDLE = 3,
  // The bytes are not a program, or the program is refused.
  TREFOIL_PFSS_PROGRAM = 4,
  // The keys, the evaluation or the batch are in the wrong state for the call.
  //
  // They are past this step or not yet there, or the keys were used before.
  TREFOIL_PFSS_STATE = 5,
  // The backend cannot be opened, or failed.
  TREFOIL_PFSS_BACKEND = 6,
  // A mistake in this library, or no randomness or memory.
  TREFOIL_PFSS_INTERNAL = 7,
  // A limit of the batch, or its device memory, would be exceeded.
  TREFOIL_PFSS_LIMIT = 8,
  // The other party's bytes are not the message that is due.
  TREFOIL_PFSS_PEER = 9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum trefoil_pfss_status trefoil_pfss_status;
#else
typedef int32_t trefoil_pfss_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// An open backend.
typedef struct trefoil_pfss_backend trefoil_pfss_backend;

// Many gates evaluated together by one party.
//
// They take one pass over the device, and one message a round for all of them.
typedef struct trefoil_pfss_batch trefoil_pfss_batch;

// The bytes of one party's bundle, as secret as its keys.
typedef struct trefoil_pfss_bytes trefoil_pfss_bytes;

// The trusted third party that makes keys for both parties.
typedef struct trefoil_pfss_dealer trefoil_pfss_dealer;

// A descriptor's evaluation by one party: bits have to be opened, or all is computed.
typedef struct trefoil_pfss_evaluation trefoil_pfss_evaluation;

// A gate with its public parameters, or a descriptor with its modes.
//
// Keys can be dealt for it.
typedef struct trefoil_pfss_gate trefoil_pfss_gate;

// One party's keys. They mask inputs once, and are evaluated once.
typedef struct trefoil_pfss_keys trefoil_pfss_keys;

// The masks `r_out` of a gate's output words.
//
// The dealer needs them to deal keys for the gates that take the opened words as their inputs.
// They are held only by the dealer, and are as secret as the dealer.
typedef struct trefoil_pfss_wires trefoil_pfss_wires;

// The most that a batch takes in, and what it does with jobs that do not fit the device.
typedef struct {
  // Jobs.
  uint64_t jobs;
  // Masked inputs.
  uint64_t words;
  // Bytes of masked inputs.
  uint64_t bytes;
  // Flushes over the life of the batch.
  uint64_t flushes;
  // Bytes of device memory; 0 for all that the backend may use.
  uint64_t device_bytes;
  // 0 refuses a job that does not fit; 1 cuts it into parts that fit, and streams their keys.
  uint32_t split;
  // Parts whose keys may be on the device at once, 1 to 3.
  uint32_t slots;
  // The most elements of a part, a multiple of 32.
  size_t part;
} trefoil_pfss_batch_options;

// What a batch has done since it was opened.
//
// Sizes and AES blocks follow from public shapes, times are the host's.
typedef struct {
  // Jobs walked.
  uint64_t jobs;
  // Groups of jobs of one gate.
  uint64_t groups;
  // Flushes.
  uint64_t flushes;
  // Elements walked.
  uint64_t elements;
  // Parts that jobs were cut into; a job that was not cut is one.
  uint64_t parts;
  // AES blocks, by formula.
  uint64_t aes;
  // Bytes of keys copied to the device.
  uint64_t key_bytes;
  // Bytes of masked inputs, as words.
  uint64_t input_bytes;
  // Bytes of masked inputs without the bits above their rings.
  uint64_t packed_input_bytes;
  // Bytes of public points copied to the device.
  uint64_t point_bytes;
  // Bytes of results copied from the device.
  uint64_t result_bytes;
  // Bytes that openings sent.
  uint64_t opened_bytes;
  // Rounds of openings.
  uint64_t rounds;
  // Seconds spent copying keys and points to the device.
  double copy_in_seconds;
  // Seconds spent walking key trees.
  double walk_seconds;
  // Seconds spent copying results from the device, and waiting for them.
  double copy_out_seconds;
  // Seconds from this party's messages to the other's answers.
  double exchange_seconds;
  // Seconds of flushes spent on anything else.
  double idle_seconds;
} trefoil_pfss_counters;

// The parameters of a gate by name. Those that the gate does not have must be zero.
typedef struct {
  // Ring width of the input in bits.
  uint32_t n;
  // Bits to shift off, for shifts.
  uint32_t shift;
  // The least input, if a range is proven; otherwise `min` and `max` are both zero.
  int64_t min;
  // The greatest input.
  int64_t max;
  // Width of the table's words in bits, for `lut`.
  uint32_t word_bits;
  // The table, for `lut`: `2^n` words.
  const uint64_t *table;
  // Words of the table.
  size_t table_len;
} trefoil_pfss_gate_parameters;

// What is public about a bundle.
typedef struct {
  // The party that it is for, 0 or 1.
  uint32_t party;
  // Ring width of the input in bits.
  uint32_t n;
  // Ring width of the output words in bits.
  uint32_t out_n;
  // Elements that it serves.
  size_t count;
  // Output words of an element, `r`.
  size_t words;
  // Output bits of an element, `l`.
  size_t bools;
  // 1 for additive shares of the bits, 0 for XOR shares.
  uint32_t additive;
  // 1 if output words are masked by `r_out`, 0 if not.
  //
  // Masked words are meant to be opened. Without masks, the shares are of the words themselves.
  uint32_t masked_outputs;
  // 1 if the keys mask no inputs.
  //
  // Their inputs come already opened from an earlier gate, or are already masked.
  uint32_t open_inputs;
  // How often bits have to be opened, after the masked inputs.
  uint32_t rounds;
  // Equal in both parties' bundles, different for every deal.
  uint8_t nonce[16];
} trefoil_pfss_keys_info;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of this interface.
//
// It changes whenever a program compiled against an older header could go wrong.
uint32_t trefoil_pfss_abi_version(void);

// The version of the library, a string that lives as long as the program.
const char *trefoil_pfss_version(void);

// Opens the backend `name`: `cpu`, `sim`, `gpu` or `auto`.
//
// Null selects the backend named in the environment. There is no fallback for a backend that
// cannot be opened.
//
// # Safety
// As said [at the top](crate#safety); `name` ends with a zero byte.
trefoil_pfss_status trefoil_pfss_backend_open(const char *name, trefoil_pfss_backend **backend);

// The name of what was opened, a string that lives as long as the backend; null for null.
//
// # Safety
// As said [at the top](crate#safety).
const char *trefoil_pfss_backend_name(trefoil_pfss_backend *backend);

// Frees a backend.
//
// # Safety
// As said [at the top](crate#safety).
void trefoil_pfss_backend_free(trefoil_pfss_backend *backend);

// The options of a batch that is given none: the limits of SUF, and jobs are not cut.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_batch_options_default(trefoil_pfss_batch_options *options);

// Begins a batch on a backend; `options` may be null.
//
// The batch counts as part of the backend: two threads must not use the two at the same time. The
// backend may be freed before the batch.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_batch_open(trefoil_pfss_backend *backend,
                                            const trefoil_pfss_batch_options *options,
                                            trefoil_pfss_batch **batch);

// Adds a job to the batch and writes the job's number.
//
// The job is `gate`, with `keys` dealt for it, on the public masked inputs `hatx`, one for each
// element. Both parties submit the same jobs in the same order.
//
// This spends the keys. If the job is refused, the keys are unchanged and still usable for the
// same masked inputs. These inputs are open, so no other keys fit them.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_batch_submit(trefoil_pfss_batch *batch,
                                              trefoil_pfss_gate *gate,
                                              trefoil_pfss_keys *keys,
                                              const uint64_t *hatx,
                                              size_t count,
                                              uint64_t *job);

// Walks the key trees of all jobs. After a failure the batch never gives any results.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_batch_flush(trefoil_pfss_batch *batch);

// Begins a round, unless one is open, and writes its number of bytes.
//
// This number of bytes has to be sent and received in the round, for all jobs together; it is 0
// when all is computed.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_batch_pending(trefoil_pfss_batch *batch, size_t *bytes);

// This party's masked bits and words of the round, to be sent to the other party.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_batch_masked(trefoil_pfss_batch *batch, uint8_t *bytes, size_t len);

// Takes in the other party's bytes of the round.
//
// If they are not the message that is due, the batch never gives any results.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_batch_absorb(trefoil_pfss_batch *batch, const uint8_t *peer, size_t len);

// A digest of the gates, counts and nonces of all jobs so far, 32 bytes.
//
// Parties have to compare digests before they open anything: if they differ, the parties are out
// of step.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_batch_digest(trefoil_pfss_batch *batch, uint8_t *digest, size_t len);

// Additive shares of the masked output words `y + r_out` of a job.
//
// They are laid out as in `trefoil_pfss_haty_share`, modulo `2^n` of the output. The gate has
// masked outputs, and the shares are meant to be opened. Jobs from before a clear are refused.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_batch_haty_share(trefoil_pfss_batch *batch,
                                                  uint64_t job,
                                                  uint64_t *haty,
                                                  size_t len);

// Additive shares of the output words `y` of a job.
//
// They are laid out as in `trefoil_pfss_y_share`. The gate has no masked outputs. Do not open the
// shares unless both parties may know `y`. Jobs from before a clear are refused.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_batch_y_share(trefoil_pfss_batch *batch,
                                               uint64_t job,
                                               uint64_t *y,
                                               size_t len);

// Additive shares of the output bits of a descriptor's job, as `trefoil_pfss_bool_share`.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_batch_bool_share(trefoil_pfss_batch *batch,
                                                  uint64_t job,
                                                  uint64_t *bools,
                                                  size_t len);

// XOR shares of the output bits of a descriptor's job, as `trefoil_pfss_bool_share_packed`.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_batch_bool_share_packed(trefoil_pfss_batch *batch,
                                                         uint64_t job,
                                                         uint32_t *bools,
                                                         size_t words);

// What the batch has done.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_batch_counters(trefoil_pfss_batch *batch, trefoil_pfss_counters *counters);

// Drops all jobs and wipes their results; the batch then takes in jobs again.
//
// A batch that failed stays failed.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_batch_clear(trefoil_pfss_batch *batch);

// Frees a batch, finished or not, and wipes the shares of a finished one.
//
// # Safety
// As said [at the top](crate#safety).
void trefoil_pfss_batch_free(trefoil_pfss_batch *batch);

// A dealer with randomness from the operating system.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_dealer_open(trefoil_pfss_dealer **dealer);

// A dealer whose output anyone can reproduce.
//
// For tests only: its keys protect nothing. A process refuses bundles that it has masked or
// evaluated before, even if they were dealt again from the same seed.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_dealer_insecure_from_seed(uint64_t seed, trefoil_pfss_dealer **dealer);

// Frees a dealer and wipes its state.
//
// # Safety
// As said [at the top](crate#safety).
void trefoil_pfss_dealer_free(trefoil_pfss_dealer *dealer);

// Deals keys for `count` elements: a bundle for party 0 and one for party 1.
//
// Each bundle is for its own party only. For a gate with masked outputs, use
// `trefoil_pfss_deal_wired`.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_deal(trefoil_pfss_dealer *dealer,
                                      trefoil_pfss_backend *backend,
                                      trefoil_pfss_gate *gate,
                                      size_t count,
                                      trefoil_pfss_bytes **party_0,
                                      trefoil_pfss_bytes **party_1);

// Starts an evaluation of a descriptor on the public masked inputs `hatx`.
//
// There is one input for each element of the keys. This spends the keys, whether it succeeds or
// not, and the process refuses to evaluate another copy of them. Keys of gates by name are
// evaluated in batches.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_evaluate(trefoil_pfss_backend *backend,
                                          trefoil_pfss_keys *keys,
                                          const uint64_t *hatx,
                                          size_t count,
                                          trefoil_pfss_evaluation **evaluation);

// How many words of masked bits have to be sent and received now; 0 when all is computed.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_evaluation_pending(trefoil_pfss_evaluation *evaluation, size_t *words);

// This party's masked bits, to be sent to the other party.
//
// They are rows of `ceil(count / 32)` words, with element `e` in bit `e % 32` of word `e / 32`.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_evaluation_masked_bits(trefoil_pfss_evaluation *evaluation,
                                                        uint32_t *bits,
                                                        size_t words);

// Takes in the other party's masked bits and goes on to the next opening, or to the end.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_evaluation_resume(trefoil_pfss_evaluation *evaluation,
                                                   const uint32_t *peer_bits,
                                                   size_t words);

// Additive shares of the masked output words `y + r_out` modulo `2^n`.
//
// They are `[count][words]`: word `i` of element `e` is at `e * words + i`. The keys are of a gate
// with masked outputs. The shares are meant to be opened: the sum of both parties' shares is the
// `hatx` of the next gate.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_haty_share(trefoil_pfss_evaluation *evaluation, uint64_t *haty, size_t len);

// Additive shares of the output words `y` themselves modulo `2^n`.
//
// They are in the order of `trefoil_pfss_haty_share`. The keys are of a gate without masked
// outputs. Do not open the shares unless both parties may know `y`.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_y_share(trefoil_pfss_evaluation *evaluation, uint64_t *y, size_t len);

// Additive shares of the output bits as 0 or 1 modulo `2^n`, `[count][bools]`.
//
// The keys have additive bits. The bits are never masked; do not open them unless both parties may
// know the bits.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_bool_share(trefoil_pfss_evaluation *evaluation, uint64_t *bools, size_t len);

// XOR shares of the output bits, `[bools][ceil(count / 32)]` words.
//
// Element `e` is in bit `e % 32` of word `e / 32`. The keys have XOR-shared bits. The bits are
// never masked; do not open them unless both parties may know the bits.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_bool_share_packed(trefoil_pfss_evaluation *evaluation,
                                                   uint32_t *bools,
                                                   size_t words);

// Wipes and frees an evaluation, finished or not.
//
// # Safety
// As said [at the top](crate#safety).
void trefoil_pfss_evaluation_free(trefoil_pfss_evaluation *evaluation);

// Makes the gate `name` with its parameters.
//
// The names are `relu` (with a proven range or without), `abs`, `truncate_reduce`, `gap_ars`
// (which needs a range), `lrs`, `ars`, `relu_ars` and `lut`. Parameters that the gate does not
// have are refused.
//
// # Safety
// As said [at the top](crate#safety); `name` ends with a zero byte, and `table` of the parameters
// is an array like any other.
trefoil_pfss_status trefoil_pfss_gate_named(const char *name,
                                            const trefoil_pfss_gate_parameters *parameters,
                                            trefoil_pfss_gate **gate);

// Reads a program from bytes: little-endian, every number in 8 bytes.
//
// First the modes of predicates (0 one shared key, 1 a key for each threshold), of coefficients (0
// hidden steps, 1 one payload key, 2 masked selection) and of output bits (0 XOR shares, 1
// additive shares), and the number of bits that hold every input. Then the descriptor: ring width,
// degree, numbers of word ports, bit ports, predicates and pieces; the names of the ports, each
// preceded by its length; predicates by tag (1 `x < beta`: beta; 2 `x mod 2^f < gamma`: f, gamma;
// 3 top bit; 4 top bit of `x + c`: c); pieces: start, for each word the number of coefficients and
// the coefficients, for each bit its formula, each operand after its operator (0 false, 1 true, 2
// not, 3 xor, 4 and, 5 or, 6 + i predicate i).
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_gate_read(const uint8_t *program, size_t len, trefoil_pfss_gate **gate);

// Makes the gate compute `y + r_out` for each output word `y`.
//
// Only the dealer holds the masks `r_out`. The output shares are then `haty` shares, meant to be
// opened. Output bits are unchanged.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_gate_mask_outputs(trefoil_pfss_gate *gate);

// Frees a gate.
//
// # Safety
// As said [at the top](crate#safety).
void trefoil_pfss_gate_free(trefoil_pfss_gate *gate);

// Where the bytes are; valid until they are freed. Null for null.
//
// # Safety
// As said [at the top](crate#safety).
const uint8_t *trefoil_pfss_bytes_data(trefoil_pfss_bytes *bytes);

// How many bytes there are; 0 for null.
//
// # Safety
// As said [at the top](crate#safety).
size_t trefoil_pfss_bytes_len(trefoil_pfss_bytes *bytes);

// Wipes and frees bytes.
//
// # Safety
// As said [at the top](crate#safety).
void trefoil_pfss_bytes_free(trefoil_pfss_bytes *bytes);

// Reads keys from the bytes of a bundle.
//
// Refuses bytes that are not a bundle, whatever they are, and bundles of gates that this interface
// does not make.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_keys_read(const uint8_t *bytes, size_t len, trefoil_pfss_keys **keys);

// Says what is public about keys.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_keys_inspect(trefoil_pfss_keys *keys, trefoil_pfss_keys_info *info);

// Masks this party's input shares.
//
// `masked[e]` is its share of `x + r`, to send to the other party. The sum of both parties' words,
// modulo `2^n`, is the public `hatx`. `count` must equal the number of elements of the keys.
//
// Keys mask once, since two inputs under one mask would reveal their difference: a second call is
// refused, and so is any copy of the keys that this process reads from their bytes.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_keys_mask_inputs(trefoil_pfss_keys *keys,
                                                  const uint64_t *x,
                                                  size_t count,
                                                  uint64_t *masked);

// Wipes and frees keys.
//
// # Safety
// As said [at the top](crate#safety).
void trefoil_pfss_keys_free(trefoil_pfss_keys *keys);

// Why the last failed call of this thread failed.
//
// Valid until the next call of this thread that fails; empty before the first.
const char *trefoil_pfss_last_error(void);

// Deals keys of a gate inside a circuit.
//
// If `inputs` is null, the keys are for inputs under fresh masks. Otherwise they are for the
// opened output word `word` of the gate that `inputs` came from, `haty = y + r_out`, which is then
// the `hatx`. The second kind of keys masks no inputs. Several gates may take the same word.
//
// If the gate has masked outputs, writes the wires of its own output words to `outputs`; for other
// gates `outputs` may be null and is not written.
//
// # Safety
// As said [at the top](crate#safety).
trefoil_pfss_status trefoil_pfss_deal_wired(trefoil_pfss_dealer *dealer,
                                            trefoil_pfss_backend *backend,
                                            trefoil_pfss_gate *gate,
                                            size_t count,
                                            trefoil_pfss_wires *inputs,
                                            size_t word,
                                            trefoil_pfss_bytes **party_0,
                                            trefoil_pfss_bytes **party_1,
                                            trefoil_pfss_wires **outputs);

// Wipes and frees wires.
//
// # Safety
// As said [at the top](crate#safety).
void trefoil_pfss_wires_free(trefoil_pfss_wires *wires);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TREFOIL_PFSS_H */
