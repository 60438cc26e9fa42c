//! Mutants with the same behaviour as the unaltered kernel.

use ptx::mutate::Fault;

/// Faults without an observable effect on any launch.
#[derive(Debug)]
pub(super) struct Equivalent {
    /// The kernel, or with a star all whose names begin and end like that.
    kernel: &'static str,
    /// Which bounds tests of the kernel are taken away, counted from 0.
    pub(super) guards: &'static [usize],
    /// Why nothing shows.
    pub(super) reason: &'static str,
}

const NOTHING: &str = "an element past the end counts as -inf, which adds nothing to a sum of exponentials";
const HALF: &str = "no bound: squares of f16 elements stay finite in f32";
const WHOLE: &str = "the first chunk of two that are taken at once is whole";
const KEPT: &str = "no bound: without a word to keep, a lane's word goes behind those that are kept";
const ROOM: &str = "no bound: every lane has the length of the row, and there is room for rows that are not there";
const OWN: &str = "no bound: a sum relative to its own greatest element is the same sum";
const FIRST: &str = "the first turn of a loop that every block enters: the grid has no block without work";
const UNREAD: &str = "no bound: a tile of attention that no row of the block reads adds nothing";
const NO_KEY: &str = "no bound: a query that reads no key has a logarithm of -inf, which leaves it out too";
const REST: &str = "the odd turns of an unrolled loop, which has none: a tile is a multiple of its step";

