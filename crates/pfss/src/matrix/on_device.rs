//! Products of matrices of shares in device memory, and the masks of their factors.

use backend_api::{BackendError, ops::fss::FssOps};
use core_types::Ring;

use super::{
    MatrixTriple, TripleShares,
    opened::Opened,
    shares::{ProductShare, Section, SeededShares, Words, expand, expand_on},
};
use crate::{
    Channel, DeviceShares, PfssError, Session,
    device_shares::arithmetic::{Mask, check_count, masked},
    secret::{
        masking::add_masks,
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
        x.check_together(y)?;
        y.check_ring_within(triple.ring)?;
        check_count(y.len())?;
        self.multiply_on_device(triple, x, Second::OnDevice(y))
    }

    /// [`matmul_on_device`](Self::matmul_on_device) by second factors in host memory.
    ///
    /// Their shares are masked there, and never copied to the device. Weights are such factors: one
    /// party has them, and the other's shares are zeros.
    ///
    /// # Errors
    /// As [`matmul_on_device`](Self::matmul_on_device).
    pub fn matmul_by_host_on_device<'q, Q: FssOps>(
        &mut self,
        triple: MatrixTriple,
        x: &DeviceShares<'q, Q>,
        y: &[u64],
    ) -> Result<DeviceShares<'q, Q>, PfssError> {
        self.multiply_on_device(triple, x, Second::OnHost(y))
    }

    /// The product by second factors of the same party, on the same device if on any.
    fn multiply_on_device<'q, Q: FssOps>(
        &mut self,
        triple: MatrixTriple,
        x: &DeviceShares<'q, Q>,
        y: Second<'_, 'q, Q>,
    ) -> Result<DeviceShares<'q, Q>, PfssError> {
        // Factors and the party are checked, and the triple is spent.
        x.check_ring_within(triple.ring)?;
        self.check_owner(x.party())?;
        check_count(x.len())?;
        self.spend_triple(&triple, [x.len(), y.len()])?;
        let MatrixTriple { party, ring, shape, .. } = triple;
        let (q, [left, _, out]) = (x.queue(), shape.lens());
        let words = self.closing(|session| {
            session.record_triple(&triple);
            // Both masked factors are opened in one round. Masks that a device has expanded are dropped before that.
            let (mine, unused) = triple.mask_factors(x, y)?;
            let opened = session.open_words(q, ring, &mine)?;
            let (x_hat, y_hat) = opened.split_at(left);
            let opened = Opened { party, ring, shape, x_hat, y_hat };
            Ok(match unused {
                Unmultiplied::Expanded(shares) => {
                    opened.multiply_expanded(q, None, &shares, &shares.seed, |words| copy_on(q, words))?
                }
                Unmultiplied::Held([a, b], product) => {
                    opened.multiply(q, None, [a, b, product.into_words(ring, out)], |words| copy_on(q, words))?
                }
            })
        })?;
        Ok(DeviceShares::new(q, party, ring, words))
    }
}

