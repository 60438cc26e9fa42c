//! Uniform words, shares, descriptors, batches of inputs and masks, both parties on public masked inputs, and queues.

pub(crate) mod queues;

use std::time::Duration;

use backend_api::ops::fss::FssOps;
use pfss::{
    BoolShares, Dealer, Gate, MaskedKeys, MemoryChannel, Pending, Ring, Session, Shares, Step, Task, eval_lockstep,
    memory_pair,
    suf::{BoolExpr, Piece, Pred, SufDesc, SufModes, SufProgram, SufSpec},
};

/// The ring of whole words.
pub(crate) const WORDS: Ring = Ring::new(64).unwrap();

/// Uniform words of 64 bits.
pub(crate) fn words(len: usize, seed: u64) -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| rng.u64(..)).take(len).collect()
}

/// Additive shares of `values`.
pub(crate) fn share(ring: Ring, values: &[i64]) -> [Vec<u64>; 2] {
    let zero: Vec<u64> = words(values.len(), 1).into_iter().map(|word| ring.reduce(word)).collect();
    let one = values.iter().zip(&zero).map(|(&value, &share)| ring.sub(value as u64, share)).collect();
    [zero, one]
}

/// The sums of both parties' shares.
pub(crate) fn add(ring: Ring, [zero, one]: [&[u64]; 2]) -> Vec<u64> {
    zero.iter().zip(one).map(|(&a, &b)| ring.add(a, b)).collect()
}

/// [`add`], read as signed.
pub(crate) fn open(ring: Ring, [zero, one]: [&[u64]; 2]) -> Vec<i64> {
    add(ring, [zero, one]).into_iter().map(|word| ring.signed(word)).collect()
}

/// A predicate, and its conjunction with another.
pub(crate) fn two_bits() -> [BoolExpr; 2] {
    [BoolExpr::Var(0), BoolExpr::Var(0) & BoolExpr::Var(1)]
}

/// A descriptor of pieces with these starts and polynomials, and the same formulas in each.
pub(crate) fn descriptor(n: u32, preds: &[Pred], bools: &[BoolExpr], pieces: &[(u64, &[&[u64]])]) -> SufDesc {
    let piece = |&(start, polys): &(u64, &[&[u64]])| Piece {
        start,
        polys: polys.iter().map(|poly| poly.to_vec()).collect(),
        bools: bools.to_vec(),
    };
    let named = |names: [&str; 2], len: usize| names[..len].iter().map(|&name| name.to_owned()).collect();
    let longest = pieces.iter().flat_map(|(_, polys)| polys.iter()).map(|poly| poly.len()).max().unwrap();
    SufDesc::new(SufSpec {
        n,
        degree: longest as u32 - 1,
        words: named(["y", "z"], pieces[0].1.len()),
        bools: named(["a", "b"], bools.len()),
        preds: preds.to_vec(),
        pieces: pieces.iter().map(piece).collect(),
    })
    .unwrap()
}

/// The gate of a descriptor.
pub(crate) fn suf_gate(desc: SufDesc, modes: SufModes) -> Gate {
    Gate::suf(SufProgram::new(desc, modes).unwrap())
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

    /// Both parties' shares of a task.
    pub(crate) fn shares<Q: FssOps>(&self, q: &Q, gate: &Gate, task: Task<'_>) -> [Shares; 2] {
        eval_lockstep(q, task, self.keys(q, gate), &self.x_hat).unwrap()
    }

    /// The sums of both parties' shares of words.
    pub(crate) fn run<Q: FssOps>(&self, q: &Q, gate: &Gate, task: Task<'_>) -> Vec<u64> {
        let [zero, one] = self.shares(q, gate, task);
        add(gate.out_ring(), [&zero.words, &one.words])
    }
}

/// Plays both parties over channels in memory, each on a thread with its number and its keys.
pub(crate) fn both<K: Send, T: Send>(
    [zero, one]: [K; 2],
    party: impl Fn(Session<MemoryChannel>, usize, K) -> T + Sync,
) -> [T; 2] {
    let (to_one, to_zero) = memory_pair(Duration::from_secs(60));
    let first = || party(Session::new(to_one), 0, zero);
    test_process::pair(first, || party(Session::new(to_zero), 1, one)).into()
}

/// A step that opens something.
pub(crate) fn pending(step: Step) -> Pending {
    match step {
        Step::Open(pending) => pending,
        Step::Done(_) => panic!("nothing to open"),
    }
}

/// Everything that a party holds: words, then bits.
pub(crate) fn flat(shares: &Shares) -> Vec<u64> {
    let mut out = shares.words.clone();
    match &shares.bools {
        BoolShares::Additive(words) => out.extend(words),
        BoolShares::Xor(bits) => out.extend(bits.words().iter().map(|&bits| u64::from(bits))),
    }
    out
}
