//! Speed lines of the `fss` op set.
//!
//! They run on one thread, with one public point for each key. Every key of a batch is different.

use std::num::NonZeroUsize;

use backend_api::ops::fss::{self, CmpEvalAll, CmpEvalWindow, CmpGen, DcfEvalWindow, DcfGen, DcfKeys, FssOps};
use core_types::{
    Label, PrgKeys,
    cmp::{cmp_blocks, cmp_levels},
    params::fss::{CmpAllParams, CmpGenParams, CmpWindowParams, DcfGenParams, DcfWindowParams, padded},
};
use cpu_backend::{CpuConfig, CpuQueue};
use fss_rs::{
    PointFn, Share,
    dcf::{BoundState, CmpFn, Dcf, DcfImpl},
    dpf::{Dpf, DpfImpl},
    group::{Group, byte::ByteGroup, int::U64Group},
    prg::Aes128MatyasMeyerOseasPrg,
};

use pfss::{
    AutoTrunc, Dealer, KeyBundle, SufStep,
    functions::{Accuracy, FixedBundles, gelu},
    suf::SufModes,
};

use super::{Contender, Contest, Goal, Show};

/// Keys in our batches: 60 MB of CMP(64) keys, so that they come from memory.
const KEYS: u32 = 1 << 16;

/// Points of a key whose function has pieces, and the distance from one to the next.
const PIECES: u32 = 32;
const PIECE: u64 = 1 << 10;

/// Keys that are evaluated at every point.
const ALL_KEYS: u32 = 1 << 12;

/// Elements of a batch of a function.
const ELEMENTS: u32 = 1 << 15;

/// Different keys that the peer goes through repeatedly; more than the caches hold.
const PEER_KEYS: usize = 1 << 12;

/// Bytes of a seed of the peer, which calls it the output length.
const SEED_BYTES: usize = 16;

/// The peer's functions from 64-bit points, or points of up to 16 bits, on 127-bit seeds.
type PeerDpf = DpfImpl<8, SEED_BYTES, Aes128MatyasMeyerOseasPrg<SEED_BYTES, 1, 2>>;
type PeerSmallDpf = DpfImpl<2, SEED_BYTES, Aes128MatyasMeyerOseasPrg<SEED_BYTES, 1, 2>>;
type PeerDcf = DcfImpl<8, SEED_BYTES, Aes128MatyasMeyerOseasPrg<SEED_BYTES, 2, 4>>;

/// Every contest of the op set, by name, each built only when its turn comes.
#[must_use]
pub(crate) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    vec![
        ("pfss.cmp64".to_owned(), Box::new(cmp64)),
        ("pfss.cmp32".to_owned(), Box::new(cmp32)),
        ("pfss.cmp12".to_owned(), Box::new(cmp12)),
        ("pfss.cmp64-pieces".to_owned(), Box::new(cmp64_pieces)),
        ("pfss.cmp10-all".to_owned(), Box::new(cmp10_all)),
        ("pfss.dcf64".to_owned(), Box::new(dcf64)),
        ("pfss.cmp64-keygen".to_owned(), Box::new(cmp64_keygen)),
        ("pfss.gelu".to_owned(), Box::new(gelu_elements)),
    ]
}

fn contest(id: &str, unit: &'static str, contenders: Vec<Contender>, goals: Vec<(Goal, &'static str)>) -> Contest {
    Contest { id: id.to_owned(), unit, work: f64::from(KEYS), show: Show::Rate, contenders, goals }
}

fn cmp64() -> Contest {
    let goals = vec![(Goal::Rate(10e6), "vaes"), (Goal::Ratio { peer: 1, ratio: 12.0 }, "vaes")];
    contest("pfss.cmp64", "evaluation", vec![cmp_eval(64, KEYS, 1, 64), peer_dpf_eval(1), peer_dcf_eval()], goals)
}

fn cmp32() -> Contest {
    contest("pfss.cmp32", "evaluation", vec![cmp_eval(32, KEYS, 1, 32)], vec![(Goal::Rate(23e6), "vaes")])
}

fn cmp12() -> Contest {
    contest("pfss.cmp12", "evaluation", vec![cmp_eval(12, KEYS, 1, 12)], vec![(Goal::Rate(80e6), "vaes")])
}

