//! Dropout, with random words of many counters at once.
//!
//! Element `i` takes word `i mod 4` of Philox block `i / 4` (Salmon et al., SC 2011). It becomes
//! `x / (1 - p)` if the word is at least `floor(p 2^32)`, else 0.

use core_types::{
    params::{elementwise::DropoutParams, optim::StepState},
    philox,
};

use crate::simd::{LaneKernel, floats::Floats};

/// Number of counters whose words are computed ahead of use.
///
/// There are enough that the first words have left the store buffer when they are used.
const BLOCKS: usize = 128;

/// `y = x scale` where the random word of an element reaches the threshold, else 0.
///
/// Element 0 is number `first` of the mask.
pub(super) struct Dropped<'a> {
    pub(super) p: &'a DropoutParams,
    pub(super) first: u64,
    pub(super) x: &'a [f32],
    pub(super) y: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for Dropped<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        dropped::<BLOCKS>(self.p, self.first, self.x, self.y);
    }
}

/// [`Dropped`] with what y holds as x.
pub(super) struct DroppedInPlace<'a> {
    pub(super) p: &'a DropoutParams,
    pub(super) first: u64,
    pub(super) y: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for DroppedInPlace<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        elements::<BLOCKS>(self.p, self.first, None, self.y);
    }
}

/// The parameters with the step of an optimizer's record, if there is one.
pub(super) fn of_step(p: &DropoutParams, state: Option<&[StepState]>) -> DropoutParams {
    let begun = state.and_then(|state| state.first()).map_or(0, StepState::begun);
    DropoutParams { step: p.step.wrapping_add(begun), ..*p }
}

/// As [`Dropped`], with the words of `COUNT` counters ahead.
#[inline(always)]
pub(super) fn dropped<const COUNT: usize>(p: &DropoutParams, first: u64, x: &[f32], y: &mut [f32]) {
    elements::<COUNT>(p, first, Some(x), y);
}

/// [`dropped`], with what y holds in the place of x if there is no x.
///
/// Plain loops: the compiler may use the instructions of the enclosing kernel.
#[inline(always)]
fn elements<const COUNT: usize>(p: &DropoutParams, first: u64, mut x: Option<&[f32]>, mut y: &mut [f32]) {
    // Words from `least` up stay; none does if there is no such word.
    let least = match u32::try_from(p.threshold) {
        Ok(least) => least,
        Err(_) => return y.fill(0.0),
    };
    if least == 0 {
        match x {
            Some(x) => {
                for (y, &x) in y.iter_mut().zip(x) {
                    *y = x * p.scale;
                }
            }
            None => {
                for y in y {
                    *y *= p.scale;
                }
            }
        }
        return;
    }
    let (mut words, mut at) = ([[0; 4]; COUNT], first);
    while !y.is_empty() {
        fill(&mut words, p, at / 4);
        let words = &words.as_flattened()[(at % 4) as usize..];
        let n = words.len().min(y.len());
        let (now, later) = y.split_at_mut(n);
        if let Some(from) = x {
            for ((y, &x), &word) in now.iter_mut().zip(from).zip(words) {
                let kept = x * p.scale;
                *y = if word >= least { kept } else { 0.0 };
            }
            x = Some(&from[n..]);
        } else {
            for (y, &word) in now.iter_mut().zip(words) {
                let kept = *y * p.scale;
                *y = if word >= least { kept } else { 0.0 };
            }
        }
        (y, at) = (later, at.wrapping_add(n as u64));
    }
}

/// The words of blocks from `first` on; block 0 follows the one with the last element number.
#[inline(always)]
fn fill<const COUNT: usize>(words: &mut [[u32; 4]; COUNT], p: &DropoutParams, first: u64) {
    let mut lanes = [[0; COUNT]; 4];
    for i in 0..COUNT {
        let block = (first + i as u64) & (u64::MAX >> 2);
        let block = philox::block(p.seed, p.site, p.step, block);
        for (lane, word) in lanes.iter_mut().zip(block) {
            lane[i] = word;
        }
    }
    for (i, words) in words.iter_mut().enumerate() {
        *words = [lanes[0][i], lanes[1][i], lanes[2][i], lanes[3][i]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{dispatch, levels};

    /// Words that are computed at once.
    const WORDS: usize = 4 * BLOCKS;

    /// Compares each element with its definition.
    ///
    /// Elements begin at places around the ends of blocks and of the counter's words.
    #[test]
    fn every_element_has_its_own_word() {
        const LEN: usize = 2 * WORDS + 5;
        let x = [1.0; LEN];
        for simd in levels() {
            for first in [0, 1, 6, (1 << 34) - 3, u64::MAX - 9] {
                for threshold in [0, 1, 1 << 31, u64::from(u32::MAX), 1 << 32] {
                    let p = DropoutParams { seed: 0x1234_5678_9abc, site: 3, step: 4, first, threshold, scale: 2.0 };
                    let mut y = [f32::NAN; LEN];
                    dispatch(simd, Dropped { p: &p, first, x: &x, y: &mut y });
                    let mut own = x;
                    dispatch(simd, DroppedInPlace { p: &p, first, y: &mut own });
                    assert_eq!(own, y, "{simd:?} {first}: in place");
                    for (i, &y) in y.iter().enumerate() {
                        let at = first.wrapping_add(i as u64);
                        let word = philox::block(p.seed, p.site, p.step, at / 4)[(at % 4) as usize];
                        assert_eq!(y, if u64::from(word) >= threshold { 2.0 } else { 0.0 }, "{simd:?} {first} + {i}");
                    }
                }
            }
        }
    }
}
