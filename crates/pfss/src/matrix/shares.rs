//! Shares that are expanded from seeds, and the one that is not.
//!
//! A triple's shares of `A` and `B` are uniform for both parties, and party 0's of `A B` too, so
//! seeds give them. Party 1's share of `A B` is the rest.

use backend_api::{
    BackendError, BufferMut as _, Mut,
    ops::{fss::FssOps, share::MatmulWords},
};
use core_types::{Ring, params::share::MatmulWordsParams};
use zeroize::Zeroizing;

use super::MatrixShape;
use crate::secret::{
    seed::{SectionBlocks, Seed},
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

/// One party's share of `A B` in a triple, after the shares of `A` and `B` were taken.
pub(super) enum ProductShare {
    /// As read from version 1.
    Words(Words),
    /// Expanded when it is used, or on a device, as the masks are.
    Seeded(SeededShares),
}

impl ProductShare {
    /// The share, `len` words of `ring`.
    pub(super) fn into_words(self, ring: Ring, len: usize) -> Words {
        match self {
            Self::Words(words) => words,
            Self::Seeded(shares) => shares.into_product(ring, len),
        }
    }
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

/// Fills `words` on the queue with the start of the share that a seed gives.
///
/// A block has two words, so their number is even.
pub(super) fn expand_on<Q: FssOps>(
    q: &Q,
    seed: &Seed,
    (ring, section): (Ring, Section),
    words: Mut<'_, Q, u64>,
) -> Result<(), BackendError> {
    let of = SectionBlocks { section: section as u64, sections: 1, first: 0, blocks: words.len() / 2 };
    seed.expand_on(q, of, [ring.mask(); 2], words)
}

/// The matrix whose shares the two seeds give.
pub(super) fn sum(seeds: [&Seed; 2], ring: Ring, section: Section, len: usize) -> Words {
    let [mut sum, other] = seeds.map(|seed| expand(seed, ring, section, len));
    sum.iter_mut().zip(other.iter()).for_each(|(sum, other)| *sum = ring.add(*sum, *other));
    sum
}

/// `A B` modulo `2^64` on the queue, in place if it reads the host's memory.
fn multiply_on<Q: FssOps>(q: &Q, shape: MatrixShape, [a, b]: [&[u64]; 2]) -> Result<Words, BackendError> {
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
/// The product is computed modulo `2^64`, which is a multiple of every ring's size.
pub(super) fn split<Q: FssOps>(
    q: &Q,
    (ring, shape): (Ring, MatrixShape),
    seeds: [Seed; 2],
    b: &[u64],
) -> Result<[SeededShares; 2], BackendError> {
    let [left, _, out] = shape.lens();
    let a = sum(seeds.each_ref(), ring, Section::Left, left);
    let mut product = multiply_on(q, shape, [&a[..], b])?;
    let [zero, one] = seeds;
    let known = expand(&zero, ring, Section::Product, out);
    product.iter_mut().zip(known.iter()).for_each(|(rest, known)| *rest = ring.sub(*rest, *known));
    Ok([SeededShares { seed: zero, product: None }, SeededShares { seed: one, product: Some(product) }])
}
