//! Folds of a layer: one read and one write for up to three folds.
//!
//! A thread folds a group of values to one.
//!
//! # Safety
//! `twiddles` are the `2^(log_domain - 1)` inverse twiddles of the domain, `challenge` one element,
//! `values` four planes of `2^log_size` words and `folded` four of `2^(log_size - folds)`, with
//! `folds` as in the kernel's name. Grid: any; block: 256 threads.

use core_types::{
    field::{Field, M31, QM31, Twiddle},
    params::fri::FriFoldLayers,
};

use crate::dev::idx::grid_stride;

/// Writes and declares kernels that fold `2^$folds` values to one.
macro_rules! folds {
    ($($name:ident = $fold:ident, folds $folds:literal, min_blocks $min_blocks:literal;)*) => {$(
        #[doc = concat!("2^", $folds, " values to one.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            twiddles: *const Twiddle,
            challenge: *const QM31,
            values: *const M31,
            folded: *mut M31,
            params: FriFoldLayers,
        ) {
            let layers = Layers::new(twiddles, challenge, values, params);
            let log_len = params.log_size - $folds;
            for h in grid_stride(1 << log_len) {
                store(folded, log_len, h as usize, layers.$fold(h as usize));
            }
        }

        kernel_table! { $name: block [256, 1, 1], min_blocks $min_blocks, shared None, barriers 0; }
    )*};
}

folds! {
    deep_fold_once = once, folds 1, min_blocks 4;
    deep_fold_twice = twice, folds 2, min_blocks 4;
    deep_fold_thrice = thrice, folds 3, min_blocks 3;
}

/// The operands of a thread's folds.
struct Layers {
    twiddles: *const Twiddle,
    values: *const M31,
    params: FriFoldLayers,
    alpha: QM31,
}

impl Layers {
    #[inline(always)]
    unsafe fn new(twiddles: *const Twiddle, challenge: *const QM31, values: *const M31, params: FriFoldLayers) -> Self {
        let mut alpha = *challenge;
        let mut squarings = params.squarings;
        while squarings > 0 {
            alpha = alpha.square();
            squarings -= 1;
        }
        Self { twiddles, values, params, alpha }
    }

    /// Pair `h` of the values.
    #[inline(always)]
    unsafe fn once(&self, h: usize) -> QM31 {
        let load = |at: usize| {
            let len = 1usize << self.params.log_size;
            let plane = self.values.add(at);
            QM31::from_coordinates([*plane, *plane.add(len), *plane.add(2 * len), *plane.add(3 * len)])
        };
        self.pair(load(2 * h), load(2 * h + 1), 0, h, self.alpha)
    }

    /// Pair `h` of what pairs fold to.
    #[inline(always)]
    unsafe fn twice(&self, h: usize) -> QM31 {
        self.pair(self.once(2 * h), self.once(2 * h + 1), 1, h, self.alpha.square())
    }

    /// Pair `h` of what those fold to.
    #[inline(always)]
    unsafe fn thrice(&self, h: usize) -> QM31 {
        self.pair(self.twice(2 * h), self.twice(2 * h + 1), 2, h, self.alpha.square().square())
    }

    /// A pair, `above` layers above the first.
    #[inline(always)]
    unsafe fn pair(&self, left: QM31, right: QM31, above: u32, h: usize, alpha: QM31) -> QM31 {
        let t = factor(self.twiddles, self.params.log_domain, self.params.layer + above, h);
        let difference = (left - right).coordinates().map(|word| word.times_twiddle(t));
        (left + right) + alpha * QM31::from_coordinates(difference)
    }
}

/// The inverse twiddle of layer `layer` for pair `h` on a domain of `2^log_size` points.
///
/// See `circle::scalar` of the CPU backend.
#[inline(always)]
pub(super) unsafe fn factor(twiddles: *const Twiddle, log_size: u32, layer: u32, h: usize) -> Twiddle {
    if layer > 0 {
        return *twiddles.add((1usize << (log_size - 1)) - (1usize << (log_size - layer)) + h);
    }
    // Factors x0, x1 of layer 1 give x1, -x1, -x0, x0. Two points are (0, -1), (0, 1); four have one |x| and |y|.
    let t = match log_size {
        1 => Twiddle::new(M31::ONE),
        2 => *twiddles,
        _ => *twiddles.add(h / 4 * 2 + usize::from(h & 2 == 0)),
    };
    let negative = if log_size <= 2 { h == 0 } else { h & 3 == 1 || h & 3 == 2 };
    if negative { t.negated() } else { t }
}

/// Writes element `h` of four planes.
#[inline(always)]
pub(super) unsafe fn store(planes: *mut M31, log_len: u32, h: usize, value: QM31) {
    let [w0, w1, w2, w3] = value.coordinates();
    let plane = planes.add(h);
    *plane = w0;
    *plane.add(1 << log_len) = w1;
    *plane.add(2 << log_len) = w2;
    *plane.add(3 << log_len) = w3;
}