pub(super) const EQUIVALENT: &[Equivalent] = &[
    Equivalent {
        kernel: "circle_point_ranges",
        guards: &[0],
        reason: "no bound: the factor of a thread without coefficients has room and is not read",
    },
    Equivalent { kernel: "circle_tile_*", guards: &[0], reason: FIRST },
    Equivalent { kernel: "correction_encode", guards: &[0], reason: FIRST },
    Equivalent { kernel: "correction_similar", guards: &[3, 4], reason: KEPT },
    Equivalent { kernel: "correction_similar_join", guards: &[1], reason: KEPT },
    Equivalent {
        kernel: "correction_similar_join",
        guards: &[3],
        reason: "no bound: what is computed of no state is not used",
    },
    Equivalent {
        kernel: "correction_similar_join",
        guards: &[4],
        reason: "no bound: the complement of the least pattern is NaN as well",
    },
    Equivalent {
        kernel: "deep_fold_thrice",
        guards: &[1],
        reason: "no bound: the sign of the second of four pairs on the circle, which is the same in every four",
    },
    Equivalent {
        kernel: "factor_gram_join",
        guards: &[0],
        reason: "no bound: what is past the end lies below the diagonal, where nothing is written",
    },
    Equivalent { kernel: "factor_jacobi", guards: &[13], reason: ROOM },
    Equivalent { kernel: "factor_jacobi_wide", guards: &[9], reason: ROOM },
    Equivalent {
        kernel: "factor_sketch",
        guards: &[0, 1],
        reason: "no bound: a four past the end has no element, and one that is there has its first",
    },
    Equivalent { kernel: "fss_cmp_eval_all", guards: &[1], reason: FIRST },
    Equivalent { kernel: "fss_cmp_eval_all_bitsliced", guards: &[1], reason: FIRST },
    Equivalent { kernel: "fss_cmp_eval_window", guards: &[0], reason: FIRST },
    Equivalent { kernel: "fss_cmp_gen", guards: &[0], reason: FIRST },
    Equivalent { kernel: "fss_combine_bits", guards: &[0], reason: FIRST },
    Equivalent {
        kernel: "fss_expand_seed_bitsliced",
        guards: &[0],
        reason: "no bound: a warp without blocks writes none, since each write has a test",
    },
    Equivalent { kernel: "fss_dcf_eval_window_bitsliced", guards: &[0], reason: FIRST },
    Equivalent { kernel: "fss_dcf_gen", guards: &[0], reason: FIRST },
    Equivalent { kernel: "fss_matmul_words", guards: &[0], reason: FIRST },
    Equivalent {
        kernel: "fss_pack_bits",
        guards: &[1],
        reason: "an element that begins with a word is treated alike as one that began before, and every word has one",
    },
    Equivalent { kernel: "linalg_attention_few128_*", guards: &[0, 7, 8], reason: UNREAD },
    Equivalent { kernel: "linalg_attention_few128_bf16", guards: &[25, 28, 58], reason: REST },
    Equivalent { kernel: "linalg_attention_few128_f16", guards: &[21, 24, 54], reason: REST },
    Equivalent { kernel: "linalg_attention_few128_f32", guards: &[25, 30, 60], reason: REST },
    Equivalent { kernel: "linalg_attention_few64_*", guards: &[0, 5, 6], reason: UNREAD },
    Equivalent { kernel: "linalg_attention_few64_*f16", guards: &[15, 18], reason: REST },
    Equivalent { kernel: "linalg_attention_few64_f32", guards: &[15, 20], reason: REST },
    Equivalent {
        kernel: "linalg_attention_join_*",
        guards: &[1],
        reason: "without elements in a row, the sums of the next part are loaded and not used",
    },
    Equivalent { kernel: "linalg_attention_keys128_*f16", guards: &[38, 39], reason: UNREAD },
    Equivalent { kernel: "linalg_attention_keys128_f32", guards: &[26, 27], reason: UNREAD },
    Equivalent { kernel: "linalg_attention_keys128_*f16", guards: &[63, 67, 71, 75, 79, 83, 87, 91], reason: NO_KEY },
    Equivalent { kernel: "linalg_attention_keys128_f32", guards: &[51, 55, 59, 63], reason: NO_KEY },
    Equivalent { kernel: "linalg_attention_keys128_*f16", guards: &[0, 19, 50, 61], reason: REST },
    Equivalent { kernel: "linalg_attention_keys128_f32", guards: &[0, 13, 38, 49], reason: REST },
    Equivalent { kernel: "linalg_attention_keys64_*f16", guards: &[22, 23], reason: UNREAD },
    Equivalent { kernel: "linalg_attention_keys64_f32", guards: &[26, 27], reason: UNREAD },
    Equivalent { kernel: "linalg_attention_keys64_*f16", guards: &[39, 43, 47, 51, 55, 59, 63, 67], reason: NO_KEY },
    Equivalent { kernel: "linalg_attention_keys64_f32", guards: &[43, 49, 55, 61], reason: NO_KEY },
    Equivalent { kernel: "linalg_attention_keys64_*f16", guards: &[0, 11, 30, 37], reason: REST },
    Equivalent { kernel: "linalg_attention_keys64_f32", guards: &[0, 13, 34, 41], reason: REST },
    Equivalent { kernel: "linalg_attention_many128_*f16", guards: &[0, 13, 14], reason: UNREAD },
    Equivalent { kernel: "linalg_attention_many128_f32", guards: &[0, 16, 17], reason: UNREAD },
    Equivalent { kernel: "linalg_attention_many128_*f16", guards: &[10, 31, 36], reason: REST },
    Equivalent { kernel: "linalg_attention_many128_f32", guards: &[13, 34, 39], reason: REST },
    Equivalent { kernel: "linalg_attention_many64_*f16", guards: &[0, 14, 15], reason: UNREAD },
    Equivalent { kernel: "linalg_attention_many64_f32", guards: &[0, 17, 18], reason: UNREAD },
    Equivalent { kernel: "linalg_attention_many64_*f16", guards: &[24, 29, 79], reason: REST },
    Equivalent { kernel: "linalg_attention_many64_f32", guards: &[27, 32, 78], reason: REST },
    Equivalent { kernel: "linalg_attention_queries128_*f16", guards: &[18, 19], reason: UNREAD },
    Equivalent { kernel: "linalg_attention_queries128_f32", guards: &[26, 27], reason: UNREAD },
    Equivalent { kernel: "linalg_attention_queries128_*f16", guards: &[15, 17], reason: NO_KEY },
    Equivalent { kernel: "linalg_attention_queries128_f32", guards: &[23, 25], reason: NO_KEY },
    Equivalent { kernel: "linalg_attention_queries128_*f16", guards: &[0, 7, 30, 40], reason: REST },
    Equivalent { kernel: "linalg_attention_queries128_f32", guards: &[0, 11, 38, 48], reason: REST },
    Equivalent { kernel: "linalg_attention_queries64_*f16", guards: &[26, 27], reason: UNREAD },
    Equivalent { kernel: "linalg_attention_queries64_f32", guards: &[30, 31], reason: UNREAD },
    Equivalent { kernel: "linalg_attention_queries64_*f16", guards: &[23, 25], reason: NO_KEY },
    Equivalent { kernel: "linalg_attention_queries64_f32", guards: &[23, 25, 27, 29], reason: NO_KEY },
    Equivalent { kernel: "linalg_attention_queries64_*f16", guards: &[0, 11, 34, 40], reason: REST },
    Equivalent { kernel: "linalg_attention_queries64_f32", guards: &[0, 11, 38, 44], reason: REST },
    Equivalent { kernel: "linalg_gemm_general_*", guards: &[0], reason: "without terms, it adds a tile of zeros" },
    Equivalent { kernel: "linalg_gemm_mma128_nt_*", guards: &[1], reason: "products of many tiles have no parts" },
    Equivalent { kernel: "linalg_gemm_mma128_tt_*", guards: &[1], reason: "products of many tiles have no parts" },
    Equivalent { kernel: "linalg_norm_held_f16", guards: &[9], reason: HALF },
    Equivalent { kernel: "linalg_norm_warp_f16", guards: &[10], reason: HALF },
    Equivalent { kernel: "linalg_norm_sum_held_f16", guards: &[25], reason: HALF },
    Equivalent { kernel: "linalg_norm_sum_warp_f16", guards: &[22], reason: HALF },
    Equivalent { kernel: "linalg_norm_sum_warp_f32", guards: &[14, 15, 16, 17], reason: WHOLE },
    Equivalent { kernel: "linalg_norm_warp_f32", guards: &[2, 3, 4, 5], reason: WHOLE },
    Equivalent {
        kernel: "linalg_softmax_block_*",
        guards: &[0],
        reason: "a quotient that is known to be zero without the division",
    },
    Equivalent { kernel: "linalg_softmax_block_*", guards: &[10, 11, 12, 13], reason: NOTHING },
    Equivalent { kernel: "linalg_softmax_block_*", guards: &[18], reason: OWN },
    Equivalent { kernel: "linalg_softmax_columns_*", guards: &[0], reason: NOTHING },
    Equivalent {
        kernel: "linalg_softmax_held_*",
        guards: &[0],
        reason: "after the last turn no row is live, which ends the loop too",
    },
    Equivalent { kernel: "linalg_softmax_warp_*", guards: &[11, 12, 13, 14], reason: NOTHING },
    Equivalent { kernel: "linalg_softmax_warp_*", guards: &[15], reason: OWN },
    Equivalent {
        kernel: "tensor_extreme_block_*",
        guards: &[0],
        reason: "parts of axes as short as here are longer than a block",
    },
];

impl Equivalent {
    /// Whether fault `number` of its kind in `kernel` is among these.
    pub(super) fn holds(&self, kernel: &str, fault: Fault, number: usize) -> bool {
        let named = match self.kernel.split_once('*') {
            Some((begin, end)) => kernel.starts_with(begin) && kernel.ends_with(end),
            None => kernel == self.kernel,
        };
        named && fault == Fault::Guard && self.guards.contains(&number)
    }
}
