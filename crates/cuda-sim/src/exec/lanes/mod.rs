//! Semantics of the register-to-register operations.
//!
//! They are functions of one lane and loops over a warp.

pub(super) mod convert;
pub(super) mod float;
pub(super) mod half;
pub(super) mod integer;

/// Lanes of a warp.
pub(super) const WARP: usize = 32;
/// Mask of a full warp.
pub(super) const FULL: u32 = u32::MAX;

/// A register: one value per lane, aligned for vector loads.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct PerLane<T>(pub(super) [T; WARP]);

/// Lane numbers of the set bits of a mask, lowest first.
#[derive(Clone, Copy)]
pub(super) struct LaneBits(pub(super) u32);

impl Iterator for LaneBits {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let lane = (self.0 != 0).then(|| self.0.trailing_zeros() as usize)?;
        self.0 &= self.0 - 1;
        Some(lane)
    }
}

/// The lanes of `mask` for which `holds`.
#[inline(always)]
pub(super) fn lanes_where(mask: u32, holds: impl Fn(usize) -> bool) -> u32 {
    LaneBits(mask).filter(|&lane| holds(lane)).fold(0, |lanes, lane| lanes | 1 << lane)
}

impl<T: Copy> PerLane<T> {
    /// Takes `values` in the lanes of `mask`.
    #[inline(always)]
    pub(super) fn set(&mut self, mask: u32, values: &Self) {
        if mask == FULL {
            *self = *values;
            return;
        }
        for (lane, (old, &new)) in self.0.iter_mut().zip(&values.0).enumerate() {
            *old = if mask >> lane & 1 == 1 { new } else { *old };
        }
    }
}

/// `f(a)` in every lane: a plain loop, which vectorises.
///
/// Lanes that do not take part are computed too. Slow functions go through [`each1`].
#[inline(always)]
pub(super) fn map1<A: Copy, D: Copy + Default>(a: &PerLane<A>, f: impl Fn(A) -> D) -> PerLane<D> {
    let mut d = PerLane([D::default(); WARP]);
    for i in 0..WARP {
        d.0[i] = f(a.0[i]);
    }
    d
}

/// `f(a, b)` in every lane, as [`map1`].
#[inline(always)]
pub(super) fn map2<A: Copy, B: Copy, D: Copy + Default>(
    a: &PerLane<A>,
    b: &PerLane<B>,
    f: impl Fn(A, B) -> D,
) -> PerLane<D> {
    let mut d = PerLane([D::default(); WARP]);
    for i in 0..WARP {
        d.0[i] = f(a.0[i], b.0[i]);
    }
    d
}

/// `f(a, b, c)` in every lane, as [`map1`].
#[inline(always)]
pub(super) fn map3<A: Copy, B: Copy, C: Copy, D: Copy + Default>(
    a: &PerLane<A>,
    b: &PerLane<B>,
    c: &PerLane<C>,
    f: impl Fn(A, B, C) -> D,
) -> PerLane<D> {
    let mut d = PerLane([D::default(); WARP]);
    for i in 0..WARP {
        d.0[i] = f(a.0[i], b.0[i], c.0[i]);
    }
    d
}

/// `f(a)` in the lanes of `mask`, one after the other; the others have the default.
#[inline(always)]
pub(super) fn each1<A: Copy, D: Copy + Default>(mask: u32, a: &PerLane<A>, f: impl Fn(A) -> D) -> PerLane<D> {
    let mut d = PerLane([D::default(); WARP]);
    LaneBits(mask).for_each(|i| d.0[i] = f(a.0[i]));
    d
}

/// `f(a, b)` in the lanes of `mask`, as [`each1`].
#[inline(always)]
pub(super) fn each2<A: Copy, B: Copy, D: Copy + Default>(
    mask: u32,
    a: &PerLane<A>,
    b: &PerLane<B>,
    f: impl Fn(A, B) -> D,
) -> PerLane<D> {
    let mut d = PerLane([D::default(); WARP]);
    LaneBits(mask).for_each(|i| d.0[i] = f(a.0[i], b.0[i]));
    d
}

/// One bit per lane: `f(a, b)`, computed for every lane.
#[inline(always)]
pub(super) fn test2<A: Copy>(a: &PerLane<A>, b: &PerLane<A>, f: impl Fn(A, A) -> bool) -> u32 {
    let mut flags = [0_u32; WARP];
    for (i, flag) in flags.iter_mut().enumerate() {
        *flag = u32::from(f(a.0[i], b.0[i])) << i;
    }
    flags.iter().fold(0, |mask, flag| mask | flag)
}
