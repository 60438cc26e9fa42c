//! Shares that are expanded from seeds, and the one that is not.
//!
//! A triple's shares of `A` and `B` are uniform for both parties, and party 0's of `A B` too, so
//! seeds give them. Party 1's share of `A B` is the rest.

use backend_api::{
    BackendError, BufferMut as _, BufferRef as _, Mut, Queue,
    ops::{fss::FssOps, share::MatmulWords},
};
use core_types::{Ring, params::share::MatmulWordsParams};
use zeroize::Zeroizing;

use super::MatrixShape;
use crate::{
    device_shares::linear::{Factors, linear},
    secret::{
        kept::lacks_memory,
        seed::{SectionBlocks, Seed},
        staging::{SecretInput, StagedSecret, write_secret_into},
    },
};

/// The integers modulo `2^64`.
const WORDS: Ring = match Ring::new(64) {
    Some(ring) => ring,
    None => unreachable!(),
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

    /// Whether `q` itself expands the shares that seeds give, for a product of this shape.
    ///
    /// They are the shares of both masks and, for party 0, of their product. A queue that reads the
    /// host's memory expands none, and neither does any for few bytes.
    pub(super) fn are_expanded<Q: Queue>(&self, q: &Q, shape: MatrixShape) -> bool {
        let [left, right, results] = shape.lens();
        is_expanded(q, shape, left + right + (results - self.words().len()))
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
fn sum(seeds: [&Seed; 2], ring: Ring, section: Section, len: usize) -> Words {
    let [mut sum, other] = seeds.map(|seed| expand(seed, ring, section, len));
    sum.iter_mut().zip(other.iter()).for_each(|(sum, other)| *sum = ring.add(*sum, *other));
    sum
}

/// Whether `q` itself expands shares of `words` words in all, for a product of this shape.
///
/// A queue that reads the host's memory does not, and neither does any for few bytes.
fn is_expanded<Q: Queue>(q: &Q, shape: MatrixShape, words: usize) -> bool {
    // Ops count the blocks of a seed and the elements of a sum in 32 bits.
    let is_counted = shape.lens().iter().all(|&len| u32::try_from(len).is_ok());
    is_counted && size_of::<u64>() * words >= Seed::LEAST_EXPANDED && q.host_view::<u64>(&[]).is_none()
}

/// Writes a sum of two rows of words modulo `2^64` after both.
///
/// A row has `len` words, less than `2^32`. The rows and the sums start at these words of `all`.
pub(super) fn add_on<Q: FssOps>(
    q: &Q,
    all: &mut StagedSecret<'_, Q, u64>,
    ([x, other, out], len): ([usize; 3], usize),
    factors: Factors,
) -> Result<(), BackendError> {
    let (read, written) = all.split_at(out)?;
    let (x, other) = (read.slice(x..x + len)?, read.slice(other..other + len)?);
    linear(q, WORDS, factors, Some(x), Some(other), written.slice(0..len)?)
}

/// The product of a shape, alone in its output.
fn product_alone(MatrixShape { batch, rows, inner, cols }: MatrixShape) -> MatmulWordsParams {
    let [batch, rows, inner, cols] = [batch, rows, inner, cols].map(|len| len as u64);
    MatmulWordsParams { batch, rows, inner, cols, alpha: 1, beta: 0 }
}

/// `A B` modulo `2^64` on the queue, in place if it reads the host's memory.
fn multiply_on<Q: FssOps>(q: &Q, shape: MatrixShape, [a, b]: [&[u64]; 2]) -> Result<Words, BackendError> {
    let params = product_alone(shape);
    let [_, _, len] = shape.lens();
    let mut product = Words::new(vec![0; len]);
    let (x, y) = (SecretInput::of(q, a)?, SecretInput::of(q, b)?);
    write_secret_into(q, &mut product[..], |out| {
        q.matmul_words(MatmulWords { params: &params, x: x.view(), y: y.view(), out: q.shorten_mut(out) })
    })?;
    Ok(product)
}

/// `A B` modulo `2^64`, where the queue expands both parties' shares of `A` and of `B`.
///
/// Nothing secret is copied to the device. All lengths are below `2^32`.
fn multiply_expanded_on<Q: FssOps>(
    q: &Q,
    (ring, shape): (Ring, MatrixShape),
    [a, b]: [[&Seed; 2]; 2],
) -> Result<Words, BackendError> {
    // One buffer: room for two shares of the larger factor in whole blocks, then `A`, `B` and `A B`.
    let [left, right, results] = shape.lens();
    let room = left.max(right).next_multiple_of(2);
    let (a_at, b_at, product_at) = (2 * room, 2 * room + left, 2 * room + left + right);
    let mut all = StagedSecret::<_, u64>::alloc(q, product_at + results)?;

    // Each factor is the sum of its shares. Carries out of the ring do not change the product in it.
    for (seeds, section, at, len) in [(a, Section::Left, a_at, left), (b, Section::Right, b_at, right)] {
        for (seed, start) in seeds.into_iter().zip([0, room]) {
            expand_on(q, seed, (ring, section), all.slice_mut(start..start + len.next_multiple_of(2))?)?;
        }
        add_on(q, &mut all, ([0, room, at], len), Factors::SUM)?;
    }

    let (factors, product) = all.split_at(product_at)?;
    let (x, y) = (factors.slice(a_at..b_at)?, factors.slice(b_at..product_at)?);
    q.matmul_words(MatmulWords { params: &product_alone(shape), x, y, out: product })?;
    Ok(Words::new(q.read_secret(all.slice(product_at..product_at + results)?)?))
}

/// Both parties' shares of `A` and `A B`, from their seeds.
///
/// `seeds` give the shares of `A`, `b` the shares of `B`. The product is computed modulo `2^64`, which
/// is a multiple of every ring's size.
pub(super) fn split<Q: FssOps>(
    q: &Q,
    (ring, shape): (Ring, MatrixShape),
    seeds: [Seed; 2],
    b: [&Seed; 2],
) -> Result<[SeededShares; 2], BackendError> {
    let ([left, right, out], a) = (shape.lens(), seeds.each_ref());
    let is_expanded = is_expanded(q, shape, left + right);
    let mut product = match is_expanded.then(|| multiply_expanded_on(q, (ring, shape), [a, b])) {
        Some(Ok(product)) => product,
        Some(Err(error)) if !lacks_memory(&error) => return Err(error),
        // Copies of both masks take less memory than their expansion, and evict fewer kept weights.
        _ => {
            let [a, b] = [(a, Section::Left, left), (b, Section::Right, right)]
                .map(|(seeds, section, len)| sum(seeds, ring, section, len));
            multiply_on(q, shape, [&a, &b])?
        }
    };
    let [zero, one] = seeds;
    let known = expand(&zero, ring, Section::Product, out);
    product.iter_mut().zip(known.iter()).for_each(|(rest, known)| *rest = ring.sub(*rest, *known));
    Ok([SeededShares { seed: zero, product: None }, SeededShares { seed: one, product: Some(product) }])
}
