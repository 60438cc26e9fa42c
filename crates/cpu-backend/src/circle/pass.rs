//! The two loops of all transforms: blocks in registers, and passes of one to three layers.
//!
//! # Safety
//! Every `unsafe` function of this file requires pointers and twiddles that are valid for the words
//! its arguments name.

use crate::simd::{LaneKernel, words::WordVectors};

/// The doubled twiddles of a domain of `2^log_size` points, in the layout of the op set.
#[derive(Clone, Copy)]
pub(super) struct Twiddles {
    base: *const u32,
    log_size: u32,
}

impl Twiddles {
    /// # Safety
    /// `base` must stay valid for `2^(log_size - 1)` words while this or a copy is used.
    pub(super) unsafe fn new(base: *const u32, log_size: u32) -> Self {
        Self { base, log_size }
    }

    /// The twiddles of layer `layer` from the one of stored position `position` on.
    ///
    /// # Safety
    /// `1 <= layer < log_size` and `position < 2^log_size`.
    #[inline(always)]
    unsafe fn at(self, layer: u32, position: usize) -> *const u32 {
        // T_j has 2^(n-2-j) entries, so T_0 .. T_(i-2) have 2^(n-1) - 2^(n-i); entry h serves 2^(i+1) positions.
        let offset = (1usize << (self.log_size - 1)) - (1usize << (self.log_size - layer));
        // SAFETY: the entry lies in T_(layer - 1), inside the words that `new` was promised.
        unsafe { self.base.add(offset + (position >> (layer + 1))) }
    }
}

/// One butterfly between vectors `i` and `j`, with one twiddle `t` in all lanes.
///
/// The inverse computes `(a + b, (a - b) t)`, the forward transform `(a + t b, a - t b)`.
#[inline(always)]
fn butterfly<L: WordVectors, const INVERSE: bool>(l: L, v: &mut [L::V], i: usize, j: usize, t: L::V) {
    (v[i], v[j]) = l.inline(Butterfly::<_, INVERSE> { a: v[i], b: v[j], t });
}

/// A call of [`butterfly`].
struct Butterfly<V, const INVERSE: bool> {
    a: V,
    b: V,
    t: V,
}

impl<L: WordVectors, const INVERSE: bool> LaneKernel<L> for Butterfly<L::V, INVERSE> {
    type Out = (L::V, L::V);

    #[inline(always)]
    fn run(self, l: L) -> (L::V, L::V) {
        let Self { a, b, t } = self;
        if INVERSE {
            (l.add(a, b), l.mul_splat(l.sub(a, b), t))
        } else {
            let b = l.mul_splat(b, t);
            (l.add(a, b), l.sub(a, b))
        }
    }
}

/// One butterfly per lane, each with its own twiddle.
#[inline(always)]
fn lane_butterfly<L: WordVectors, const INVERSE: bool>(l: L, a: L::V, b: L::V, t: L::V) -> (L::V, L::V) {
    if INVERSE {
        (l.add(a, b), l.mul(l.sub(a, b), t))
    } else {
        let b = l.mul(b, t);
        (l.add(a, b), l.sub(a, b))
    }
}

/// `R` vectors, `step` words apart.
///
/// # Safety
/// Every vector is readable.
#[inline(always)]
unsafe fn load_all<L: WordVectors, const R: usize>(l: L, source: *const u32, step: usize) -> [L::V; R] {
    // SAFETY: the caller's promise.
    unsafe {
        let mut v = [l.load(source); R];
        let mut i = 1;
        while i < R {
            v[i] = l.load(source.add(i * step));
            i += 1;
        }
        v
    }
}

/// Writes `R` vectors times `2^scale`, `step` words apart.
///
/// # Safety
/// Every vector is writable.
#[inline(always)]
unsafe fn store_all<L: WordVectors, const R: usize>(l: L, mut v: [L::V; R], target: *mut u32, step: usize, scale: u32) {
    if scale != 0 {
        let mut i = 0;
        while i < R {
            v[i] = l.rotate(v[i], scale);
            i += 1;
        }
    }
    let mut i = 0;
    while i < R {
        // SAFETY: the caller's promise.
        unsafe { l.store(target.add(i * step), v[i]) };
        i += 1;
    }
}

/// Splatted twiddles of up to three consecutive layers above one group of positions.
#[derive(Clone, Copy)]
struct TwiddleGroup<L: WordVectors> {
    low: [L::V; 4],
    middle: [L::V; 2],
    high: [L::V; 1],
}

