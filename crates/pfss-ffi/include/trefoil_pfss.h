/* Function secret sharing for two-party secure inference: deals keys for gates, and evaluates them as one party, a
   descriptor by itself, many gates in a batch, a plan of one gate or several (a function, a softmax, products), or products
   by weights that are opened once. The cost of a model is a sum over plans.

   - A function that can fail returns a status; trefoil_pfss_last_error says what was expected and what came. Results
     go to the last arguments and are written only on success.
   - Handles belong to the caller, who frees each once; freeing null does nothing. Threads may share backends, gates, plans,
     weights, bytes and dealers; any other handle that another thread is using is refused with TREFOIL_PFSS_STATE. A handle
     is freed once no call on it runs or waits.
   - Arrays are pointers with numbers of elements. Null, misalignment and wrong numbers are refused; whether the memory
     is there is up to the caller.
   - Arrays are in host memory. Arrays of input shares, masked inputs and opened words (x, y, masked, hatx) and of shares
     (haty, y, bools, outs) of calls that mask, evaluate, run and read results may be in memory of a device instead, once the
     thread has called trefoil_pfss_set_stream; the address tells which. Keys, messages, tables, parameters and all arrays of
     dealers stay in host memory.
   - An array in device memory lies within one allocation, or one range of addresses that is mapped. It is read after the work
     that the stream holds, and filled before the work that the stream gets later, so that no call of the caller's has to wait.
     A call waits until its inputs are read, and returns before its results are filled, while pinned memory lasts if they go
     through the host. During a call the stream gets no work that uses the arrays. The work of one stream delays no call whose
     arrays are on another. Freeing a backend, and all that computes on it, waits for results that are not filled. An array in
     host memory, pinned memory too, has no order with the stream.
   - Words stay within the device, without a copy on the host, if their arrays are in memory of the device that computes:
     - x and masked of calls that mask by keys, on the device of the thread's stream
     - x, y and the result of a run, but for the shares of weights that are opened
     - the words of an evaluation whose hatx is there, unless its descriptor has output bits, no output words, hidden pieces or
       hidden thresholds
     - outs of the interval look-up of SUF
     All other device arrays go through the host, and so do results on a stream that has work when the call fills them, or on
     the legacy default stream. A device that was opened twice counts as two.
   - A call looks up all its device arrays, results too, and copies its inputs before it spends keys. Refused then, with keys
     and results unchanged, are memory of another device, an array that is longer than the rest of its allocation, an input
     with a part that is not mapped, a stream that is captured, and a capture on any stream that forbids calls of this thread:
     one in global or thread-local mode that this thread began, or one in global mode of another thread. A party's call that
     computes on a device is refused during such a capture whatever its arrays are, and so is a call that copies a result from
     there to host memory. The driver may invalidate the capture.
   - Found only after keys are spent are a result with a part that is not mapped or not writable, memory that is freed and a
     capture that begins during a call, both by other threads, and the loss of a device. The call fails then, and its keys are
     spent. Calls that read shares spend no keys, and can be repeated.
   - An address that the driver does not know, as of freed device memory, counts as host memory: the call then accesses it on
     the host, which may end the program.
   - Host copies of device arrays are wiped, pinned ones when their memory is used again or a queue finishes; the driver's own
     copies of arrays that are not pinned are not.
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
  // The keys, the evaluation, the run or the batch are in the wrong state for the call.
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

// An open backend. Threads may share it.
typedef struct trefoil_pfss_backend trefoil_pfss_backend;

// Many gates evaluated together by one party.
//
// They take one pass over the device, and one message a round for all of them.
typedef struct trefoil_pfss_batch trefoil_pfss_batch;

// The bytes of one party's keys, as secret as the keys. Threads may share them.
typedef struct trefoil_pfss_bytes trefoil_pfss_bytes;

// The trusted third party that makes keys for both parties.
//
// Threads may share it; its calls wait for each other.
typedef struct trefoil_pfss_dealer trefoil_pfss_dealer;

// A descriptor's evaluation by one party: bits have to be opened, or all is computed.
typedef struct trefoil_pfss_evaluation trefoil_pfss_evaluation;

// A gate with its public parameters, or a descriptor with its modes.
//
// Keys can be dealt for it. Threads may share it.
typedef struct trefoil_pfss_gate trefoil_pfss_gate;

// One party's keys. They mask inputs once, and are evaluated once.
typedef struct trefoil_pfss_keys trefoil_pfss_keys;

// A public computation of several gates. Threads may share it.
typedef struct trefoil_pfss_plan trefoil_pfss_plan;

// One party's run of a plan: a message has to be exchanged, or all is computed.
typedef struct trefoil_pfss_run trefoil_pfss_run;

// One party's keys of SUF's calls: one key for each input, used once.
typedef struct trefoil_pfss_suf_keys trefoil_pfss_suf_keys;

// One party's opened weights, for any number of products. Threads may share them.
typedef struct trefoil_pfss_weights trefoil_pfss_weights;

// The masks `r_out` of a gate's output words.
//
// The dealer needs them to deal keys for the gates that take the opened words as their inputs.
// They are held only by the dealer, and are as secret as the dealer.
typedef struct trefoil_pfss_wires trefoil_pfss_wires;

// Limits of a batch, and its treatment of jobs that do not fit the device.
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

// Counters of a batch since it was opened.
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

// Public facts of a bundle.
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

// The parameters of a function by name.
typedef struct {
  // Fraction bits of inputs, 8 to 20; of results too, unless `output_bits` applies.
  uint32_t fraction_bits;
  // Fraction bits of results of `reciprocal` and `rsqrt`; zero for the other functions.
  uint32_t output_bits;
  // Degree of the pieces, 1 to 3.
  //
  // `degree` and `pieces` are both zero for the recommended ones, and for a table.
  uint32_t degree;
  // Pieces in total, or for each octave of `reciprocal` and `rsqrt`.
  uint32_t pieces;
  // 1 for a table of lines (`gelu`, `silu`, `neg_exp`): smaller keys, more rounds. Else 0.
  uint32_t by_table;
  // The least input as a fixed-point integer, if a range is proven.
  //
  // Otherwise `min` and `max` are both zero.
  int64_t min;
  // The greatest input.
  int64_t max;
} trefoil_pfss_function_parameters;

// A question about a secret `x` of `n` bits, with public constants.
typedef struct {
  // Which question.
  //
  // 1: `x < a`. 2: `a <= x < b`, where `b` of 0 stands for `2^n`. 3: whether the masked `x`
  // wrapped around `2^n`. 4: the top bit of `x + a`. 5: `x >= 0` signed. 6: whether the low
  // `n - 1` bits wrapped. 7: the low bits are less than `a`. 8: whether the low bits wrapped.
  uint32_t kind;
  // The first constant; 0 if the question has none.
  uint64_t a;
  // The second constant; 0 if the question has none.
  uint64_t b;
} trefoil_pfss_query;

// The sizes of a plan.
typedef struct {
  // Elements of the first input.
  size_t x_len;
  // Elements of the second input; 0 if there is none.
  size_t y_len;
  // Elements of the result.
  size_t outputs;
  // Ring width of the result in bits.
  uint32_t out_n;
  // Messages that each party sends.
  uint64_t rounds;
  // Bytes of all these messages.
  uint64_t sent_bytes;
} trefoil_pfss_plan_info;

// One step of a model: runs of a plan.
typedef struct {
  // The plan.
  trefoil_pfss_plan *plan;
  // Number of runs.
  uint64_t runs;
  // The part of a matrix product by weights that is run; 0 for all other plans.
  //
  // 0: both factors are opened, by `trefoil_pfss_run_start`. 1: the second factor alone, as
  // weights, by `trefoil_pfss_weights_open`. 2: the first factor alone, for a product by weights
  // opened before, by `trefoil_pfss_weights_product`. For 1 and 2 the plan has a batch of 1.
  uint32_t weights;
} trefoil_pfss_step;

// Keys, messages and arithmetic of a model. Sums are saturating.
typedef struct {
  // Keys of a gate, matrix triples and keys of weights that each party gets.
  uint64_t gates;
  // Elements that gates are evaluated on, of matrix products, and of weights that are opened.
  uint64_t elements;
  // Bytes of keys of party 0 and party 1, as `trefoil_pfss_plan_key_bytes` counts them.
  uint64_t key_bytes[2];
  // Bytes that each party sends, step digests included.
  uint64_t sent_bytes;
  // Rounds of all steps, one after the other.
  uint64_t rounds;
  // AES blocks that each party computes to evaluate its keys, by the formula of each gate.
  //
  // For predicates they are the blocks of one public point for each secret.
  uint64_t aes_blocks;
} trefoil_pfss_cost;

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
const char *trefoil_pfss_backend_name(trefoil_pfss_backend *backend);

// Frees a backend.
void trefoil_pfss_backend_free(trefoil_pfss_backend *backend);

// The options of a batch that is given none: the limits of SUF, and jobs are not cut.
trefoil_pfss_status trefoil_pfss_batch_options_default(trefoil_pfss_batch_options *options);

// Begins a batch on a backend; `options` may be null.
//
// Threads may use different batches of one backend. The backend may be freed before the batch.
trefoil_pfss_status trefoil_pfss_batch_open(trefoil_pfss_backend *backend,
                                            const trefoil_pfss_batch_options *options,
                                            trefoil_pfss_batch **batch);

// Adds a job to the batch and writes the job's number.
//
// The job is `gate`, with `keys` dealt for it, on the public masked inputs `hatx`, one for each
// element. Both parties submit the same jobs in the same order.
//
// This spends the keys. If the job is refused, the keys are unchanged and still usable for the
// same masked inputs. These inputs are open, so no other keys fit them. `hatx` may be in memory of
// the thread's device; the call copies it.
trefoil_pfss_status trefoil_pfss_batch_submit(trefoil_pfss_batch *batch,
                                              trefoil_pfss_gate *gate,
                                              trefoil_pfss_keys *keys,
                                              const uint64_t *hatx,
                                              size_t count,
                                              uint64_t *job);

// Walks the key trees of all jobs. After a failure the batch never gives any results.
trefoil_pfss_status trefoil_pfss_batch_flush(trefoil_pfss_batch *batch);

// Begins a round, unless one is open, and writes its number of bytes.
//
// This number of bytes has to be sent and received in the round, for all jobs together; it is 0
// when all is computed.
trefoil_pfss_status trefoil_pfss_batch_pending(trefoil_pfss_batch *batch, size_t *bytes);

// This party's masked bits and words of the round, to be sent to the other party.
trefoil_pfss_status trefoil_pfss_batch_masked(trefoil_pfss_batch *batch, uint8_t *bytes, size_t len);

// Takes in the other party's bytes of the round.
//
// If they are not the message that is due, the batch never gives any results.
trefoil_pfss_status trefoil_pfss_batch_absorb(trefoil_pfss_batch *batch, const uint8_t *peer, size_t len);

// A digest of the gates, counts and nonces of all jobs so far, 32 bytes.
//
// Parties have to compare digests before they open anything: if they differ, the parties are out
// of step.
trefoil_pfss_status trefoil_pfss_batch_digest(trefoil_pfss_batch *batch, uint8_t *digest, size_t len);

// Additive shares of the masked output words `y + r_out` of a job.
//
// They are laid out as in `trefoil_pfss_haty_share`, modulo `2^n` of the output. The gate has
// masked outputs, and the shares are meant to be opened. Jobs from before a clear are refused.
// `haty` may be in memory of the thread's device, as the arrays of the next three calls may.
trefoil_pfss_status trefoil_pfss_batch_haty_share(trefoil_pfss_batch *batch,
                                                  uint64_t job,
                                                  uint64_t *haty,
                                                  size_t len);

// Additive shares of the output words `y` of a job.
//
// They are laid out as in `trefoil_pfss_y_share`. The gate has no masked outputs. Do not open the
// shares unless both parties may know `y`. Jobs from before a clear are refused.
trefoil_pfss_status trefoil_pfss_batch_y_share(trefoil_pfss_batch *batch,
                                               uint64_t job,
                                               uint64_t *y,
                                               size_t len);

// Additive shares of the output bits of a descriptor's job, as `trefoil_pfss_bool_share`.
trefoil_pfss_status trefoil_pfss_batch_bool_share(trefoil_pfss_batch *batch,
                                                  uint64_t job,
                                                  uint64_t *bools,
                                                  size_t len);

// XOR shares of the output bits of a descriptor's job, as `trefoil_pfss_bool_share_packed`.
trefoil_pfss_status trefoil_pfss_batch_bool_share_packed(trefoil_pfss_batch *batch,
                                                         uint64_t job,
                                                         uint32_t *bools,
                                                         size_t words);

// Reads the counters of a batch.
trefoil_pfss_status trefoil_pfss_batch_counters(trefoil_pfss_batch *batch, trefoil_pfss_counters *counters);

// Drops all jobs and wipes their results; the batch then takes in jobs again.
//
// A batch that failed stays failed.
trefoil_pfss_status trefoil_pfss_batch_clear(trefoil_pfss_batch *batch);

// Frees a batch, finished or not, and wipes the shares of a finished one.
void trefoil_pfss_batch_free(trefoil_pfss_batch *batch);

// SUF's `gen_dcf` for `count` inputs: keys of `payload` if `x < alpha`, else of zeros.
//
// `x` has `in_bits` bits, 1 to 64, and `alpha` as well. `alpha` and the payload of `len` bytes are
// public, and part of both parties' keys. Each input has a key with a fresh mask.
trefoil_pfss_status trefoil_pfss_suf_gen_dcf(trefoil_pfss_dealer *dealer,
                                             trefoil_pfss_backend *backend,
                                             uint32_t in_bits,
                                             uint64_t alpha,
                                             const uint8_t *payload,
                                             size_t len,
                                             size_t count,
                                             trefoil_pfss_bytes **party_0,
                                             trefoil_pfss_bytes **party_1);

// SUF's `gen_packed_lt` for `count` inputs: keys of `x < t` for each threshold `t`.
//
// `x` has `in_bits` bits, 1 to 64, and so do the thresholds, which are public and part of both
// parties' keys. One tree answers all thresholds of an input.
trefoil_pfss_status trefoil_pfss_suf_gen_packed_lt(trefoil_pfss_dealer *dealer,
                                                   trefoil_pfss_backend *backend,
                                                   uint32_t in_bits,
                                                   const uint64_t *thresholds,
                                                   size_t len,
                                                   size_t count,
                                                   trefoil_pfss_bytes **party_0,
                                                   trefoil_pfss_bytes **party_1);

// SUF's `gen_interval_lut` for `count` inputs: keys of the words of the interval of `x`.
//
// Interval `i` is `cutpoints[i] <= x < cutpoints[i + 1]` and has `out_words` words of 64 bits from
// `payload[i * out_words]` on, 16 at most. Cut points ascend from 0 to `2^in_bits`, which is
// written as 0 if `in_bits` is 64. They and the payload are public. Inputs are below `2^in_bits`,
// and are shared and opened modulo `2^64`.
trefoil_pfss_status trefoil_pfss_suf_gen_interval_lut(trefoil_pfss_dealer *dealer,
                                                      trefoil_pfss_backend *backend,
                                                      uint32_t in_bits,
                                                      size_t out_words,
                                                      const uint64_t *cutpoints,
                                                      size_t cutpoints_len,
                                                      const uint64_t *payload,
                                                      size_t payload_len,
                                                      size_t count,
                                                      trefoil_pfss_bytes **party_0,
                                                      trefoil_pfss_bytes **party_1);

// Reads keys from the bytes that one of the three calls above gave.
trefoil_pfss_status trefoil_pfss_suf_keys_read(const uint8_t *bytes,
                                               size_t len,
                                               trefoil_pfss_suf_keys **keys);

// Masks this party's input shares, one for each key, as `trefoil_pfss_keys_mask_inputs`.
//
// More inputs than keys are refused: one mask for many values reveals their differences. `x` and
// `masked` may be in memory of the thread's device.
trefoil_pfss_status trefoil_pfss_suf_keys_mask_inputs(trefoil_pfss_suf_keys *keys,
                                                      const uint64_t *x,
                                                      size_t count,
                                                      uint64_t *masked);

// SUF's `eval_dcf_many_u64`: XOR shares of the payload or zeros, `[count][payload]`.
//
// `hatx` are the opened masked inputs, one for each key. SUF's broadcast, one key for all inputs,
// is refused: one mask for many values reveals their differences. A call that is refused for its
// arguments or for a capture leaves the keys unchanged; any other spends them. Nothing has to be
// exchanged. `hatx` and `outs` may be in memory of the thread's device.
trefoil_pfss_status trefoil_pfss_suf_eval_dcf_many(trefoil_pfss_backend *backend,
                                                   trefoil_pfss_suf_keys *keys,
                                                   const uint64_t *hatx,
                                                   size_t count,
                                                   uint8_t *outs,
                                                   size_t len);

// SUF's `eval_packed_lt_many`: XOR shares of bit masks, `[count][ceil(thresholds / 64)]`.
//
// Threshold `t` is in bit `t % 64` of word `t / 64`. Otherwise as
// `trefoil_pfss_suf_eval_dcf_many`.
trefoil_pfss_status trefoil_pfss_suf_eval_packed_lt_many(trefoil_pfss_backend *backend,
                                                         trefoil_pfss_suf_keys *keys,
                                                         const uint64_t *hatx,
                                                         size_t count,
                                                         uint64_t *outs,
                                                         size_t len);

// SUF's `eval_interval_lut_many_u64`: additive shares of words, `[count][out_words]`.
//
// They are modulo `2^64`. Otherwise as `trefoil_pfss_suf_eval_dcf_many`.
trefoil_pfss_status trefoil_pfss_suf_eval_interval_lut_many(trefoil_pfss_backend *backend,
                                                            trefoil_pfss_suf_keys *keys,
                                                            const uint64_t *hatx,
                                                            size_t count,
                                                            uint64_t *outs,
                                                            size_t len);

// Wipes and frees keys of SUF's calls.
void trefoil_pfss_suf_keys_free(trefoil_pfss_suf_keys *keys);

// A dealer with randomness from the operating system.
trefoil_pfss_status trefoil_pfss_dealer_open(trefoil_pfss_dealer **dealer);

// A dealer whose output anyone can reproduce.
//
// For tests only: its keys protect nothing. A process refuses bundles that it has masked or
// evaluated before, even if they were dealt again from the same seed.
trefoil_pfss_status trefoil_pfss_dealer_insecure_from_seed(uint64_t seed, trefoil_pfss_dealer **dealer);

// Frees a dealer and wipes its state.
void trefoil_pfss_dealer_free(trefoil_pfss_dealer *dealer);

// Deals keys for `count` elements: a bundle for party 0 and one for party 1.
//
// Each bundle is for its own party only. For a gate with masked outputs, use
// `trefoil_pfss_deal_wired`.
trefoil_pfss_status trefoil_pfss_deal(trefoil_pfss_dealer *dealer,
                                      trefoil_pfss_backend *backend,
                                      trefoil_pfss_gate *gate,
                                      size_t count,
                                      trefoil_pfss_bytes **party_0,
                                      trefoil_pfss_bytes **party_1);

// Starts an evaluation of a descriptor on the public masked inputs `hatx`.
//
// There is one input for each element of the keys. Keys of gates by name are evaluated in batches.
// A call that is refused for its arguments or for a capture leaves the keys unchanged. After that
// they are spent, whether it succeeds or not, and the process refuses to evaluate another copy of
// them. `hatx` may be in memory of the thread's device. If that device evaluates, the output words
// of descriptors without output bits stay there until they are read.
trefoil_pfss_status trefoil_pfss_evaluate(trefoil_pfss_backend *backend,
                                          trefoil_pfss_keys *keys,
                                          const uint64_t *hatx,
                                          size_t count,
                                          trefoil_pfss_evaluation **evaluation);

// How many words of masked bits have to be sent and received now; 0 when all is computed.
trefoil_pfss_status trefoil_pfss_evaluation_pending(trefoil_pfss_evaluation *evaluation, size_t *words);

// This party's masked bits, to be sent to the other party.
//
// They are rows of `ceil(count / 32)` words, with element `e` in bit `e % 32` of word `e / 32`.
trefoil_pfss_status trefoil_pfss_evaluation_masked_bits(trefoil_pfss_evaluation *evaluation,
                                                        uint32_t *bits,
                                                        size_t words);

// Takes in the other party's masked bits and goes on to the next opening, or to the end.
trefoil_pfss_status trefoil_pfss_evaluation_resume(trefoil_pfss_evaluation *evaluation,
                                                   const uint32_t *peer_bits,
                                                   size_t words);

// Additive shares of the masked output words `y + r_out` modulo `2^n`.
//
// They are `[count][words]`: word `i` of element `e` is at `e * words + i`. The keys are of a gate
// with masked outputs. The shares are meant to be opened: the sum of both parties' shares is the
// `hatx` of the next gate. `haty` may be in memory of the thread's device.
trefoil_pfss_status trefoil_pfss_haty_share(trefoil_pfss_evaluation *evaluation, uint64_t *haty, size_t len);

// Additive shares of the output words `y` themselves modulo `2^n`.
//
// They are in the order of `trefoil_pfss_haty_share`. The keys are of a gate without masked
// outputs. Do not open the shares unless both parties may know `y`. The array may be in memory of
// the thread's device.
trefoil_pfss_status trefoil_pfss_y_share(trefoil_pfss_evaluation *evaluation, uint64_t *y, size_t len);

// Additive shares of the output bits as 0 or 1 modulo `2^n`, `[count][bools]`.
//
// The keys have additive bits. The bits are never masked; do not open them unless both parties may
// know the bits. `bools` may be in memory of the thread's device.
trefoil_pfss_status trefoil_pfss_bool_share(trefoil_pfss_evaluation *evaluation, uint64_t *bools, size_t len);

// XOR shares of the output bits, `[bools][ceil(count / 32)]` words.
//
// Element `e` is in bit `e % 32` of word `e / 32`. The keys have XOR-shared bits. The bits are
// never masked; do not open them unless both parties may know the bits. `bools` may be in memory
// of the thread's device.
trefoil_pfss_status trefoil_pfss_bool_share_packed(trefoil_pfss_evaluation *evaluation,
                                                   uint32_t *bools,
                                                   size_t words);

// Wipes and frees an evaluation, finished or not.
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
trefoil_pfss_status trefoil_pfss_gate_read(const uint8_t *program, size_t len, trefoil_pfss_gate **gate);

// Makes the gate compute `y + r_out` for each output word `y`.
//
// Only the dealer holds the masks `r_out`. The output shares are then `haty` shares, meant to be
// opened. Output bits are unchanged.
trefoil_pfss_status trefoil_pfss_gate_mask_outputs(trefoil_pfss_gate *gate);

// Frees a gate.
void trefoil_pfss_gate_free(trefoil_pfss_gate *gate);

// Where the bytes are; valid until they are freed. Null for null.
const uint8_t *trefoil_pfss_bytes_data(trefoil_pfss_bytes *bytes);

// How many bytes there are; 0 for null.
size_t trefoil_pfss_bytes_len(trefoil_pfss_bytes *bytes);

// Wipes and frees bytes.
void trefoil_pfss_bytes_free(trefoil_pfss_bytes *bytes);

// Reads keys from the bytes of a bundle.
//
// Refuses bytes that are not a bundle, whatever they are, and bundles of gates that this interface
// does not make.
trefoil_pfss_status trefoil_pfss_keys_read(const uint8_t *bytes, size_t len, trefoil_pfss_keys **keys);

// Reads the public facts of keys.
trefoil_pfss_status trefoil_pfss_keys_inspect(trefoil_pfss_keys *keys, trefoil_pfss_keys_info *info);

// Masks this party's input shares.
//
// `masked[e]` is its share of `x + r`, to send to the other party. The sum of both parties' words,
// modulo `2^n`, is the public `hatx`. `count` must equal the number of elements of the keys.
//
// Keys mask once, since two inputs under one mask would reveal their difference: a second call is
// refused, and so is any copy of the keys that this process reads from their bytes. `x` and
// `masked` may be in memory of the thread's device. `x` is then masked there; if the device fails
// before the masks are added, the handle is spent, but not the bytes of its keys.
trefoil_pfss_status trefoil_pfss_keys_mask_inputs(trefoil_pfss_keys *keys,
                                                  const uint64_t *x,
                                                  size_t count,
                                                  uint64_t *masked);

// Wipes and frees keys.
void trefoil_pfss_keys_free(trefoil_pfss_keys *keys);

// Plans a gate of `count` elements: one made by name, or a descriptor without output bits.
//
// The result has the words of each element one after the other. Gates with masked outputs are
// refused. `count` is below `2^32`. The gate may be freed before the plan.
trefoil_pfss_status trefoil_pfss_plan_gate(trefoil_pfss_gate *gate, size_t count, trefoil_pfss_plan **plan);

// Plans the function `name` of `count` fixed-point numbers in a ring of 64 bits.
//
// The names are `gelu`, `silu`, `neg_exp` (`exp(-t)` for `t >= 0`), `reciprocal` (for inputs of 1
// to 1024) and `rsqrt` (for inputs of 1/16 to 256). A proven range makes keys smaller. `count` is
// below `2^32`.
//
// # Safety
// As said [at the top](crate#safety); `name` ends with a zero byte.
trefoil_pfss_status trefoil_pfss_plan_function(const char *name,
                                               const trefoil_pfss_function_parameters *parameters,
                                               size_t count,
                                               trefoil_pfss_plan **plan);

// Plans the softmax of `rows` packed rows; row `r` has `lengths[r]` elements.
//
// Rows have at most 1024 elements and may have none. Logits have 12 fraction bits in a ring of 64
// bits, and lie in `min..=max`, which nothing checks. Results have 12 fraction bits. With
// `by_table` of 1, exponentials come from a table of lines: smaller keys, more rounds.
trefoil_pfss_status trefoil_pfss_plan_softmax(const size_t *lengths,
                                              size_t rows,
                                              int64_t min,
                                              int64_t max,
                                              uint32_t by_table,
                                              trefoil_pfss_plan **plan);

// Plans `batch` products of secret matrices `x` and `y`.
//
// `x` is `rows` by `inner`, `y` is `inner` by `cols`; matrices are row-major, one after the other,
// modulo `2^n`, and `n` is 1 to 64. If one party owns a factor, the other party's share of it is
// zeros.
trefoil_pfss_status trefoil_pfss_plan_matmul(uint32_t n,
                                             size_t batch,
                                             size_t rows,
                                             size_t inner,
                                             size_t cols,
                                             trefoil_pfss_plan **plan);

// Plans `count` products `x y` of secrets modulo `2^n`.
//
// `n` is 1 to 64, and `count` is below `2^32`.
trefoil_pfss_status trefoil_pfss_plan_product(uint32_t n, size_t count, trefoil_pfss_plan **plan);

// Plans the answers to `queries` about each of `count` secrets of `n` bits.
//
// The result has a row of `count` words for each query, 0 or 1 modulo `2^n`. There are 1 to 1024
// queries. All are about the whole secret (kinds 1 to 3), or about its sign (4 to 6), or about its
// low `low_bits` bits (7 and 8); `low_bits` is 0 for the others. `count` is below `2^32`.
trefoil_pfss_status trefoil_pfss_plan_predicates(uint32_t n,
                                                 uint32_t low_bits,
                                                 const trefoil_pfss_query *queries,
                                                 size_t queries_len,
                                                 size_t count,
                                                 trefoil_pfss_plan **plan);

// Writes the sizes of the inputs, the result and the messages of a plan.
trefoil_pfss_status trefoil_pfss_plan_inspect(trefoil_pfss_plan *plan, trefoil_pfss_plan_info *info);

// Writes the sizes of the keys of party 0 and party 1 for a plan, in bytes; `len` is 2.
//
// Headers, the encodings of descriptors and gaps are not counted: they take up to 3 KiB for each
// gate and the bytes of its descriptor.
trefoil_pfss_status trefoil_pfss_plan_key_bytes(trefoil_pfss_plan *plan, uint64_t *bytes, size_t len);

// Deals the keys of a plan: one byte string for party 0 and one for party 1.
//
// Each is for its own party only, and for one run.
trefoil_pfss_status trefoil_pfss_plan_deal(trefoil_pfss_dealer *dealer,
                                           trefoil_pfss_backend *backend,
                                           trefoil_pfss_plan *plan,
                                           trefoil_pfss_bytes **party_0,
                                           trefoil_pfss_bytes **party_1);

// Frees a plan.
void trefoil_pfss_plan_free(trefoil_pfss_plan *plan);

// Computes the cost of a model, given as plans and the number of runs of each.
//
// The sums equal the costs of the runs. Weights that are opened once are a separate step, and so
// are the products by them. For the cost of each step, call this function with one step.
//
// # Safety
// As said [at the top](crate#safety), also for the plan of each step.
trefoil_pfss_status trefoil_pfss_model_cost(const trefoil_pfss_step *steps,
                                            size_t len,
                                            trefoil_pfss_cost *cost);

// Starts one party's run of a plan with its keys, on its shares of the inputs.
//
// The numbers of elements of `x` and `y` are in the plan's information; `y` may be null if it has
// none. Keys of another plan and wrong numbers of elements are refused with the keys unchanged.
// After that the keys are spent, whether the run succeeds or not, and the process refuses them.
// Backend and plan may be freed before the run. `x` and `y` may be in memory of the thread's
// device; the call copies them, within the device if that computes, where the result then stays
// until it is read.
trefoil_pfss_status trefoil_pfss_run_start(trefoil_pfss_backend *backend,
                                           trefoil_pfss_plan *plan,
                                           const uint8_t *keys,
                                           size_t keys_len,
                                           const uint64_t *x,
                                           size_t x_len,
                                           const uint64_t *y,
                                           size_t y_len,
                                           trefoil_pfss_run **run);

// How many bytes have to be sent and received in the round; 0 when all is computed.
trefoil_pfss_status trefoil_pfss_run_pending(trefoil_pfss_run *run, size_t *bytes);

// This party's message of the round, to be sent to the other party.
//
// It has the length of `trefoil_pfss_run_pending`. It holds masked values and a digest of
// everything public so far, and nothing else.
trefoil_pfss_status trefoil_pfss_run_masked(trefoil_pfss_run *run, uint8_t *bytes, size_t len);

// Takes in the other party's message of the round.
//
// The call computes up to the next message, or to the end.
//
// A message of another length is refused, and the round stays open. After any other failure, such
// as a message of another step, the run never gives results.
trefoil_pfss_status trefoil_pfss_run_absorb(trefoil_pfss_run *run, const uint8_t *peer, size_t len);

// Additive shares of the result, modulo `2^out_n` of the plan's information.
//
// `len` is `outputs` of that information. The result of a product by opened weights has the rows
// of its keys and the columns of the weights, modulo `2^n` of the weights.
//
// Do not open the shares unless both parties may know the result. `y` may be in memory of the
// thread's device.
trefoil_pfss_status trefoil_pfss_run_y_share(trefoil_pfss_run *run, uint64_t *y, size_t len);

// Wipes and frees a run, finished or not.
void trefoil_pfss_run_free(trefoil_pfss_run *run);

// Deals the keys that open one secret matrix of weights, and the dealer's mask of it.
//
// The matrix is `inner` by `cols`, modulo `2^n`, and `n` is 1 to 64. The mask makes keys of
// products, in this or a later process. It stays with the dealer: whoever has it can open the
// weights.
trefoil_pfss_status trefoil_pfss_weights_deal(trefoil_pfss_dealer *dealer,
                                              uint32_t n,
                                              size_t inner,
                                              size_t cols,
                                              trefoil_pfss_bytes **party_0,
                                              trefoil_pfss_bytes **party_1,
                                              trefoil_pfss_bytes **mask);

// Deals the keys of one product `x y` by weights `y` under `mask`.
//
// `x` has `rows` rows. The backend multiplies the masks, for both parties together; the keys do
// not depend on it. Each of the two byte strings is for its own party only, and for one product.
trefoil_pfss_status trefoil_pfss_weights_deal_product(trefoil_pfss_dealer *dealer,
                                                      trefoil_pfss_backend *backend,
                                                      const uint8_t *mask,
                                                      size_t mask_len,
                                                      size_t rows,
                                                      trefoil_pfss_bytes **party_0,
                                                      trefoil_pfss_bytes **party_1);

// Starts the run in which one party opens weights, from its shares `y` of them.
//
// The weights are `inner` by `cols`, row-major, modulo `2^n`, as the keys were dealt. If one party
// owns them, the other party's share is zeros. The run has one round of `ceil(inner cols n / 8)`
// bytes and 16; `trefoil_pfss_run_weights` then gives the weights.
//
// Keys of other weights and wrong numbers of elements are refused with the keys unchanged. After
// that the keys are spent, whether the run succeeds or not, and the process refuses them. `y` may
// be in memory of the thread's device; the call copies it.
trefoil_pfss_status trefoil_pfss_weights_open(trefoil_pfss_backend *backend,
                                              uint32_t n,
                                              size_t inner,
                                              size_t cols,
                                              const uint8_t *keys,
                                              size_t keys_len,
                                              const uint64_t *y,
                                              size_t y_len,
                                              trefoil_pfss_run **run);

// The weights that a run opened.
trefoil_pfss_status trefoil_pfss_run_weights(trefoil_pfss_run *run, trefoil_pfss_weights **weights);

// Starts one party's run of a product `x y` by opened weights `y`, from its shares of `x`.
//
// `x` is row-major and has the rows of the keys. The run has one round of
// `ceil(rows inner n / 8)` bytes and 16; `trefoil_pfss_run_y_share` then gives the shares of the
// product.
//
// Keys for other weights and wrong numbers of elements are refused with the keys unchanged. After
// that the keys are spent, whether the run succeeds or not, and the process refuses them. Backend
// and weights may be freed before the run. `x` may be in memory of the thread's device; the call
// copies it, as `trefoil_pfss_run_start` does.
trefoil_pfss_status trefoil_pfss_weights_product(trefoil_pfss_backend *backend,
                                                 trefoil_pfss_weights *weights,
                                                 const uint8_t *keys,
                                                 size_t keys_len,
                                                 const uint64_t *x,
                                                 size_t x_len,
                                                 trefoil_pfss_run **run);

// The bytes of opened weights, for products in a later process.
//
// They are as secret as keys.
trefoil_pfss_status trefoil_pfss_weights_bytes(trefoil_pfss_weights *weights, trefoil_pfss_bytes **bytes);

// Reads opened weights from their bytes, and refuses any others.
trefoil_pfss_status trefoil_pfss_weights_read(const uint8_t *bytes,
                                              size_t len,
                                              trefoil_pfss_weights **weights);

// Wipes and frees opened weights, once no run uses them.
void trefoil_pfss_weights_free(trefoil_pfss_weights *weights);

// Why the last failed call of this thread failed.
//
// Valid until the next call of this thread that fails; empty before the first.
const char *trefoil_pfss_last_error(void);

// Sets the device and the stream of this thread's arrays in device memory.
//
// `stream` is a `CUstream` or `cudaStream_t` of the primary context of the backend's device; null
// is the legacy default stream. Calls of this thread then take arrays of values and shares in
// memory of that device, whichever backend computes. A null backend, as at first in each thread,
// and a backend on the processor stand for host memory alone, and take a null stream.
//
// # Safety
// As said [at the top](crate#safety). The stream lives until another is set. Calls with arrays are
// refused from the time the backend is freed until then.
trefoil_pfss_status trefoil_pfss_set_stream(trefoil_pfss_backend *backend, void *stream);

// Deals keys of a gate inside a circuit.
//
// If `inputs` is null, the keys are for inputs under fresh masks. Otherwise they are for the
// opened output word `word` of the gate that `inputs` came from, `haty = y + r_out`, which is then
// the `hatx`. The second kind of keys masks no inputs. Several gates may take the same word.
//
// If the gate has masked outputs, writes the wires of its own output words to `outputs`; for other
// gates `outputs` may be null and is not written.
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
void trefoil_pfss_wires_free(trefoil_pfss_wires *wires);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TREFOIL_PFSS_H */
