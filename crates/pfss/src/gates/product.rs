//! The product of two secrets, from one triple.
//!
//! `[x y] = x_hat y_hat - x_hat [b] - y_hat [a] + [a b]` with the opened `x_hat = x + a` and
//! `y_hat = y + b` (Beaver, CRYPTO 1991).

use backend_api::{BackendError, BufferRef as _, Ref, ops::fss::FssOps};
use core_types::params::share::WordTerm;
use zeroize::Zeroizing;

use super::shares::sums::{BundleSums, SumOperands};
use crate::{
    GateKind, KeyBundle, MaskedKeys, Party, PfssError,
    gate::kinds::product::{A_ROW, B_ROW, PRODUCT_ROW},
    secret::{kept::retrying, staging::StagedSecret},
};

impl KeyBundle {
    /// [`mask`](Self::mask) for the two factors of a product.
    ///
    /// Returns this party's additive shares of `x + a`, then of `y + b`, to be opened, and the keys
    /// for the opened words.
    ///
    /// # Errors
    /// [`PfssError::Kind`] for keys of another gate, [`PfssError::Length`] unless there are two
    /// factors per element, and as [`mask`](Self::mask).
    pub fn mask_factors(self, x: &[u64], y: &[u64]) -> Result<(Vec<u64>, MaskedKeys), PfssError> {
        self.check_factors([x.len(), y.len()])?;
        self.mask(&Zeroizing::new([x, y].concat()))
    }

    /// Checks that these are keys of a product, for each length of its factors.
    pub(crate) fn check_factors(&self, lens: [usize; 2]) -> Result<(), PfssError> {
        lens.into_iter().try_for_each(|len| self.check_use(GateKind::Product, len))
    }
}

/// Additive shares of `x y`, from the opened `x_hat = x + a` and `y_hat = y + b`.
///
/// In `opened`, `y_hat` comes after `x_hat`.
pub(super) fn product(bundle: &KeyBundle, opened: &[u64]) -> Vec<u64> {
    let (x_hat, y_hat) = opened.split_at(bundle.count());
    let (ring, output) = (bundle.gate().ring(), bundle.gate().output_mask_row());
    let share = |e: usize| {
        let (x, y) = (x_hat[e], y_hat[e]);
        let [a, b, a_b] = [A_ROW, B_ROW, PRODUCT_ROW].map(|row| bundle.word_row(row)[e]);
        let masks = x.wrapping_mul(b).wrapping_add(y.wrapping_mul(a));
        let public = bundle.party().public(x.wrapping_mul(y));
        let product = public.wrapping_sub(masks).wrapping_add(a_b);
        ring.reduce(product.wrapping_add(output.map_or(0, |row| bundle.word_row(row as usize)[e])))
    };
    (0..bundle.count()).map(share).collect()
}

/// [`product`] with the shares left in device memory.
///
/// `room` is secret memory of a word for each element or more, which the first sum overwrites.
pub(super) fn product_on_device<'q, Q: FssOps>(
    q: &'q Q,
    bundle: &KeyBundle,
    opened: &[u64],
    room: Option<StagedSecret<'q, Q, u64>>,
) -> Result<StagedSecret<'q, Q, u64>, PfssError> {
    let room = room.map_or_else(|| StagedSecret::alloc(q, bundle.count()), Ok)?;
    let (sums, words) = (ProductSums::new(bundle), &bundle.keys.words[..]);
    if let (Some(opened), Some(words)) = (q.host_view(opened), q.host_view(words)) {
        return Ok(sums.run(q, bundle, [None, None], [q.shorten(opened), q.shorten(words)], room)?);
    }
    // One copy: both lists of terms, the opened factors, and the words. A product has no keys that a seed gives.
    let lists = [sums.first.list(), sums.second.list()];
    let staged = StagedSecret::upload_with_lists(q, &lists, [&[opened], &[words]], 0)?;
    let (second, factors) = (lists[0].len(), lists[0].len() + lists[1].len());
    let after = factors + opened.len();
    let placed = [0..second, second..factors];
    let [first, second] = placed.map(|place| staged.slice(place).map(|list| q.words::<u64>(list)));
    let words = staged.slice(after..after + words.len())?;
    Ok(sums.run(q, bundle, [Some(first?), Some(second?)], [staged.slice(factors..after)?, words], room)?)
}

/// The product as two sums, since an op has one public variable.
struct ProductSums {
    /// `y_hat x_hat - y_hat [a] + [a b]` with the variable `y_hat`; party 0 has the first term.
    first: BundleSums,
    /// The first sum less `x_hat [b]`, with the variable `x_hat`.
    second: BundleSums,
}

impl ProductSums {
    fn new(bundle: &KeyBundle) -> Self {
        let (gate, row) = (bundle.gate(), |row: usize| WordTerm::word(row as u32));
        let (ring, after) = (gate.ring(), row(bundle.word_rows())); // the row after the words of the bundle
        let public = (bundle.party() == Party::Zero).then_some(after.power(1));
        let first = [row(PRODUCT_ROW), row(A_ROW).power(1).minus()].into_iter().chain(public);
        let second = BundleSums::new(ring, ring).sum([after, row(B_ROW).power(1).minus()]);
        Self { first: BundleSums::new(ring, ring).sum(first), second: second.under_output_masks(gate) }
    }

    /// The product, from the lists of both sums, the opened factors and the bundle's words.
    ///
    /// The first sum is in the first words of `room`.
    fn run<'q, 'a, Q: FssOps + 'a>(
        &self,
        q: &'q Q,
        bundle: &KeyBundle,
        [first, second]: [Option<Ref<'a, Q, u32>>; 2],
        [opened, words]: [Ref<'a, Q, u64>; 2],
        mut room: StagedSecret<'q, Q, u64>,
    ) -> Result<StagedSecret<'q, Q, u64>, BackendError> {
        let (x_hat, y_hat) = opened.split_at(bundle.count())?;
        let opened = q.words::<u64>(opened.slice(0..0)?); // no bits
        let count = bundle.count();
        retrying(q, || {
            let over = SumOperands { placed: first, x: y_hat, opened, words, rows: x_hat };
            self.first.combine(q, bundle, over, room.slice_mut(0..count)?)
        })?;
        let mut product = StagedSecret::alloc(q, count)?;
        retrying(q, || {
            let (placed, rows) = (second.map(|list| q.shorten::<u32>(list)), room.slice(0..count)?);
            let (x, opened, words) = (q.shorten(x_hat), q.shorten(opened), q.shorten(words));
            let over = SumOperands { placed, x, opened, words, rows };
            self.second.combine(q, bundle, over, product.view_mut())
        })?;
        Ok(product)
    }
}