impl<L: WordVectors> TwiddleGroup<L> {
    /// The twiddles of layers `layer .. layer + log2(R)`.
    ///
    /// They are for the `R 2^layer` positions from `position` on.
    ///
    /// # Safety
    /// All layers between 1 and the domain's last; `position` inside the domain.
    #[inline(always)]
    unsafe fn load<const R: usize>(l: L, twiddles: Twiddles, layer: u32, position: usize) -> Self {
        // SAFETY: R / 2 entries of the first layer, and half the previous number of each next, serve these positions.
        unsafe {
            let first = twiddles.at(layer, position);
            let t = l.splat(*first);
            let mut group = Self { low: [t; 4], middle: [t; 2], high: [t] };
            if R > 2 {
                let second = twiddles.at(layer + 1, position);
                group.low[1] = l.splat(*first.add(1));
                group.middle[0] = l.splat(*second);
                if R > 4 {
                    group.low[2] = l.splat(*first.add(2));
                    group.low[3] = l.splat(*first.add(3));
                    group.middle[1] = l.splat(*second.add(1));
                    group.high[0] = l.splat(*twiddles.at(layer + 2, position));
                }
            }
            group
        }
    }

    /// The layers between `R` vectors, written out so that the vectors stay in registers.
    #[inline(always)]
    fn apply<const R: usize, const INVERSE: bool>(&self, l: L, v: &mut [L::V; R]) {
        if INVERSE {
            self.apply_low::<R, INVERSE>(l, v);
            self.apply_middle::<R, INVERSE>(l, v);
            self.apply_high::<R, INVERSE>(l, v);
        } else {
            self.apply_high::<R, INVERSE>(l, v);
            self.apply_middle::<R, INVERSE>(l, v);
            self.apply_low::<R, INVERSE>(l, v);
        }
    }

    #[inline(always)]
    fn apply_low<const R: usize, const INVERSE: bool>(&self, l: L, v: &mut [L::V; R]) {
        butterfly::<L, INVERSE>(l, v, 0, 1, self.low[0]);
        if R > 2 {
            butterfly::<L, INVERSE>(l, v, 2, 3, self.low[1]);
        }
        if R > 4 {
            butterfly::<L, INVERSE>(l, v, 4, 5, self.low[2]);
            butterfly::<L, INVERSE>(l, v, 6, 7, self.low[3]);
        }
    }

    #[inline(always)]
    fn apply_middle<const R: usize, const INVERSE: bool>(&self, l: L, v: &mut [L::V; R]) {
        if R > 2 {
            butterfly::<L, INVERSE>(l, v, 0, 2, self.middle[0]);
            butterfly::<L, INVERSE>(l, v, 1, 3, self.middle[0]);
        }
        if R > 4 {
            butterfly::<L, INVERSE>(l, v, 4, 6, self.middle[1]);
            butterfly::<L, INVERSE>(l, v, 5, 7, self.middle[1]);
        }
    }

    #[inline(always)]
    fn apply_high<const R: usize, const INVERSE: bool>(&self, l: L, v: &mut [L::V; R]) {
        if R > 4 {
            butterfly::<L, INVERSE>(l, v, 0, 4, self.high[0]);
            butterfly::<L, INVERSE>(l, v, 1, 5, self.high[0]);
            butterfly::<L, INVERSE>(l, v, 2, 6, self.high[0]);
            butterfly::<L, INVERSE>(l, v, 3, 7, self.high[0]);
        }
    }
}

/// The lowest `LOG + 3` layers of one block of eight vectors, from `source` to `target`.
///
/// # Safety
/// `source` and `target` valid for `8 WIDTH` words; `position`, the block's first, inside a domain
/// of at least that many points.
#[inline(always)]
pub(super) unsafe fn block<L: WordVectors, const INVERSE: bool>(
    l: L,
    source: *const u32,
    target: *mut u32,
    twiddles: Twiddles,
    position: usize,
    scale: u32,
) {
    // SAFETY: vectors 0..8 lie inside the 8 WIDTH words, twiddles serve the block's positions.
    unsafe {
        // Layers inside pairs of vectors, and the three layers across all eight.
        let mut v = load_all::<L, 8>(l, source, L::WIDTH);
        let across = TwiddleGroup::<L>::load::<8>(l, twiddles, L::LOG, position);
        if INVERSE {
            (v[0], v[1]) = low_layers_inverse(l, v[0], v[1], twiddles, position);
            (v[2], v[3]) = low_layers_inverse(l, v[2], v[3], twiddles, position + 2 * L::WIDTH);
            (v[4], v[5]) = low_layers_inverse(l, v[4], v[5], twiddles, position + 4 * L::WIDTH);
            (v[6], v[7]) = low_layers_inverse(l, v[6], v[7], twiddles, position + 6 * L::WIDTH);
            across.apply::<8, INVERSE>(l, &mut v);
        } else {
            across.apply::<8, INVERSE>(l, &mut v);
            (v[0], v[1]) = low_layers_forward(l, v[0], v[1], twiddles, position);
            (v[2], v[3]) = low_layers_forward(l, v[2], v[3], twiddles, position + 2 * L::WIDTH);
            (v[4], v[5]) = low_layers_forward(l, v[4], v[5], twiddles, position + 4 * L::WIDTH);
            (v[6], v[7]) = low_layers_forward(l, v[6], v[7], twiddles, position + 6 * L::WIDTH);
        }
        store_all(l, v, target, L::WIDTH, if INVERSE { scale } else { 0 });
    }
}

