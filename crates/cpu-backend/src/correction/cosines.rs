//! Similarities of neighbouring states to a query.
//!
//! The similarity of a state `s` and a query `q` is `s q / (|s| |q|)`. A vector holds a state in
//! each lane: the sums of 16 states are transposed, and then added half to half, in the order of
//! [`product`].

use core_types::params::correction::LEAST_NORM;

use super::product::{HALF, half_sums, product};
use crate::simd::floats::Floats;

/// States that are compared at once.
pub(super) const GROUP: usize = HALF;

/// Distance in floats of the cache line that is prefetched with a row: two pages of memory.
///
/// The processor's own prefetchers stop at the end of a page.
const AHEAD: usize = 2048;

/// A query with its length.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    features: &'a [f32],
    norm: f32,
}

impl<'a> Query<'a> {
    /// Computes the length of a query.
    #[inline(always)]
    pub(super) fn new<L: Floats>(l: L, features: &'a [f32]) -> Self {
        Self { features, norm: product(l, features, features).sqrt() }
    }

    /// The similarities of 1 to 16 neighbouring states, with arbitrary values after them.
    ///
    /// `sums` are overwritten.
    #[inline(always)]
    pub(super) fn similarities<L: Floats>(
        self,
        l: L,
        states: &[f32],
        norms: &[f32],
        sums: &mut [[f32; HALF]; GROUP],
    ) -> [f32; GROUP] {
        // A row of sums for each state.
        let mut rows = Rows { states, width: self.features.len(), at: 0 };
        if const { L::REGISTERS >= 32 } {
            // In a loop, the sums would not stay in registers.
            let (quarters, _) = sums.as_chunks_mut::<4>();
            half_sums(l, rows.next(l), self.features, &mut quarters[0]);
            half_sums(l, rows.next(l), self.features, &mut quarters[1]);
            half_sums(l, rows.next(l), self.features, &mut quarters[2]);
            half_sums(l, rows.next(l), self.features, &mut quarters[3]);
        } else if const { L::REGISTERS >= 16 } {
            rows.sums::<L, 2>(l, self.features, sums);
        } else {
            rows.sums::<L, 1>(l, self.features, sums);
        }
        let mut turned = [[0.0; GROUP]; HALF];
        l.transpose(sums, &mut turned);
        // The scalar products, divided by the norms. States without a norm are similar to no other.
        let mut similarities = [0.0; GROUP];
        let (zero, least, own) = (l.splat(0.0), l.splat(LEAST_NORM), l.splat(self.norm));
        for at in (0..GROUP).step_by(L::N) {
            let Some(norms) = norms.get(at..).filter(|norms| !norms.is_empty()) else {
                break;
            };
            let mut sums = [zero; HALF];
            for (sum, row) in sums.iter_mut().zip(&turned) {
                *sum = l.load(&row[at..]);
            }
            add_upper_half::<L, 8>(l, &mut sums);
            add_upper_half::<L, 4>(l, &mut sums);
            add_upper_half::<L, 2>(l, &mut sums);
            add_upper_half::<L, 1>(l, &mut sums);
            let norms = if norms.len() >= L::N { l.load(norms) } else { l.load_partial(norms, 1.0) };
            let quotient = l.div(sums[0], l.mul(norms, own));
            let quotient = l.select_gt(least, norms, zero, quotient);
            l.store(&mut similarities[at..], l.select_gt(least, own, zero, quotient));
        }
        similarities
    }
}

/// Rows of neighbouring states. The last one is repeated.
struct Rows<'a> {
    states: &'a [f32],
    width: usize,
    at: usize,
}

impl<'a> Rows<'a> {
    /// Computes the sums of 16 rows, `R` rows at a time.
    #[inline(always)]
    fn sums<L: Floats, const R: usize>(&mut self, l: L, query: &[f32], sums: &mut [[f32; HALF]; GROUP]) {
        for sums in sums.as_chunks_mut::<R>().0 {
            half_sums(l, self.next(l), query, sums);
        }
    }

    /// The next `R` rows.
    #[inline(always)]
    fn next<L: Floats, const R: usize>(&mut self, l: L) -> [&'a [f32]; R] {
        l.prefetch(self.states, self.at + AHEAD);
        let mut rows = [self.states; R];
        for row in &mut rows {
            *row = &self.states[self.at..][..self.width];
            self.at = (self.at + self.width).min(self.states.len() - self.width);
        }
        rows
    }
}

/// Adds vectors `H` to `2 H - 1` to the first `H`.
#[inline(always)]
fn add_upper_half<L: Floats, const H: usize>(l: L, sums: &mut [L::V; HALF]) {
    for i in 0..H {
        sums[i] = l.add(sums[i], sums[i + H]);
    }
}

#[cfg(test)]
mod tests {
    use core_types::params::correction::similarity;

    use super::*;
    use crate::simd::{LaneKernel, dispatch, levels};

    /// Similarities of states as a group, and one by one by [`product`].
    struct Compared<'a> {
        states: &'a [f32],
        norms: &'a [f32],
        query: &'a [f32],
    }

    impl<L: Floats> LaneKernel<L> for Compared<'_> {
        type Out = [Vec<u32>; 2];

        #[inline(always)]
        fn run(self, l: L) -> Self::Out {
            let (width, query) = (self.query.len(), Query::new(l, self.query));
            let grouped = query.similarities(l, self.states, self.norms, &mut [[0.0; HALF]; GROUP]);
            let state = |i: usize| &self.states[i * width..][..width];
            let single = |(i, &norm): (usize, &f32)| similarity(product(l, state(i), self.query), norm, query.norm);
            let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect();
            let singles: Vec<f32> = self.norms.iter().enumerate().map(single).collect();
            [bits(&grouped[..self.norms.len()]), bits(&singles)]
        }
    }

    #[test]
    fn groups_have_the_bits_of_single_products() {
        let mut rng = fastrand::Rng::with_seed(1);
        for width in [1, 2, 7, 15, 16, 17, 31, 32, 33, 48, 64, 70, 129] {
            for count in 1..=GROUP {
                let [states, query] = [count * width, width].map(|len| {
                    let values: Vec<f32> = (0..len).map(|_| rng.f32() - 0.5).collect();
                    values
                });
                let mut norms: Vec<f32> = (0..count).map(|_| rng.f32() + 0.5).collect();
                norms[count / 2] = 0.0;
                for simd in levels() {
                    let [grouped, single] = dispatch(simd, Compared { states: &states, norms: &norms, query: &query });
                    assert_eq!(grouped, single, "{count} states of {width} features, {:?}", simd.level());
                }
            }
        }
    }
}
