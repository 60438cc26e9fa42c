//! The transforms word by word, for columns below one block of vectors.
//!
//! Layer `i` pairs positions `p` and `p + 2^i` with the twiddle `t` of pair `p >> (i+1)`.
//! Interpolation: layers `0 .. n-1` map `(a, b)` to `(a + b, (a - b) / t)`, and values are divided
//! by `2^n`. Evaluation: layers `n-1 .. 0` map `(a, b)` to `(a + t b, a - t b)` (circle FFT,
//! <https://eprint.iacr.org/2024/278>).

use core_types::field::{M31, Twiddle};

/// The twiddle of layer `layer` for pair `h` on a domain of `2^log_size` points.
///
/// Layer 0 is derived from layer 1: twiddles `x0, x1` there give `x1, -x1, -x0, x0`. Two points are
/// `(0, -1), (0, 1)`; four have `|x| = |y|`, so one twiddle serves both layers.
pub(crate) fn twiddle(twiddles: &[Twiddle], log_size: u32, layer: u32, h: usize) -> Twiddle {
    if layer > 0 {
        let offset = (1usize << (log_size - 1)) - (1usize << (log_size - layer));
        return twiddles[offset + h];
    }
    match log_size {
        1 => Twiddle::new(-M31::ONE),
        2 if h == 0 => twiddles[0].negated(),
        2 => twiddles[0],
        _ => match (h % 4, twiddles[h / 4 * 2], twiddles[h / 4 * 2 + 1]) {
            (0, _, x1) => x1,
            (1, _, x1) => x1.negated(),
            (2, x0, _) => x0.negated(),
            (_, x0, _) => x0,
        },
    }
}

/// Calls `body(i, j, twiddle)` for all pairs of `layer`.
///
/// The pairs are among `len` positions from `position` on.
fn pairs(
    len: usize,
    layer: u32,
    position: usize,
    twiddles: &[Twiddle],
    log_size: u32,
    mut body: impl FnMut(usize, usize, Twiddle),
) {
    let distance = 1usize << layer;
    for start in (0..len).step_by(2 * distance) {
        let t = twiddle(twiddles, log_size, layer, (position + start) >> (layer + 1));
        for i in start..start + distance {
            body(i, i + distance, t);
        }
    }
}

/// Applies layers `0 .. log_len` of the inverse transform to the first `2^log_len` values.
///
/// The values are on a domain of `2^log_size` points. Each is then divided by the number of values.
pub(super) fn interpolate(values: &mut [M31], log_len: u32, twiddles: &[Twiddle], log_size: u32) {
    for layer in 0..log_len {
        pairs(values.len(), layer, 0, twiddles, log_size, |i, j, t| {
            let (a, b) = (values[i], values[j]);
            values[i] = a + b;
            values[j] = (a - b).times_twiddle(t);
        });
    }
    for value in values {
        *value = value.div_power_of_two(log_len);
    }
}

/// Applies layers `log_len - 1 .. 0` to `2^log_len` values at `position`.
///
/// The domain has `2^log_size` points.
pub(super) fn evaluate(values: &mut [M31], log_len: u32, position: usize, twiddles: &[Twiddle], log_size: u32) {
    for layer in (0..log_len).rev() {
        pairs(values.len(), layer, position, twiddles, log_size, |i, j, t| {
            let (a, b) = (values[i], values[j].times_twiddle(t));
            values[i] = a + b;
            values[j] = a - b;
        });
    }
}
