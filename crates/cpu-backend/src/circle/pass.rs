//! The two loops that all transforms are made of: blocks inside registers, and passes of one to three layers.

use super::lanes::Lanes;

/// The doubled factors of a domain of `2^log_size` points, in the layout of the op set.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    base: *const u32,
    log_size: u32,
}

impl Factors {
    /// # Safety
    /// `base` must stay valid for `2^(log_size - 1)` words while this or a copy is used.
    pub(super) unsafe fn new(base: *const u32, log_size: u32) -> Self {
        Self { base, log_size }
    }

    /// The factors of layer `layer` from the one of stored position `position` on.
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

/// One butterfly between vectors `i` and `j`: the inverse takes `(a + b, (a - b) t)`, forward `(a + t b, a - t b)`.
#[inline(always)]
unsafe fn butterfly<L: Lanes, const INVERSE: bool>(v: &mut [L], i: usize, j: usize, product: impl Fn(L) -> L) {
    // SAFETY: the caller vouches for the level of L.
    unsafe {
        let (a, b) = (v[i], v[j]);
        if INVERSE {
            v[i] = a.add(b);
            v[j] = product(a.sub(b));
        } else {
            let b = product(b);
            v[i] = a.add(b);
            v[j] = a.sub(b);
        }
    }
}

/// Splatted factors of up to three consecutive layers above one group of positions.
#[derive(Clone, Copy)]
struct Group<L> {
    low: [L; 4],
    middle: [L; 2],
    high: [L; 1],
}

impl<L: Lanes> Group<L> {
    /// The factors of layers `layer .. layer + log2(R)` for the `R 2^layer` positions from `position` on.
    ///
    /// # Safety
    /// The level of `L`; all layers between 1 and the domain's last; `position` inside the domain.
    #[inline(always)]
    unsafe fn load<const R: usize>(factors: Factors, layer: u32, position: usize) -> Self {
        // SAFETY: R / 2 entries of the first layer, half as many of each next, serve these positions.
        unsafe {
            let splat = |p: *const u32, i: usize| L::splat(*p.add(i));
            let first = factors.at(layer, position);
            let zero = L::splat(0);
            match R {
                2 => Self { low: [splat(first, 0), zero, zero, zero], middle: [zero; 2], high: [zero] },
                4 => Self {
                    low: [splat(first, 0), splat(first, 1), zero, zero],
                    middle: [splat(factors.at(layer + 1, position), 0), zero],
                    high: [zero],
                },
                _ => {
                    let second = factors.at(layer + 1, position);
                    Self {
                        low: [splat(first, 0), splat(first, 1), splat(first, 2), splat(first, 3)],
                        middle: [splat(second, 0), splat(second, 1)],
                        high: [splat(factors.at(layer + 2, position), 0)],
                    }
                }
            }
        }
    }

