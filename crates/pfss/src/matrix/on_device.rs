//! Products of matrices of shares in device memory, and the masks of their factors.

use backend_api::{BackendError, Ref, ops::fss::FssOps};
use core_types::Ring;

use super::{
    MatrixShape, MatrixTriple, TripleShares,
    opened::Opened,
    shares::{ProductShare, Section, Words, expand, expand_on, is_expanded},
};
use crate::{
    Channel, DeviceShares, PfssError, Session,
    device_shares::arithmetic::{Mask, check_count, masked},
    secret::{
        seed::Seed,
        staging::{StagedSecret, copy_on},
    },
};

impl<C: Channel> Session<C> {
    /// [`matmul`](Self::matmul) of shares in device memory, where the product stays.
    ///
    /// The messages, the spending of the triple and the words of the product are the same as by
    /// [`matmul`](Self::matmul), so that the other party may call either. Each factor may be in a
    /// ring of more bits than the triple's.
    ///
    /// # Errors
    /// [`PfssError::WrongParty`] for factors of different parties, or of another party than the
    /// triple's, [`PfssError::OtherDevice`] for factors on different devices,
    /// [`PfssError::WiderRing`] for a triple of a ring of more bits than a factor's,
    /// [`PfssError::Length`] for a factor of more elements than one op takes, at most `2^32 - 1`,
    /// all before anything is sent or spent, and as [`matmul`](Self::matmul).
    pub fn matmul_on_device<'q, Q: FssOps>(
        &mut self,
        triple: MatrixTriple,
        [x, y]: [&DeviceShares<'q, Q>; 2],
    ) -> Result<DeviceShares<'q, Q>, PfssError> {
        // Factors and the party are checked, and the triple is spent.
        x.check_together(y)?;
        [x, y].iter().try_for_each(|factor| factor.check_ring_within(triple.ring))?;
        self.check_owner(x.party())?;
        [x, y].iter().try_for_each(|factor| check_count(factor.len()))?;
        self.spend_triple(&triple, [x.len(), y.len()])?;
        let MatrixTriple { party, ring, shape, .. } = triple;
        let (q, [left, _, out]) = (x.queue(), shape.lens());
        let words = self.closing(|session| {
            session.record_triple(&triple);
            // Both masked factors are opened in one round. Masks that a device has expanded are dropped before that.
            let (mine, masks, product) = triple.add_masks(q, [x.view(), y.view()])?;
            let opened = session.open_words(q, ring, &mine)?;
            let (x_hat, y_hat) = opened.split_at(left);
            let opened = Opened { party, ring, shape, x_hat, y_hat };
            if let ProductShare::Seeded(shares) = &product
                && opened.expands(q, shares)
            {
                return Ok(opened.multiply_expanded(q, None, shares, &shares.seed, |words| copy_on(q, words))?);
            }
            let [Some(a), Some(b)] = masks else { unreachable!("a device that expands a mask expands all shares") };
            Ok(opened.multiply(q, None, [a, b, product.into_words(ring, out)], |words| copy_on(q, words))?)
        })?;
        Ok(DeviceShares::new(q, party, ring, words))
    }
}

/// The masks of both factors, if they are in host memory.
type HostMasks = [Option<Words>; 2];

