//! Shares that are expanded from seeds, and the one that is not.
//!
//! A triple's shares of `A` and `B` are uniform for both parties, and party 0's of `A B` too, so
//! seeds give them. Party 1's share of `A B` is the rest.

use backend_api::{
    BackendError,
    ops::{fss::FssOps, share::MatmulWords},
};
use core_types::{Ring, params::share::MatmulWordsParams};
use zeroize::Zeroizing;

use super::MatrixShape;
use crate::secret::{
    seed::Seed,
    staging::{SecretInput, write_secret_into},
};

/// One party's share of a matrix.
pub(super) type Words = Zeroizing<Vec<u64>>;

/// A matrix whose share a seed gives; its number is the section of the seed.
#[derive(Clone, Copy)]
pub(super) enum Section {
    /// `A`, the mask of the first factor.
    Left = 0,
    /// `B`, the mask of the second factor.
    Right = 1,
    /// `A B`, for party 0.
    Product = 2,
}

/// One party's shares, kept as a seed until they are used.
pub(super) struct SeededShares {
    pub(super) seed: Seed,
    /// The share of `A B`, which party 0 expands as well.
    pub(super) product: Option<Words>,
}

impl SeededShares {
    /// The share of `A B`, `len` words of `ring`.
    pub(super) fn into_product(self, ring: Ring, len: usize) -> Words {
        let Self { seed, product } = self;
        product.unwrap_or_else(|| expand(&seed, ring, Section::Product, len))
    }

    /// The words that the seed does not give.
    pub(super) fn words(&self) -> &[u64] {
        match &self.product {
            Some(words) => words,
            None => &[],
        }
    }
}

/// The share of a matrix of `len` elements of `ring` that a seed gives.
pub(super) fn expand(seed: &Seed, ring: Ring, section: Section, len: usize) -> Words {
    seed.words(section as u64, ring, len)
}

/// The matrix whose shares the two seeds give.
pub(super) fn sum(seeds: [&Seed; 2], ring: Ring, section: Section, len: usize) -> Words {
    let [mut sum, other] = seeds.map(|seed| expand(seed, ring, section, len));
    sum.iter_mut().zip(other.iter()).for_each(|(sum, other)| *sum = ring.add(*sum, *other));
    sum
}

/// `A B` modulo `2^64` on the queue, in place if it reads the host's memory.
pub(super) fn multiply_on<Q: FssOps>(q: &Q, shape: MatrixShape, [a, b]: [&[u64]; 2]) -> Result<Words, BackendError> {
    let MatrixShape { batch, rows, inner, cols } = shape;
    let [batch, rows, inner, cols] = [batch, rows, inner, cols].map(|len| len as u64);
    let params = MatmulWordsParams { batch, rows, inner, cols, alpha: 1, beta: 0 };
    let [_, _, len] = shape.lens();
    let mut product = Words::new(vec![0; len]);
    let (x, y) = (SecretInput::of(q, a)?, SecretInput::of(q, b)?);
    write_secret_into(q, &mut product[..], |out| {
        q.matmul_words(MatmulWords { params: &params, x: x.view(), y: y.view(), out: q.shorten_mut(out) })
    })?;
    Ok(product)
}

/// Both parties' shares of `A` and `A B`, where the seeds give `A`.
///
/// `product` is `A B` modulo `2^64`, which is a multiple of every ring's size.
pub(super) fn split(ring: Ring, mut product: Words, [zero, one]: [Seed; 2]) -> [SeededShares; 2] {
    let known = expand(&zero, ring, Section::Product, product.len());
    product.iter_mut().zip(known.iter()).for_each(|(rest, known)| *rest = ring.sub(*rest, *known));
    [SeededShares { seed: zero, product: None }, SeededShares { seed: one, product: Some(product) }]
}