    /// The layers between `R` vectors; written out, so that the vectors stay in registers.
    ///
    /// # Safety
    /// The level of `L`.
    #[inline(always)]
    unsafe fn apply<const R: usize, const INVERSE: bool>(&self, v: &mut [L; R]) {
        // SAFETY: the caller vouches for the level of L.
        unsafe {
            let low = |v: &mut [L; R]| {
                for i in 0..R / 2 {
                    butterfly::<L, INVERSE>(v, 2 * i, 2 * i + 1, |x| x.mul_splat(self.low[i]));
                }
            };
            let middle = |v: &mut [L; R]| {
                for i in 0..R / 4 {
                    butterfly::<L, INVERSE>(v, 4 * i, 4 * i + 2, |x| x.mul_splat(self.middle[i]));
                    butterfly::<L, INVERSE>(v, 4 * i + 1, 4 * i + 3, |x| x.mul_splat(self.middle[i]));
                }
            };
            let high = |v: &mut [L; R]| {
                for i in 0..R / 8 * 4 {
                    butterfly::<L, INVERSE>(v, i, i + 4, |x| x.mul_splat(self.high[0]));
                }
            };
            if INVERSE {
                low(v);
                middle(v);
                high(v);
            } else {
                high(v);
                middle(v);
                low(v);
            }
        }
    }
}

/// The lowest `LOG + 3` layers of one block of eight vectors, from `source` to `target`.
///
/// # Safety
/// The level of `L`; `source` and `target` valid for `8 WIDTH` words; `position`, the block's first, inside a domain of
/// at least that many points.
#[inline(always)]
pub(super) unsafe fn block<L: Lanes, const INVERSE: bool>(
    source: *const u32,
    target: *mut u32,
    factors: Factors,
    position: usize,
    scale: u32,
) {
    // SAFETY: vectors 0..8 lie inside the 8 WIDTH words, factors serve the block's positions.
    unsafe {
        let mut v: [L; 8] = core::array::from_fn(|i| L::load(source.add(i * L::WIDTH)));
        let across = Group::<L>::load::<8>(factors, L::LOG, position);
        if INVERSE {
            for i in [0, 2, 4, 6] {
                (v[i], v[i + 1]) = low_layers_inverse(v[i], v[i + 1], factors, position + i * L::WIDTH);
            }
            across.apply::<8, INVERSE>(&mut v);
            if scale != 0 {
                v = v.map(|x| x.rotate(scale));
            }
        } else {
            across.apply::<8, INVERSE>(&mut v);
            for i in [0, 2, 4, 6] {
                (v[i], v[i + 1]) = low_layers_forward(v[i], v[i + 1], factors, position + i * L::WIDTH);
            }
        }
        for (i, x) in v.into_iter().enumerate() {
            x.store(target.add(i * L::WIDTH));
        }
    }
}

/// Layers `0..LOG` of two neighbouring vectors.
#[inline(always)]
unsafe fn low_layers_inverse<L: Lanes>(a: L, b: L, factors: Factors, position: usize) -> (L, L) {
    // SAFETY: the caller vouches for the level and for two vectors of positions; each layer reads its slice of factors.
    unsafe {
        let step = |(a, b): (L, L), t: L| (a.add(b), a.sub(b).mul(t));
        let (a, b) = L::split::<0>(a, b);
        let (a, b) = step((a, b), L::circle_twiddles(factors.at(1, position)));
        let (a, b) = L::split::<1>(a, b);
        let (a, b) = step((a, b), L::line_twiddles::<1>(factors.at(1, position)));
        let (mut a, mut b) = L::split::<2>(a, b);
        if L::LOG > 2 {
            (a, b) = step((a, b), L::line_twiddles::<2>(factors.at(2, position)));
            (a, b) = L::split::<3>(a, b);
        }
        if L::LOG > 3 {
            (a, b) = step((a, b), L::line_twiddles::<3>(factors.at(3, position)));
            (a, b) = L::split::<4>(a, b);
        }
        (a, b)
    }
}

/// Layers `LOG - 1 .. 0` of two neighbouring vectors.
#[inline(always)]
unsafe fn low_layers_forward<L: Lanes>(mut a: L, mut b: L, factors: Factors, position: usize) -> (L, L) {
    // SAFETY: the caller vouches for the level and for two vectors of positions; each layer reads its slice of factors.
    unsafe {
        let step = |(a, b): (L, L), t: L| {
            let b = b.mul(t);
            (a.add(b), a.sub(b))
        };
        if L::LOG > 3 {
            (a, b) = L::merge::<4>(a, b);
            (a, b) = step((a, b), L::line_twiddles::<3>(factors.at(3, position)));
        }
        if L::LOG > 2 {
            (a, b) = L::merge::<3>(a, b);
            (a, b) = step((a, b), L::line_twiddles::<2>(factors.at(2, position)));
        }
        let (a, b) = L::merge::<2>(a, b);
        let (a, b) = step((a, b), L::line_twiddles::<1>(factors.at(1, position)));
        let (a, b) = L::merge::<1>(a, b);
        let (a, b) = step((a, b), L::circle_twiddles(factors.at(1, position)));
        L::merge::<0>(a, b)
    }
}

/// Rows of `width` words whose starts are `stride` words apart.
#[derive(Clone, Copy)]
pub(super) struct Rows<Ptr> {
    pub(super) first: Ptr,
    pub(super) stride: usize,
}

/// What a pass covers: rows `0..2^log_rows`, of which row `r` holds positions from `position + (r << layer)` on.
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
    /// The doubled factors of the domain.
    pub(super) factors: Factors,
    /// Power of two to multiply the results with.
    pub(super) scale: u32,
}

/// Row bits `skip .. skip + log2(R)`, that is, layers from `layer + skip` on, from `source` to `target`.
///
/// # Safety
/// The level of `L`; both sets of rows valid for `2^log_rows` rows of `width` words, equal or disjoint; the positions
/// inside the domain and `layer >= 1`.
#[inline(always)]
pub(super) unsafe fn radix<L: Lanes, const R: usize, const INVERSE: bool>(
    pass: Pass,
    source: Rows<*const u32>,
    target: Rows<*mut u32>,
) {
    let streams = 1usize << pass.skip;
    for group in 0..1usize << (pass.log_rows - pass.skip) >> R.ilog2() {
        let first_row = group * R * streams;
        // SAFETY: rows first_row + i * streams + j with i < R, j < streams are below 2^log_rows, columns below width.
        unsafe {
            let layer = pass.layer + pass.skip;
            let t = Group::<L>::load::<R>(pass.factors, layer, pass.position + (first_row << pass.layer));
            for row in first_row..first_row + streams {
                let from = source.first.add(row * source.stride);
                let to = target.first.add(row * target.stride);
                let mut column = 0;
                while column < pass.width {
                    let mut v: [L; R] =
                        core::array::from_fn(|i| L::load(from.add(i * streams * source.stride + column)));
                    t.apply::<R, INVERSE>(&mut v);
                    if INVERSE && pass.scale != 0 {
                        v = v.map(|x| x.rotate(pass.scale));
                    }
                    for (i, x) in v.into_iter().enumerate() {
                        x.store(to.add(i * streams * target.stride + column));
                    }
                    column += L::WIDTH;
                }
            }
        }
    }
}