/// Each key at the points between the pieces of a function.
fn cmp64_pieces() -> Contest {
    let contenders = vec![cmp_eval(64, KEYS / PIECES, PIECES, 15), peer_dpf_eval(PIECES)];
    let work = f64::from(KEYS / PIECES * PIECES);
    Contest { work, ..contest("pfss.cmp64-pieces", "evaluation", contenders, Vec::new()) }
}

fn cmp10_all() -> Contest {
    let contenders = vec![cmp_eval_all(10), peer_dpf_full_eval(10)];
    Contest { work: f64::from(ALL_KEYS), ..contest("pfss.cmp10-all", "key", contenders, Vec::new()) }
}

fn dcf64() -> Contest {
    contest("pfss.dcf64", "evaluation", vec![dcf_eval(64, 1), peer_dcf_eval()], vec![(Goal::Rate(4e6), "vaes")])
}

fn cmp64_keygen() -> Contest {
    contest("pfss.cmp64-keygen", "key pair", vec![cmp_gen(64), peer_dpf_gen()], vec![(Goal::Rate(3e6), "vaes")])
}

/// GeLU by `MaskedSelect` with its shift, as one party evaluates it.
fn gelu_elements() -> Contest {
    let contenders = vec![gelu_by(Accuracy::CUBIC_16), gelu_by(Accuracy::QUADRATIC_32)];
    let goals = vec![(Goal::Rate(1e6), "vaes")];
    Contest { work: f64::from(ELEMENTS), ..contest("pfss.gelu", "element", contenders, goals) }
}

fn queue() -> CpuQueue {
    let config = CpuConfig { threads: Some(NonZeroUsize::MIN), ..CpuConfig::default() };
    CpuQueue::open(config).expect("one thread needs no pool")
}

/// Words that look random, different for each `salt`.
fn words(len: usize, salt: u64) -> Vec<u64> {
    let mut state = salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let step = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 29
    };
    core::iter::repeat_with(step).take(len).collect()
}

/// Roots of both parties.
fn roots(count: u32) -> Vec<Label> {
    let words = words(4 * padded(count), 1);
    words.chunks(2).map(|pair| Label::new(u128::from(pair[0]) << 64 | u128::from(pair[1]))).collect()
}

struct HostCmpKeys {
    q: CpuQueue,
    params: CmpGenParams,
    alphas: Vec<u64>,
    roots: Vec<Label>,
    corrections: Vec<u128>,
    leaves: Vec<u128>,
}

impl HostCmpKeys {
    fn new(bits: u32, count: u32) -> Self {
        let key = PrgKeys::from_nonce([7; 16]).child;
        let row = padded(count);
        let mut keys = Self {
            q: queue(),
            params: CmpGenParams { key, bits, count, reserved: [0; 2] },
            alphas: words(count as usize, 2),
            roots: roots(count),
            corrections: vec![0; cmp_levels(bits) as usize * row],
            leaves: vec![0; 2 * row],
        };
        keys.generate();
        keys
    }

    fn generate(&mut self) {
        self.q
            .cmp_gen(CmpGen {
                params: &self.params,
                alphas: &self.alphas,
                roots: &self.roots,
                corrections: &mut self.corrections,
                leaves: &mut self.leaves,
            })
            .expect("views that fit");
    }

    /// The keys of party 0.
    fn view(&self) -> fss::CmpKeys<'_, CpuQueue> {
        let roots = &self.roots[..padded(self.params.count)];
        fss::CmpKeys { roots, corrections: &self.corrections, leaves: &self.leaves }
    }
}

/// `count` keys, each at `points` points within 2^`window`.
fn cmp_eval(bits: u32, count: u32, points: u32, window: u32) -> Contender {
    let keys = HostCmpKeys::new(bits, count);
    let CmpGenParams { key, .. } = keys.params;
    let params = CmpWindowParams { key, bits, party: 0, count, points, window, reserved: [0; 3] };
    let x_hat = words(count as usize, 3);
    let offsets: Vec<u64> = (0..u64::from(points)).map(|j| j * PIECE).collect();
    let mut shares = vec![0; points as usize * padded(count) / 32];
    Contender::new(format!("trefoil CMP({bits})"), move || {
        let (q, keys, shares) = (&keys.q, keys.view(), &mut shares);
        q.cmp_eval_window(CmpEvalWindow { params: &params, keys, x_hat: &x_hat, offsets: &offsets, shares })
            .expect("views that fit");
    })
}

