//! The functions of the bridge: a call that makes keys and a call that evaluates, for each.
//!
//! Each call has two names: with a context of the caller's, and SUF's own name with the process's.
//!
//! # Safety
//! As said [at the top](crate#safety).

use core::ffi::c_int;

use super::{
    calls::{WordArrays, evaluate, keygen},
    peer::{SigmaPeer, SigmaStats},
    place::in_both_places,
    request::{Request, SigmaFunction},
};

/// Defines the four calls of a function, with its public parameter if it has one.
macro_rules! function_calls {
    (
        ($($name:ident: $type:ty)?) => $function:expr,
        $(#[$keygen_doc:meta])* $keygen:ident, $global_keygen:ident,
        $(#[$eval_doc:meta])* $eval:ident, $global_eval:ident
    ) => {
        in_both_places! {
            $(#[$keygen_doc])* $keygen, $global_keygen,
            (
                party: c_int, bw: c_int, scale: c_int, $($name: $type,)?
                input_mask: *const u64, n: usize, output_mask: *mut u64
            ) |place| {
                let words = WordArrays { input: input_mask, n, output: output_mask };
                keygen(place, party, || Request::new($function, bw, scale), words)
            }
        }
        in_both_places! {
            $(#[$eval_doc])* $eval,
            ///
            /// The context is free during the exchanges.
            $global_eval,
            (
                peer: *const SigmaPeer, party: c_int, bw: c_int, scale: c_int, $($name: $type,)?
                input_masked: *const u64, n: usize, output_masked: *mut u64, stats: *mut SigmaStats
            ) |place| {
                let words = WordArrays { input: input_masked, n, output: output_masked };
                evaluate(place, peer, party, || Request::new($function, bw, scale), words, stats)
            }
        }
    };
}

function_calls! {
    (silu: bool) => SigmaFunction::activation(silu),
    /// Makes keys of GeLU or SiLU for `n` inputs, and appends them to the buffer.
    ///
    /// `party` is the one whose keys they are, 0 or 1. `silu` selects SiLU. `bw` is the number of
    /// bits of the ring of inputs and outputs, `scale` the number of fraction bits of both, 8 to
    /// 20. Inputs satisfy `|x| < 2^12`, or `|x| < 2^(27 - scale)` above 15 fraction bits, and `bw`
    /// is at least `scale + 14`, or 29. `input_mask` holds the masks of the inputs, and
    /// `output_mask` gets the masks of the outputs.
    ///
    /// If the buffer has too little room, or anything else is refused, nothing is written.
    trefoil_pfss_sigma_keygen_activation, suf_sigma_keygen_activation,
    /// Evaluates GeLU or SiLU on `n` masked inputs, with the next keys.
    ///
    /// These are the oldest keys that were consumed and not evaluated, or else those at the cursor.
    /// They must have been made for the same party, function, parameters and `n`; keys for another
    /// call stay where they are. Keys are evaluated once, also if the evaluation fails.
    ///
    /// `input_masked` holds the open inputs `x + r` modulo `2^bw`, equal for both parties, and
    /// `output_masked` gets the open outputs `y + r_out`. `stats` gets the bytes and rounds of this
    /// call added, or is null.
    trefoil_pfss_sigma_eval_activation, suf_sigma_eval_activation
}

function_calls! {
    () => SigmaFunction::NegExp,
    /// Makes keys of `exp(-x)` of `x >= 0`, as `trefoil_pfss_sigma_keygen_activation`.
    ///
    /// Inputs are integers below `2^(bw - 2)`, or any positive ones with 64 bits, and `bw` is at
    /// least `scale + 7`. The result is 0 from 16 on.
    trefoil_pfss_sigma_keygen_nexp, suf_sigma_keygen_nexp,
    /// Evaluates `exp(-x)` of `x >= 0`, as `trefoil_pfss_sigma_eval_activation`.
    trefoil_pfss_sigma_eval_nexp, suf_sigma_eval_nexp
}

function_calls! {
    (nmax: c_int) => SigmaFunction::inverse(nmax)?,
    /// Makes keys of `1 / x` of `1 <= x <= nmax`, as `trefoil_pfss_sigma_keygen_activation`.
    ///
    /// `nmax` is at most 4096, and `bw` at least `scale + 3 + log2(nmax)`, rounded up, or
    /// `scale + 4`.
    trefoil_pfss_sigma_keygen_inverse, suf_sigma_keygen_inverse,
    /// Evaluates `1 / x` of `1 <= x <= nmax`, as `trefoil_pfss_sigma_eval_activation`.
    trefoil_pfss_sigma_eval_inverse, suf_sigma_eval_inverse
}

function_calls! {
    (extradiv: c_int) => SigmaFunction::rsqrt(extradiv)?,
    /// Makes keys of `1 / sqrt(x / extradiv)`, as `trefoil_pfss_sigma_keygen_activation`.
    ///
    /// Inputs satisfy `1/16 <= x / extradiv <= 256`, and `bw` is at least
    /// `scale + 11 + log2(extradiv)`, rounded up.
    trefoil_pfss_sigma_keygen_rsqrt, suf_sigma_keygen_rsqrt,
    /// Evaluates `1 / sqrt(x / extradiv)`, as `trefoil_pfss_sigma_eval_activation`.
    trefoil_pfss_sigma_eval_rsqrt, suf_sigma_eval_rsqrt
}
