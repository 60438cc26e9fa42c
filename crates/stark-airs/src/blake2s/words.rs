//! Blake2s on words, for the states between its rounds.

use core_types::blake2s::IV;

use super::rounds::MIXES;

/// The state before the first round of a block that ends at byte `bytes` of the message.
pub(super) const fn first_state(chain: [u32; 8], bytes: u32, last: bool) -> [u32; 16] {
    let [a, b, c, d, e, f, g, h] = chain;
    let [i, j, k, l, m, n, o, p] = IV;
    [a, b, c, d, e, f, g, h, i, j, k, l, m ^ bytes, n, if last { !o } else { o }, p]
}

/// The state after a round with the message in its order.
pub(super) fn round(mut state: [u32; 16], message: &[u32; 16]) -> [u32; 16] {
    for ([a, b, c, d], [x, y]) in MIXES.into_iter().zip(message.as_chunks::<2>().0) {
        for (word, turns) in [(x, [16, 12]), (y, [8, 7])] {
            state[a] = state[a].wrapping_add(state[b]).wrapping_add(*word);
            state[d] = (state[d] ^ state[a]).rotate_right(turns[0]);
            state[c] = state[c].wrapping_add(state[d]);
            state[b] = (state[b] ^ state[c]).rotate_right(turns[1]);
        }
    }
    state
}

/// The chaining value after a block.
pub(super) fn finished(chain: [u32; 8], state: &[u32; 16]) -> [u32; 8] {
    core::array::from_fn(|k| chain[k] ^ state[k] ^ state[k + 8])
}

#[cfg(test)]
mod tests {
    use core_types::blake2s::{SIGMA, START, compress};

    use super::*;

    #[test]
    fn ten_rounds_are_a_compression() {
        let mut rng = fastrand::Rng::with_seed(1);
        let block = [(); 16].map(|()| rng.u32(..));
        for (bytes, last) in [(64, false), (64, true), (1 << 26, true)] {
            let ordered = SIGMA.map(|order| order.map(|k| block[usize::from(k)]));
            let state = ordered.iter().fold(first_state(START, bytes, last), round);
            assert_eq!(finished(START, &state), compress(START, &block, bytes.into(), last));
        }
    }
}
