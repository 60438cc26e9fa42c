//! One party's share of a product, from opened factors and its shares of their masks.
//!
//! `[x y] = x_hat y_hat - x_hat [B] - [A] y_hat + [A B]`, where `x_hat = x + A` and
//! `y_hat = y + B` are opened (Beaver, CRYPTO 1991, for matrices). Party 0 adds the public product.
//! So two products are added to `[A B]`: of `x_hat - [A]` for party 0, and of `-[A]` for party 1,
//! by `y_hat`; and of `-x_hat` by `[B]`.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, BufferRef as _, Queue, Ref,
    ops::{fss::FssOps, share::MatmulWords},
};
use core_types::{Ring, params::share::MatmulWordsParams};

use super::{
    MatrixShape,
    shares::{Section, SeededShares, Words, add_on, expand_on},
};
use crate::{
    Party,
    device_shares::linear::Factors,
    secret::{seed::Seed, staging::StagedSecret},
};

/// The factor -1 modulo `2^64`.
const MINUS_ONE: u64 = u64::MAX;

/// Masked factors, which both parties know.
pub(super) struct Opened<'a> {
    pub(super) party: Party,
    pub(super) ring: Ring,
    pub(super) shape: MatrixShape,
    pub(super) x_hat: &'a [u64],
    pub(super) y_hat: &'a [u64],
}