/// Layers `0..LOG` of two neighbouring vectors.
#[inline(always)]
unsafe fn low_layers_inverse<L: WordVectors>(
    l: L,
    a: L::V,
    b: L::V,
    twiddles: Twiddles,
    position: usize,
) -> (L::V, L::V) {
    // SAFETY: the caller vouches for two vectors of positions; each layer reads its slice of twiddles.
    unsafe {
        let (a, b) = l.split::<0>(a, b);
        let (a, b) = lane_butterfly::<L, true>(l, a, b, l.circle_twiddles(twiddles.at(1, position)));
        let (a, b) = l.split::<1>(a, b);
        let (a, b) = lane_butterfly::<L, true>(l, a, b, l.line_twiddles::<1>(twiddles.at(1, position)));
        let (mut a, mut b) = l.split::<2>(a, b);
        if L::LOG > 2 {
            (a, b) = lane_butterfly::<L, true>(l, a, b, l.line_twiddles::<2>(twiddles.at(2, position)));
            (a, b) = l.split::<3>(a, b);
        }
        if L::LOG > 3 {
            (a, b) = lane_butterfly::<L, true>(l, a, b, l.line_twiddles::<3>(twiddles.at(3, position)));
            (a, b) = l.split::<4>(a, b);
        }
        (a, b)
    }
}

/// Layers `LOG - 1 .. 0` of two neighbouring vectors.
#[inline(always)]
unsafe fn low_layers_forward<L: WordVectors>(
    l: L,
    mut a: L::V,
    mut b: L::V,
    twiddles: Twiddles,
    position: usize,
) -> (L::V, L::V) {
    // SAFETY: the caller vouches for two vectors of positions; each layer reads its slice of twiddles.
    unsafe {
        if L::LOG > 3 {
            (a, b) = l.merge::<4>(a, b);
            (a, b) = lane_butterfly::<L, false>(l, a, b, l.line_twiddles::<3>(twiddles.at(3, position)));
        }
        if L::LOG > 2 {
            (a, b) = l.merge::<3>(a, b);
            (a, b) = lane_butterfly::<L, false>(l, a, b, l.line_twiddles::<2>(twiddles.at(2, position)));
        }
        let (a, b) = l.merge::<2>(a, b);
        let (a, b) = lane_butterfly::<L, false>(l, a, b, l.line_twiddles::<1>(twiddles.at(1, position)));
        let (a, b) = l.merge::<1>(a, b);
        let (a, b) = lane_butterfly::<L, false>(l, a, b, l.circle_twiddles(twiddles.at(1, position)));
        l.merge::<0>(a, b)
    }
}

/// Rows of `width` words whose starts are `stride` words apart.
#[derive(Clone, Copy)]
pub(super) struct StridedRows<Ptr> {
    pub(super) first: Ptr,
    pub(super) stride: usize,
}

/// The range of a pass: rows `0..2^log_rows`.
///
/// Row `r` holds positions from `position + (r << layer)` on.
#[derive(Clone, Copy)]
pub(super) struct Pass {
    /// Words of each row, a multiple of the vector width.
    pub(super) width: usize,
    /// Log of the number of rows.
    pub(super) log_rows: u32,
    /// The layer whose pairs are neighbouring rows.
    pub(super) layer: u32,
    /// Row bits below the first that the pass works on.
    pub(super) skip: u32,
    /// The stored position of row 0.
    pub(super) position: usize,
    /// The doubled twiddles of the domain.
    pub(super) twiddles: Twiddles,
    /// Power of two to multiply the results by.
    pub(super) scale: u32,
}

/// Transforms row bits `skip .. skip + log2(R)` from `source` to `target`.
///
/// These are the layers from `layer + skip` on.
///
/// # Safety
/// Both sets of rows valid for `2^log_rows` rows of `width` words, equal or disjoint; the positions
/// inside the domain and `layer >= 1`.
#[inline(always)]
pub(super) unsafe fn radix<L: WordVectors, const R: usize, const INVERSE: bool>(
    l: L,
    pass: Pass,
    source: StridedRows<*const u32>,
    target: StridedRows<*mut u32>,
) {
    let streams = 1usize << pass.skip;
    for group in 0..1usize << (pass.log_rows - pass.skip) >> R.ilog2() {
        let first_row = group * R * streams;
        // SAFETY: rows first_row + i * streams + j with i < R, j < streams are below 2^log_rows, columns below width.
        unsafe {
            // The rows of a group share their twiddles.
            let layer = pass.layer + pass.skip;
            let t = TwiddleGroup::<L>::load::<R>(l, pass.twiddles, layer, pass.position + (first_row << pass.layer));
            for row in first_row..first_row + streams {
                let from = source.first.add(row * source.stride);
                let to = target.first.add(row * target.stride);
                let mut column = 0;
                while column < pass.width {
                    let mut v = load_all::<L, R>(l, from.add(column), streams * source.stride);
                    t.apply::<R, INVERSE>(l, &mut v);
                    store_all(l, v, to.add(column), streams * target.stride, if INVERSE { pass.scale } else { 0 });
                    column += L::WIDTH;
                }
            }
        }
    }
}
