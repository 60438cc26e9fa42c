//! Uniform words, batches of inputs and masks, both parties played on public masked inputs, and queues.

pub(crate) mod queues;

use backend_api::ops::fss::FssOps;
use pfss::{Dealer, Gate, MaskedKeys, Pending, PfssError, Ring};

/// Uniform words of 64 bits.
pub(crate) fn words(len: usize, seed: u64) -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| rng.u64(..)).take(len).collect()
}

/// Inputs, one mask for each, and the public values.
pub(crate) struct Batch {
    pub(crate) ring: Ring,
    pub(crate) x: Vec<u64>,
    pub(crate) r: Vec<u64>,
    pub(crate) x_hat: Vec<u64>,
}

impl Batch {
    /// Every input in `xs` under every mask in `rs`.
    pub(crate) fn product(n: u32, xs: impl IntoIterator<Item = u64>, rs: &[u64]) -> Self {
        let ring = Ring::new(n).unwrap();
        let pairs = xs.into_iter().flat_map(|x| rs.iter().map(move |&r| (ring.reduce(x), ring.reduce(r))));
        let (x, r): (Vec<u64>, Vec<u64>) = pairs.unzip();
        let x_hat = x.iter().zip(&r).map(|(&x, &r)| ring.add(x, r)).collect();
        Self { ring, x, r, x_hat }
    }

    /// Every input under every mask of a small ring.
    pub(crate) fn exhaustive(n: u32) -> Self {
        let all: Vec<u64> = (0..1 << n).collect();
        Self::product(n, 0..1 << n, &all)
    }

    /// The corners of the ring and the neighbours of `constants`, under corner masks and masks that bring `x + r`
    /// close to a wrap.
    pub(crate) fn boundary(n: u32, constants: &[u64]) -> Self {
        let half = 1u64 << (n - 1);
        let mut corners = vec![0, 1, half - 1, half, half + 1, (half << 1).wrapping_sub(1)];
        for &c in constants {
            corners.extend([c.wrapping_sub(1), c, c.wrapping_add(1)]);
        }
        let mut masks = corners.clone();
        masks.extend(corners.iter().map(|c| c.wrapping_neg()));
        Self::product(n, corners, &masks)
    }

    /// Both parties' keys for the masks of the batch.
    pub(crate) fn keys<Q: FssOps>(&self, q: &Q, gate: &Gate) -> [MaskedKeys; 2] {
        let bundles = Dealer::insecure_from_seed(7).insecure_deal_for_masks(q, gate, &self.r).unwrap();
        bundles.map(|bundle| bundle.with_open_inputs().unwrap())
    }

    /// Plays both parties of a two-step gate and adds the shares in the ring of `out` bits.
    pub(crate) fn run<Q: FssOps>(
        &self,
        q: &Q,
        gate: &Gate,
        out: u32,
        eval: impl Fn(MaskedKeys, &Q, &[u64]) -> Result<Pending, PfssError>,
    ) -> Vec<u64> {
        let [zero, one] = self.keys(q, gate).map(|keys| eval(keys, q, &self.x_hat).unwrap());
        let (bits_zero, bits_one) = (zero.masked_bits().to_vec(), one.masked_bits().to_vec());
        let (words_zero, words_one) = (zero.masked_words().to_vec(), one.masked_words().to_vec());
        let a = zero.finish_with(q, &bits_one, &words_one).unwrap();
        let b = one.finish_with(q, &bits_zero, &words_zero).unwrap();
        let ring = Ring::new(out).unwrap();
        a.iter().zip(&b).map(|(&a, &b)| ring.add(a, b)).collect()
    }
}