/// Second factors of products whose first ones are in device memory.
enum Second<'a, 'q, Q: FssOps> {
    OnDevice(&'a DeviceShares<'q, Q>),
    OnHost(&'a [u64]),
}

impl<Q: FssOps> Second<'_, '_, Q> {
    fn len(&self) -> usize {
        match self {
            Self::OnDevice(y) => y.len(),
            Self::OnHost(y) => y.len(),
        }
    }
}

/// The shares of a triple whose masks are in opened factors that are still to be multiplied.
enum Unmultiplied {
    /// A device expands all of them from a seed.
    Expanded(SeededShares),
    /// The masks, and the share of their product.
    Held([Words; 2], ProductShare),
}

impl MatrixTriple {
    /// Shares of both factors plus shares of their masks, in host memory.
    ///
    /// Returns the triple's shares for the product, too. No mask is copied to the device.
    fn mask_factors<Q: FssOps>(
        self,
        x: &DeviceShares<'_, Q>,
        y: Second<'_, '_, Q>,
    ) -> Result<(Vec<u64>, Unmultiplied), PfssError> {
        let (q, ring, shape, [left, right, _]) = (x.queue(), self.ring, self.shape, self.shape.lens());
        let shares = match self.shares {
            TripleShares::Seeded(shares) if shares.are_expanded(q, shape) => shares,
            // The host has the masks, and adds them to the shares that it sends.
            _ => {
                let ([a, b], product) = self.into_masks();
                let mine = match y {
                    Second::OnDevice(y) => add_masks(ring, x.followed_by(ring, &[y])?.to_host()?, [&a[..], &b]),
                    Second::OnHost(y) => {
                        let x = add_masks(ring, x.to_host()?, [&a[..]]);
                        [x, add_masks(ring, y, [&b[..]])].concat()
                    }
                };
                return Ok((mine, Unmultiplied::Held([a, b], product)));
            }
        };
        let a = expanded(q, &shares.seed, (ring, Section::Left), left)?;
        let x = (x.view(), Mask::Device(a.view()));
        let mine = match y {
            Second::OnDevice(y) => {
                let b = expanded(q, &shares.seed, (ring, Section::Right), right)?;
                masked(q, ring, &[x, (y.view(), Mask::Device(b.view()))])?.download()?
            }
            Second::OnHost(y) => {
                let b = expand(&shares.seed, ring, Section::Right, right);
                [masked(q, ring, &[x])?.download()?, add_masks(ring, y, [&b[..]])].concat()
            }
        };
        Ok((mine, Unmultiplied::Expanded(shares)))
    }
}

/// The share of a mask of `len` words that the queue expands.
///
/// It has whole blocks: maybe one word too many.
pub(super) fn expanded<'q, Q: FssOps>(
    q: &'q Q,
    seed: &Seed,
    of: (Ring, Section),
    len: usize,
) -> Result<StagedSecret<'q, Q, u64>, BackendError> {
    let mut words = StagedSecret::alloc(q, len.next_multiple_of(2))?;
    expand_on(q, seed, of, words.view_mut())?;
    Ok(words)
}

#[cfg(test)]
mod tests {
    use backend_api::Queue as _;

    use super::*;
    use crate::{Dealer, MatrixShape, testing::queues};

    /// Triples of every form: in bytes of version 1, with few words of a seed, and with many.
    ///
    /// The masks that the host has added are returned, and expanded once.
    #[test]
    fn factors_are_masked_by_the_shares_that_the_host_adds() {
        let (queues, ring) = (queues(), Ring::new(43).unwrap());
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
                let words = [a.clone(), b.clone(), product.into_words(ring, out)];
                let triples =
                    || [deal(party), MatrixTriple { shares: TripleShares::Words(words.clone()), ..deal(party) }];
                for (triple, on_host) in [false, true].into_iter().flat_map(|on_host| triples().map(|t| (t, on_host))) {
                    // the device expands 64 KiB and more, of all shares together; party 1's product comes in words
                    let expanded = left + right + if party == 0 { out } else { 0 };
                    let is_seeded = matches!(triple.shares, TripleShares::Seeded(_));
                    let is_expanded = is_seeded && q.host_view::<u64>(&[]).is_none() && expanded >= 8192;
                    let upload = |factor: &[u64]| DeviceShares::upload(q, triple.party, ring, factor).unwrap();
                    let (x, placed) = (upload(&x), upload(&y));
                    let second = if on_host { Second::OnHost(&y) } else { Second::OnDevice(&placed) };
                    let (got, unused) = triple.mask_factors(&x, second).unwrap();
                    assert!(got == expected, "{shape:?}");
                    let masks = if let Unmultiplied::Held(masks, _) = unused { Some(masks) } else { None };
                    assert!(masks == (!is_expanded).then(|| [a.clone(), b.clone()]), "{shape:?}");
                }
            }
        }
    }
}
