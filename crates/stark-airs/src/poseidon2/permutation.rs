//! The permutation, over whatever a row holds.

use core_types::{air::BaseValue, field::M31};

use super::{
    WIDTH,
    constants::{INITIAL, PARTIAL, TERMINAL},
};

/// Logs of the powers of two added on the diagonal of the internal matrix.
///
/// The first entry of the diagonal, -2, is left out.
const DIAGONAL: [u32; WIDTH - 1] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14, 15, 16];

/// The state after the permutation, with S-boxes by `sbox`.
///
/// `sbox` is called 16 times in each full round, then once in each partial round, then 16 times in
/// each full round again.
pub(super) fn permute<F: BaseValue>(mut state: [F; WIDTH], mut sbox: impl FnMut(F) -> F) -> [F; WIDTH] {
    external(&mut state);
    for constants in &INITIAL {
        full_round(&mut state, constants, &mut sbox);
    }
    for &constant in &PARTIAL {
        state[0] = sbox(state[0] + constant);
        internal(&mut state);
    }
    for constants in &TERMINAL {
        full_round(&mut state, constants, &mut sbox);
    }
    state
}

fn full_round<F: BaseValue>(state: &mut [F; WIDTH], constants: &[M31; WIDTH], sbox: &mut impl FnMut(F) -> F) {
    for (word, &constant) in state.iter_mut().zip(constants) {
        *word = sbox(*word + constant);
    }
    external(state);
}

/// Multiplies `state` by the external matrix.
///
/// The matrix has `M` twice for the block itself and once for each other block. `M` is the
/// circulant of 2, 3, 1, 1.
fn external<F: BaseValue>(state: &mut [F; WIDTH]) {
    for block in state.as_chunks_mut::<4>().0 {
        let [a, b, c, d] = *block;
        let (ab, cd) = (a + b, c + d);
        let sum = ab + cd;
        *block = [sum + ab + b, sum + b + c + c, sum + cd + d, sum + d + a + a];
    }
    let sums: [F; 4] = core::array::from_fn(|k| state[k] + state[k + 4] + state[k + 8] + state[k + 12]);
    for (k, word) in state.iter_mut().enumerate() {
        *word = *word + sums[k % 4];
    }
}

/// The internal matrix: ones, and on the diagonal powers of two more.
fn internal<F: BaseValue>(state: &mut [F; WIDTH]) {
    let [first, rest @ ..] = state;
    let others = rest.iter().skip(1).fold(rest[0], |sum, &word| sum + word);
    let sum = others + *first;
    *first = others - *first;
    for (word, log) in rest.iter_mut().zip(DIAGONAL) {
        *word = sum + *word * M31::from_u32(1 << log);
    }
}