impl Opened<'_> {
    /// The words of `y_hat` that a product copies: none if they are `placed` on the device.
    fn copied_y_hat<T>(&self, placed: Option<T>) -> &[u64] {
        if placed.is_some() { &[] } else { self.y_hat }
    }

    /// Passes the share to `take`, from shares of `A`, `B` and `A B` in the host's memory.
    ///
    /// `placed` is the place of `y_hat` on the device, if it is there already. Only the bits of the
    /// ring count in the words that `take` reads.
    pub(super) fn multiply<Q: FssOps, T>(
        &self,
        q: &Q,
        placed: Option<Ref<'_, Q, u64>>,
        [a, b, mut product]: [Words; 3],
        take: impl FnOnce(Ref<'_, Q, u64>) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        // The first factor of the product by `y_hat` takes the place of `[A]`.
        let mut first = a;
        first.iter_mut().zip(self.x_hat).for_each(|(a, &x)| *a = self.party.public(x).wrapping_sub(*a));
        let factors = [self.x_hat, self.y_hat, &b[..], &first[..]];
        if let [Some(x_hat), Some(y_hat), Some(b), Some(first)] = factors.map(|factor| q.host_view(factor))
            && let Ok(mut sum) = q.host_view_mut(&mut product[..])
        {
            // Both products are added to `[A B]` in place.
            for (alpha, x, y) in [(1, first, y_hat), (MINUS_ONE, x_hat, b)] {
                let (params, out) = (self.adding(alpha), Q::Buf::<u64>::reborrow_mut(&mut sum));
                q.matmul_words(MatmulWords { params: &params, x: q.shorten(x), y: q.shorten(y), out })?;
            }
            return take(Q::Buf::<u64>::read_only(sum));
        }
        // One copy: the public factors, and the shares after them, which are wiped.
        let public = [self.x_hat, self.copied_y_hat(placed)];
        let all = StagedSecret::upload_parts(q, &public, &[&product[..], &b[..], &first[..]])?;
        let [_, right, _] = self.shape.lens();
        self.multiply_in(q, placed, all, (1, right), take)
    }

    /// Passes the share to `take`, from shares that the queue expands.
    ///
    /// They are the shares of `A`, of `B`, whose seed is `b`, and for party 0 of `A B`. All lengths
    /// are below `2^32`. `placed` is the place of `y_hat` on the device, if it is there already.
    pub(super) fn multiply_expanded<Q: FssOps, T>(
        &self,
        q: &Q,
        placed: Option<Ref<'_, Q, u64>>,
        shares: &SeededShares,
        b: &Seed,
        take: impl FnOnce(Ref<'_, Q, u64>) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        // One buffer: the factors, the shares of `A B`, of `B` and of `A`, and for party 0 `x_hat - [A]`.
        let ([left, right, results], given) = (self.shape.lens(), shares.words());
        let y_hat = self.copied_y_hat(placed);
        let sum = left + y_hat.len();
        let right_mask = sum + results;
        let left_mask = right_mask + right;
        let difference = left_mask + left;
        let end = match self.party {
            Party::Zero => difference + left,
            Party::One => difference,
        };
        // One copy: the public factors and, for party 1, its share of `A B`. The end of a block may need one word more.
        let room = end + 1 - (sum + given.len());
        let mut all = StagedSecret::upload_with_room(q, &[self.x_hat, y_hat], &[given], room)?;

        // A block has two words. If the last one has a word too many, the share after it overwrites that word.
        let seeded = [
            (&shares.seed, Section::Product, sum, results),
            (b, Section::Right, right_mask, right),
            (&shares.seed, Section::Left, left_mask, left),
        ];
        for (seed, section, at, len) in seeded.into_iter().skip(usize::from(shares.product.is_some())) {
            expand_on(q, seed, (self.ring, section), all.slice_mut(at..at + len.next_multiple_of(2))?)?;
        }

        // Party 1 has the sign of its first product instead of a difference.
        let (alpha, first) = match self.party {
            Party::Zero => {
                self.subtract_mask(q, &mut all, left_mask)?;
                (1, difference)
            }
            Party::One => (MINUS_ONE, left_mask),
        };
        self.multiply_in(q, placed, all, (alpha, first - right_mask), take)
    }

    /// Writes `x_hat - [A]` after `[A]`, the words from `left_mask` on.
    ///
    /// The buffer begins with `x_hat`.
    fn subtract_mask<Q: FssOps>(
        &self,
        q: &Q,
        all: &mut StagedSecret<'_, Q, u64>,
        left_mask: usize,
    ) -> Result<(), BackendError> {
        let len = self.x_hat.len();
        add_on(q, all, ([0, left_mask, left_mask + len], len), Factors::DIFFERENCE)
    }

    /// Passes the share to `take`, from a buffer with all operands.
    ///
    /// It begins with `x_hat`, `y_hat`, `[A B]` and `[B]`, in this order. `y_hat` is not in the
    /// buffer if it is `placed` elsewhere. Both products are added to `[A B]` there. The first
    /// factor of the product by `y_hat`, which counts `alpha` times, starts `first` words after the
    /// start of `[B]`.
    fn multiply_in<Q: FssOps, T>(
        &self,
        q: &Q,
        placed: Option<Ref<'_, Q, u64>>,
        mut all: StagedSecret<'_, Q, u64>,
        (alpha, first): (u64, usize),
        take: impl FnOnce(Ref<'_, Q, u64>) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let [left, right, results] = self.shape.lens();
        let start = left + self.copied_y_hat(placed).len();
        for by_y_hat in [true, false] {
            let params = self.adding(if by_y_hat { alpha } else { MINUS_ONE });
            let (before, rest) = all.split_at(start)?;
            let (sum, after) = rest.split_at(results)?;
            let after = Q::Buf::<u64>::read_only(after);
            let (x, y) = if by_y_hat {
                let y_hat = match placed {
                    Some(y_hat) => q.shorten(y_hat),
                    None => before.slice(left..start)?,
                };
                (after.slice(first..first + left)?, y_hat)
            } else {
                (before.slice(0..left)?, after.slice(0..right)?)
            };
            q.matmul_words(MatmulWords { params: &params, x, y, out: sum })?;
        }
        take(all.slice(start..start + results)?)
    }

    /// The product that is added, `alpha` times.
    fn adding(&self, alpha: u64) -> MatmulWordsParams {
        let MatrixShape { batch, rows, inner, cols } = self.shape;
        let [batch, rows, inner, cols] = [batch, rows, inner, cols].map(|len| len as u64);
        MatmulWordsParams { batch, rows, inner, cols, alpha, beta: 1 }
    }

    /// The words in host memory and in the ring: ops multiply modulo `2^64`.
    pub(super) fn to_host<Q: Queue>(&self, q: &Q, words: Ref<'_, Q, u64>) -> Result<Vec<u64>, BackendError> {
        let mut words = q.read_secret(words)?;
        words.iter_mut().for_each(|word| *word = self.ring.reduce(*word));
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::shares::expand;

    /// Every shape of up to three rows and columns, so some shares have an odd number of words.
    #[test]
    fn expanded_shares_and_shares_in_memory_give_the_words_of_the_formula() {
        let q = runtime::cpu().unwrap();
        for at in 0..4usize.pow(4) {
            let side = |place: u32| at / 4usize.pow(place) % 4;
            let shape = MatrixShape { batch: side(0), rows: side(1), inner: side(2), cols: side(3) };
            let ring = Ring::new([1, 13, 64][at % 3]).unwrap();
            let mut rng = fastrand::Rng::with_seed(at as u64);
            let [left, right, results] = shape.lens();
            let [x_hat, y_hat, given] =
                [left, right, results].map(|len| (0..len).map(|_| ring.reduce(rng.u64(..))).collect::<Vec<u64>>());
            let [seed, b_seed] = [rng.u64(..), rng.u64(..)].map(|word| Seed::read(&word.to_le_bytes().repeat(4)));
            for party in Party::BOTH {
                let shares = || {
                    let product = (party == Party::One).then(|| Words::new(given.clone()));
                    SeededShares { seed: seed.clone(), product }
                };
                let (a, b) = (expand(&seed, ring, Section::Left, left), expand(&b_seed, ring, Section::Right, right));
                let product = shares().into_product(ring, results);
                let products = [(&x_hat, &y_hat), (&x_hat, &*b), (&*a, &y_hat)].map(|(x, y)| shape.multiply(x, y));
                let word = |i: usize| {
                    let public = party.public(products[0][i]).wrapping_sub(products[1][i]);
                    ring.reduce(public.wrapping_sub(products[2][i]).wrapping_add(product[i]))
                };
                let expected: Vec<u64> = (0..results).map(word).collect();

                let opened = Opened { party, ring, shape, x_hat: &x_hat, y_hat: &y_hat };
                let kept = q.upload_secret(&y_hat).unwrap();
                for placed in [None, Some(kept.view())] {
                    let take = |words: &[u64]| opened.to_host(&q, words);
                    let got = opened.multiply_expanded(&q, placed, &shares(), &b_seed, take).unwrap();
                    assert_eq!(got, expected, "{party}, {shape:?}");
                }
                let take = |words: &[u64]| opened.to_host(&q, words);
                assert_eq!(opened.multiply(&q, None, [a, b, product], take).unwrap(), expected, "{party}, {shape:?}");
            }
        }
    }
}