/// Every point of the first keys of a batch.
fn cmp_eval_all(bits: u32) -> Contender {
    let keys = HostCmpKeys::new(bits, KEYS);
    let CmpGenParams { key, count, .. } = keys.params;
    let params = CmpAllParams { key, bits, party: 0, count, first: 0, keys: ALL_KEYS, reserved: [0; 3] };
    let mut units = vec![0; cmp_blocks(bits) as usize * ALL_KEYS as usize];
    Contender::new(format!("trefoil CMP({bits}), all points"), move || {
        let (q, keys) = (&keys.q, keys.view());
        q.cmp_eval_all(CmpEvalAll { params: &params, keys, units: &mut units }).expect("views that fit");
    })
}

fn cmp_gen(bits: u32) -> Contender {
    let mut keys = HostCmpKeys::new(bits, KEYS);
    Contender::new(format!("trefoil CMP({bits})"), move || keys.generate())
}

fn dcf_eval(bits: u32, len: u32) -> Contender {
    let q = queue();
    let row = padded(KEYS);
    let keys = PrgKeys::from_nonce([7; 16]);
    let (party, count, points, width, window) = (0, KEYS, 1, 64, bits);
    let params = DcfWindowParams { keys, bits, party, count, points, words: len, width, window, reserved: 0 };
    let rows = (bits * len) as usize;
    let (mut corrections, mut values) = (vec![0; bits as usize * row], vec![0; rows * row]);
    let mut last = vec![0; len as usize * row];
    let mut roots = roots(KEYS);
    let (alphas, betas) = (words(KEYS as usize, 2), words((len * KEYS) as usize, 4));
    q.dcf_gen(DcfGen {
        params: &DcfGenParams { keys, bits, count, words: len, width },
        alphas: &alphas,
        betas: &betas,
        roots: &roots,
        corrections: &mut corrections,
        values: &mut values,
        last: &mut last,
    })
    .expect("views that fit");
    roots.truncate(row);
    let x_hat = words(KEYS as usize, 3);
    let mut shares = vec![0; (len * KEYS) as usize];
    Contender::new(format!("trefoil DCF({bits}, {len} word)"), move || {
        q.dcf_eval_window(DcfEvalWindow {
            params: &params,
            keys: DcfKeys { roots: &roots, corrections: &corrections, values: &values, last: &last },
            x_hat: &x_hat,
            offsets: &[0],
            shares: &mut shares,
        })
        .expect("views that fit");
    })
}

/// The work of one party for a batch, except dealing, masking and communication.
///
/// Its own message stands in for the peer's.
fn gelu_by(accuracy: Accuracy) -> Contender {
    let (q, dealer_q) = (queue(), queue());
    let gates = gelu(accuracy).and_then(|function| function.gates(SufModes::default())).expect("a known function");
    let AutoTrunc::Gap { cert, .. } = gates.shift else { unreachable!("values are proven to lie within the gap") };
    let mut dealer = Dealer::insecure_from_seed(5);
    let x_hat = words(ELEMENTS as usize, 6);
    let feed = move || {
        let [bundles, _] = dealer.deal_function(&dealer_q, &gates, ELEMENTS as usize).expect("views that fit");
        bundles
    };
    let run = move |bundles: FixedBundles| {
        let open = |bundle: KeyBundle| bundle.with_open_inputs().expect("keys of an insecure dealer");
        let mut step = open(bundles.suf).eval_suf(&q, &x_hat).expect("views that fit");
        let shares = loop {
            match step {
                SufStep::Open(pending) => {
                    let peer = pending.masked_bits().to_vec();
                    step = pending.finish(&q, &peer).expect("a message of this length");
                }
                SufStep::Done(shares) => break shares.words,
            }
        };
        let shift = open(bundles.shift.expect("a shift by some bits"));
        let pending = shift.eval_gap_ars(&q, &cert, &shares).expect("views that fit");
        let peer = pending.masked_bits().to_vec();
        core::hint::black_box(pending.finish(&q, &peer).expect("a message of this length"));
    };
    Contender::fed(format!("trefoil, degree {}, {} pieces", accuracy.degree, accuracy.pieces), feed, run)
}

fn peer_keys<const N: usize>() -> [[u8; 16]; N] {
    core::array::from_fn(|i| [i as u8 + 1; 16])
}