impl MatrixTriple {
    /// Shares of both factors plus shares of their masks, in host memory.
    ///
    /// Returns the masks that are in host memory too, and the share of the product of both masks.
    fn add_masks<Q: FssOps>(
        self,
        q: &Q,
        [x, y]: [Ref<'_, Q, u64>; 2],
    ) -> Result<(Vec<u64>, HostMasks, ProductShare), PfssError> {
        let (ring, shape, [left, right, _]) = (self.ring, self.shape, self.shape.lens());
        let (masks, product) = match self.shares {
            TripleShares::Words([a, b, product]) => ([a, b].map(PlacedMask::Host), ProductShare::Words(product)),
            TripleShares::Seeded(shares) => {
                let a = PlacedMask::of(q, shape, &shares.seed, (ring, Section::Left), left)?;
                let b = PlacedMask::of(q, shape, &shares.seed, (ring, Section::Right), right)?;
                ([a, b], ProductShare::Seeded(shares))
            }
        };
        let mine = masked(q, ring, &[(x, masks[0].view()), (y, masks[1].view())])?.download()?;
        Ok((mine, masks.map(PlacedMask::into_host), product))
    }
}

/// A share of a mask where a queue adds it to shares in its memory.
pub(super) enum PlacedMask<'q, Q: FssOps> {
    Host(Words),
    /// Whole blocks: maybe one word too many.
    Expanded(StagedSecret<'q, Q, u64>),
}

impl<'q, Q: FssOps> PlacedMask<'q, Q> {
    /// The share of `len` words that a seed gives, for a product of this shape.
    ///
    /// A device expands many words itself.
    pub(super) fn of(
        q: &'q Q,
        shape: MatrixShape,
        seed: &Seed,
        (ring, section): (Ring, Section),
        len: usize,
    ) -> Result<Self, BackendError> {
        if !is_expanded(q, shape, len) {
            return Ok(Self::Host(expand(seed, ring, section, len)));
        }
        let mut words = StagedSecret::alloc(q, len.next_multiple_of(2))?;
        expand_on(q, seed, (ring, section), words.view_mut())?;
        Ok(Self::Expanded(words))
    }

    pub(super) fn view(&self) -> Mask<'_, Q> {
        match self {
            Self::Host(words) => Mask::Host(words),
            Self::Expanded(words) => Mask::Device(words.view()),
        }
    }

    /// The words, if they are in host memory.
    pub(super) fn into_host(self) -> Option<Words> {
        match self {
            Self::Host(words) => Some(words),
            Self::Expanded(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use backend_api::Queue as _;
    use runtime::{Choice, Domain, Settings};

    use super::*;
    use crate::Dealer;

    /// Triples of every form: in bytes of version 1, with few words of a seed, and with many.
    ///
    /// The masks that the host has added are returned, and expanded once.
    #[test]
    fn factors_are_masked_by_the_shares_that_the_host_adds() {
        let open = |choice| runtime::open_with(&Settings::default(), Some(Domain::Pfss), Some(choice)).unwrap().0;
        let (queues, ring) = ([Choice::Cpu, Choice::Sim].map(open), Ring::new(43).unwrap());
        for (rows, inner) in [(2, 3), (103, 81), (3, 2731)] {
            let shape = MatrixShape { batch: 1, rows, inner, cols: 3 };
            let [left, right, out] = shape.lens();
            let deal = |party: usize| {
                let triples = Dealer::insecure_from_seed(3).deal_matrix(&queues[0], ring, shape).unwrap();
                triples.into_iter().nth(party).unwrap()
            };
            for (party, q) in [0, 1].into_iter().flat_map(|party| queues.each_ref().map(|q| (party, q))) {
                let ([a, b], product) = deal(party).into_masks();
                let [x, y] = [left, right].map(|len| (0..len as u64).map(|i| i << 40 | i).collect::<Vec<u64>>());
                let shares = x.iter().chain(&y).zip(a.iter().chain(b.iter()));
                let expected: Vec<u64> = shares.map(|(&x, &mask)| ring.add(x, mask)).collect();
                let shares = TripleShares::Words([a.clone(), b.clone(), product.into_words(ring, out)]);
                let words = MatrixTriple { shares, ..deal(party) };
                for triple in [deal(party), words] {
                    let is_seeded = matches!(triple.shares, TripleShares::Seeded(_));
                    let (owner, masks) = (triple.party, [&a, &b]);
                    let [x, y] = [&x, &y].map(|factor| DeviceShares::upload(q, owner, ring, factor).unwrap());
                    let (got, on_host, _) = triple.add_masks(q, [x.view(), y.view()]).unwrap();
                    assert!(got == expected, "{shape:?}");
                    for (on_host, mask) in on_host.iter().zip(masks) {
                        // the device expands 64 KiB and more
                        let is_expanded = is_seeded && q.host_view::<u64>(&[]).is_none() && mask.len() >= 8192;
                        assert!(on_host.as_ref() == (!is_expanded).then_some(mask), "{shape:?}");
                    }
                }
            }
        }
    }
}