fn peer_dpf() -> PeerDpf {
    DpfImpl::new(Aes128MatyasMeyerOseasPrg::new(&peer_keys::<2>().each_ref()))
}

fn peer_dpf_key(dpf: &PeerDpf, e: usize, alpha: u64) -> Share<SEED_BYTES, ByteGroup<SEED_BYTES>> {
    let seeds = [e as u128, !(e as u128)].map(|seed| (seed << 64 | 0x1234_5678).to_be_bytes());
    dpf.r#gen(&PointFn { alpha: alpha.to_be_bytes(), beta: ByteGroup([1; SEED_BYTES]) }, seeds.each_ref())
}

/// Evaluates keys of the peer in turn, each at `points` points: [`KEYS`] evaluations in all.
fn peer_dpf_eval(points: u32) -> Contender {
    let dpf = peer_dpf();
    let alphas = words(PEER_KEYS, 2);
    let mut keys: Vec<_> = alphas.iter().enumerate().map(|(e, &alpha)| peer_dpf_key(&dpf, e, alpha)).collect();
    keys.iter_mut().for_each(|key| key.s0s.truncate(1));
    let xs = words((KEYS / points) as usize, 3);
    let mut shares = vec![ByteGroup::zero(); points as usize];
    Contender::new("fss-rs DPF(64)", move || {
        for (x, key) in xs.iter().zip(keys.iter().cycle()) {
            for (j, share) in shares.iter_mut().enumerate() {
                let y = x.wrapping_sub(j as u64 * PIECE).to_be_bytes();
                dpf.eval(false, key, &[&y], &mut [share]);
            }
        }
    })
}

fn peer_dpf_full_eval(bits: u32) -> Contender {
    let prg = Aes128MatyasMeyerOseasPrg::new(&peer_keys::<2>().each_ref());
    let dpf: PeerSmallDpf = DpfImpl::new_with_filter(prg, bits as usize);
    let key = |(e, &alpha): (usize, &u64)| {
        let alpha = ((alpha << (16 - bits)) as u16).to_be_bytes();
        let seeds = [e as u128, !(e as u128)].map(|seed| (seed << 64 | 0x1234_5678).to_be_bytes());
        let mut key = dpf.r#gen(&PointFn { alpha, beta: ByteGroup([1; SEED_BYTES]) }, seeds.each_ref());
        key.s0s.truncate(1);
        key
    };
    let keys: Vec<_> = words(ALL_KEYS as usize, 2).iter().enumerate().map(key).collect();
    let mut shares = vec![ByteGroup::zero(); 1 << bits];
    Contender::new(format!("fss-rs DPF({bits}), full domain"), move || {
        let mut shares: Vec<_> = shares.iter_mut().collect();
        for key in &keys {
            dpf.full_eval(false, key, &mut shares);
        }
    })
}

fn peer_dpf_gen() -> Contender {
    let dpf = peer_dpf();
    let alphas = words(KEYS as usize, 2);
    Contender::new("fss-rs DPF(64)", move || {
        for (e, &alpha) in alphas.iter().enumerate() {
            core::hint::black_box(peer_dpf_key(&dpf, e, alpha));
        }
    })
}

/// The peer's function of the same kind.
///
/// Only its time is meaningful: in 0.6 sums of integers come out wrong.
fn peer_dcf_eval() -> Contender {
    let dcf: PeerDcf = DcfImpl::new(Aes128MatyasMeyerOseasPrg::new(&peer_keys::<4>().each_ref()));
    let alphas = words(PEER_KEYS, 2);
    let key = |(e, &alpha): (usize, &u64)| {
        let seeds = [e as u128, !(e as u128)].map(|seed| (seed << 64 | 0x1234_5678).to_be_bytes());
        let function = CmpFn { alpha: alpha.to_be_bytes(), beta: U64Group(1), bound: BoundState::LtAlpha };
        let mut key = dcf.r#gen(&function, seeds.each_ref());
        key.s0s.truncate(1);
        key
    };
    let keys: Vec<_> = alphas.iter().enumerate().map(key).collect();
    let points: Vec<[u8; 8]> = words(KEYS as usize, 3).into_iter().map(u64::to_be_bytes).collect();
    let mut share = U64Group(0);
    Contender::new("fss-rs DCF(64, u64)", move || {
        for (point, key) in points.iter().zip(keys.iter().cycle()) {
            dcf.eval(false, key, &[point], &mut [&mut share]);
        }
    })
}
