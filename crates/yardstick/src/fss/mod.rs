//! Speed lines of the `fss` op set, with a public point or several for each key.
//!
//! Every key of a batch is different. Two lines are of the `share` op set: products of matrices and
//! sums of a table.

mod gates;

use backend_api::{
    BackendError, Buffer, Queue as _,
    ops::{
        fss::{self, CmpEvalAll, CmpEvalWindow, CmpGen, DcfEvalWindow, DcfGen, DcfKeys, ExpandSeed, FssOps as _},
        share::{MatmulWords, ShareOps as _, TableSums},
    },
};
use core_types::{
    AesKey, Label, PrgKeys,
    cmp::{CMP_TABLE_BITS, cmp_blocks, cmp_levels},
    params::{
        fss::{CmpAllParams, CmpGenParams, CmpWindowParams, DcfGenParams, DcfWindowParams, SeedParams, padded},
        share::{MatmulWordsParams, TableSumsParams},
    },
};
use cpu_backend::SimdLevel;
use fss_rs::{
    PointFn, Share,
    dcf::{BoundState, CmpFn, Dcf, DcfImpl},
    dpf::{Dpf, DpfImpl},
    group::{Group, byte::ByteGroup, int::U64Group},
    prg::Aes128MatyasMeyerOseasPrg,
};
use pfss::MatrixShape;
use runtime::{AnyBuf, AnyQueue};

use crate::{Contender, Extent, Goal, Line, LineError, host::words, line::RunSize};

const NONCE: [u8; 16] = [7; 16];

/// Keys in our batches: 60 MB of CMP(64) keys, so that they come from memory.
const KEYS: u32 = 1 << 16;

/// Points of a key whose function has pieces.
const PIECES: u32 = 32;

/// The distance from one of these points to the next.
const PIECE: u64 = 1 << 10;

/// Keys that are evaluated at every point.
const ALL_KEYS: u32 = 1 << 12;

/// Rows and columns of matrices on the processor.
const SIDE: usize = 512;

/// Different keys that the peer goes through repeatedly; more than the caches hold.
const PEER_KEYS: usize = 1 << 12;

/// Bytes of a seed of the peer, which calls it the output length.
const SEED_BYTES: usize = 16;

/// The peer's functions from 64-bit points, or points of up to 16 bits, on 127-bit seeds.
type PeerDpf = DpfImpl<8, SEED_BYTES, Aes128MatyasMeyerOseasPrg<SEED_BYTES, 1, 2>>;
type PeerSmallDpf = DpfImpl<2, SEED_BYTES, Aes128MatyasMeyerOseasPrg<SEED_BYTES, 1, 2>>;
type PeerDcf = DcfImpl<8, SEED_BYTES, Aes128MatyasMeyerOseasPrg<SEED_BYTES, 2, 4>>;

/// Every line of the op set on the processor.
pub(crate) fn contests() -> Vec<Line> {
    let ours = |id: &str, name: &str, line: Line| line.called(id).ours(name, SimdLevel::Avx512);
    let at_least = |line: Line, rate: f64| line.goal(Goal::Rate(rate), "vaes");
    let cmp64 = ours("pfss.cmp64", "trefoil CMP(64)", cmp_eval(64, KEYS, ONE_POINT)).peer(|| peer_dpf_eval(1));
    let cmp32 = ours("pfss.cmp32", "trefoil CMP(32)", cmp_eval(32, KEYS, ONE_POINT));
    let cmp12 = ours("pfss.cmp12", "trefoil CMP(12)", cmp_eval(12, KEYS, ONE_POINT));
    let pieces = ours("pfss.cmp64-pieces", "trefoil CMP(64)", cmp_eval(64, KEYS / PIECES, PIECE_POINTS));
    let all = ours("pfss.cmp10-all", "trefoil CMP(10), all points", cmp_eval_all(10, KEYS, ALL_KEYS));
    let dcf64 = ours("pfss.dcf64", "trefoil DCF(64, 1 word)", dcf_eval(64, KEYS, ONE_POINT));
    let keygen = ours("pfss.cmp64-keygen", "trefoil CMP(64)", cmp_gen(64, KEYS));
    let mut lines = vec![
        at_least(cmp64.peer(peer_dcf_eval), 10e6).goal(Goal::Ratio { peer: 1, ratio: 12.0 }, "vaes"),
        at_least(cmp32, 23e6),
        at_least(cmp12, 80e6),
        pieces.peer(|| peer_dpf_eval(PIECES)),
        all.peer(|| peer_dpf_full_eval(10)),
        at_least(dcf64.peer(peer_dcf_eval), 4e6),
        at_least(keygen.peer(peer_dpf_gen), 3e6),
        matmul_words(SIDE).peer(plain_product).goal(Goal::Ratio { peer: 1, ratio: 2.0 }, "avx-512"),
        table_sums(8, KEYS).goal(Goal::Rate(33e6), "avx-512"),
    ];
    lines.extend(gates::contests());
    lines
}

/// Every line of the op set on a device.
pub(crate) fn lines(extent: Extent) -> Vec<Line> {
    let (wide, narrow, all, dcf, few, side) = match extent {
        Extent::Full => (1 << 20, 1 << 22, 1 << 16, 1 << 18, 1 << 15, 1 << 12),
        Extent::Small => (64, 64, 64, 64, 64, 65),
    };
    vec![
        cmp_eval(64, wide, ONE_POINT),
        cmp_eval(12, narrow, ONE_POINT),
        cmp_eval(64, all, PIECE_POINTS),
        cmp_eval_all(8, wide, wide),
        cmp_eval_all(13, all, all),
        cmp_gen(64, wide),
        dcf_eval(64, dcf, ONE_POINT),
        dcf_eval(64, few, PIECE_POINTS),
        expand_seed(3, wide),
        matmul_words(side),
        table_sums(8, wide),
        table_sums(13, all),
    ]
}

/// The number of points at which each key is evaluated, and their window.
///
/// The window of 2^`within` points contains them.
#[derive(Clone, Copy)]
struct KeyPoints {
    points: u32,
    within: u32,
}

const ONE_POINT: KeyPoints = KeyPoints { points: 1, within: 0 };

/// The points between the pieces of a function, at which it compares its input.
const PIECE_POINTS: KeyPoints = KeyPoints { points: PIECES, within: 15 };

impl KeyPoints {
    /// Offsets over the whole window.
    fn offsets(self) -> Vec<u64> {
        let step = (1u64 << self.within) / u64::from(self.points);
        (0..u64::from(self.points)).map(|j| j * step).collect()
    }

    /// The width of the window for trees of `bits` bits that end `leaf` levels early.
    ///
    /// For a single point, the window has all points.
    fn window(self, bits: u32, leaf: u32) -> u32 {
        if self.points == 1 { bits } else { self.within.max(leaf) }
    }

    /// The name of a line of `op`.
    fn line(self, op: &str, bits: u32, count: u32) -> String {
        match self.points {
            1 => format!("pfss.{op}({bits})/{count}"),
            points => format!("pfss.{op}({bits}), {points} points within 2^{}/{count}", self.within),
        }
    }
}

/// Roots of both parties.
fn roots(count: u32) -> Vec<Label> {
    let words = words(4 * padded(count), 1);
    words.chunks(2).map(|pair| Label::new(u128::from(pair[0]) << 64 | u128::from(pair[1]))).collect()
}

/// CMP keys of both parties, made on the queue.
struct CmpKeyBatch {
    params: CmpGenParams,
    alphas: AnyBuf<u64>,
    roots: AnyBuf<Label>,
    corrections: AnyBuf<u128>,
    leaves: AnyBuf<u128>,
}

impl CmpKeyBatch {
    fn new(q: &AnyQueue, bits: u32, count: u32) -> Result<Self, LineError> {
        let key = PrgKeys::from_nonce(NONCE).child;
        let mut keys = Self {
            params: CmpGenParams { key, bits, count, reserved: [0; 2] },
            alphas: q.upload(&words(count as usize, 2))?,
            roots: q.upload(&roots(count))?,
            corrections: q.zeros(cmp_levels(bits) as usize * padded(count))?,
            leaves: q.zeros(2 * padded(count))?,
        };
        keys.generate(q)?;
        Ok(keys)
    }

    fn generate(&mut self, q: &AnyQueue) -> Result<(), LineError> {
        Ok(q.cmp_gen(CmpGen {
            params: &self.params,
            alphas: self.alphas.view(),
            roots: self.roots.view(),
            corrections: self.corrections.view_mut(),
            leaves: self.leaves.view_mut(),
        })?)
    }

    /// The keys of party 0.
    fn view(&self) -> Result<fss::CmpKeys<'_, AnyQueue>, BackendError> {
        Ok(fss::CmpKeys {
            roots: self.roots.slice(0..padded(self.params.count))?,
            corrections: self.corrections.view(),
            leaves: self.leaves.view(),
        })
    }
}

/// Bytes that the evaluation of `count` keys reads.
///
/// For each key they are a root, its corrections, two leaves and a masked input.
fn cmp_bytes(bits: u32, count: u32) -> f64 {
    f64::from(count) * (16.0 * f64::from(1 + cmp_levels(bits) + 2) + 8.0)
}

fn cmp_eval(bits: u32, count: u32, at: KeyPoints) -> Line {
    let size = RunSize::streaming("evaluation", f64::from(count) * f64::from(at.points), cmp_bytes(bits, count));
    Line::new(&at.line("cmp_eval_window", bits, count), size, move |q| {
        let keys = CmpKeyBatch::new(q, bits, count)?;
        let CmpGenParams { key, .. } = keys.params;
        let (points, window) = (at.points, at.window(bits, CMP_TABLE_BITS));
        let params = CmpWindowParams { key, bits, party: 0, count, points, window, reserved: [0; 3] };
        let (x_hat, offsets) = (q.upload(&words(count as usize, 3))?, q.upload(&at.offsets())?);
        let mut shares = q.zeros::<u32>(points as usize * padded(count) / 32)?;
        Ok(Box::new(move |q| {
            let (keys, x_hat, offsets) = (keys.view()?, x_hat.view(), offsets.view());
            Ok(q.cmp_eval_window(CmpEvalWindow { params: &params, keys, x_hat, offsets, shares: shares.view_mut() })?)
        }))
    })
}

/// The first `keys` of a batch, evaluated at every point; each writes a bit for each point.
fn cmp_eval_all(bits: u32, count: u32, keys: u32) -> Line {
    let blocks = cmp_blocks(bits);
    let bytes = f64::from(keys) * 16.0 * f64::from(1 + cmp_levels(bits) + 2 + blocks as u32);
    let size = RunSize::streaming("key", f64::from(keys), bytes);
    Line::new(&format!("pfss.cmp_eval_all({bits})/{count}"), size, move |q| {
        let batch = CmpKeyBatch::new(q, bits, count)?;
        let CmpGenParams { key, .. } = batch.params;
        let params = CmpAllParams { key, bits, party: 0, count, first: 0, keys, reserved: [0; 3] };
        let mut units = q.zeros::<u128>(blocks as usize * keys as usize)?;
        Ok(Box::new(move |q| {
            Ok(q.cmp_eval_all(CmpEvalAll { params: &params, keys: batch.view()?, units: units.view_mut() })?)
        }))
    })
}

fn cmp_gen(bits: u32, count: u32) -> Line {
    let size = RunSize::computing("key pair", f64::from(count), cmp_bytes(bits, count));
    Line::new(&format!("pfss.cmp_gen({bits})/{count}"), size, move |q| {
        let mut keys = CmpKeyBatch::new(q, bits, count)?;
        Ok(Box::new(move |q| keys.generate(q)))
    })
}

fn dcf_eval(bits: u32, count: u32, at: KeyPoints) -> Line {
    // a root, a correction and its word for each level, the last word and a masked input; and the results
    let resident = f64::from(count) * (16.0 + 24.0 * f64::from(bits) + 16.0 + 8.0 * f64::from(at.points));
    let size = RunSize::computing("evaluation", f64::from(count) * f64::from(at.points), resident);
    Line::new(&at.line("dcf_eval_window", bits, count), size, move |q| {
        let row = padded(count);
        let keys = PrgKeys::from_nonce(NONCE);
        let (party, points, len, width, window) = (0, at.points, 1, 64, at.window(bits, 0));
        let params = DcfWindowParams { keys, bits, party, count, points, words: len, width, window, reserved: 0 };
        let (alphas, betas) = (q.upload(&words(count as usize, 2))?, q.upload(&words(count as usize, 4))?);
        let (both_roots, mut corrections) = (roots(count), q.zeros::<u128>(bits as usize * row)?);
        let (mut values, mut last) = (q.zeros::<u64>(bits as usize * row)?, q.zeros::<u64>(row)?);
        q.dcf_gen(DcfGen {
            params: &DcfGenParams { keys, bits, count, words: len, width },
            alphas: alphas.view(),
            betas: betas.view(),
            roots: q.upload(&both_roots)?.view(),
            corrections: corrections.view_mut(),
            values: values.view_mut(),
            last: last.view_mut(),
        })?;
        let roots = q.upload(&both_roots[..row])?;
        let (x_hat, offsets) = (q.upload(&words(count as usize, 3))?, q.upload(&at.offsets())?);
        let mut shares = q.zeros::<u64>(points as usize * count as usize)?;
        Ok(Box::new(move |q| {
            let (roots, corrections) = (roots.view(), corrections.view());
            let keys = DcfKeys { roots, corrections, values: values.view(), last: last.view() };
            let (x_hat, offsets, shares) = (x_hat.view(), offsets.view(), shares.view_mut());
            Ok(q.dcf_eval_window(DcfEvalWindow { params: &params, keys, x_hat, offsets, shares })?)
        }))
    })
}

/// Rows of the key stream of a seed, as of roots or additive shares.
fn expand_seed(rows: u32, blocks: u32) -> Line {
    let all = f64::from(rows) * f64::from(blocks);
    let size = RunSize::computing("block", all, 16.0 * all);
    Line::new(&format!("pfss.expand_seed/{rows}x{blocks}"), size, move |q| {
        let key = AesKey::new(NONCE);
        let params = SeedParams { key, first: 0, mask: [u64::MAX; 2], rows, blocks, reserved: [0; 2] };
        let mut words = q.zeros::<u64>(2 * rows as usize * blocks as usize)?;
        Ok(Box::new(move |q| Ok(q.expand_seed(ExpandSeed { params: &params, words: words.view_mut() })?)))
    })
}

/// A product of `side x side` matrices of words modulo 2^64.
fn matmul_words(side: usize) -> Line {
    let len = side * side;
    let size = RunSize::computing("MAC", (side * len) as f64, (3 * 8 * len) as f64);
    Line::new(&format!("pfss.matmul_words/{side}"), size, move |q| {
        let [rows, inner, cols] = [side as u64; 3];
        let params = MatmulWordsParams { batch: 1, rows, inner, cols, alpha: 1, beta: 0 };
        let (x, y) = (q.upload(&words(len, 7))?, q.upload(&words(len, 8))?);
        let mut out = q.zeros::<u64>(len)?;
        Ok(Box::new(move |q| {
            Ok(q.matmul_words(MatmulWords { params: &params, x: x.view(), y: y.view(), out: out.view_mut() })?)
        }))
    })
}

/// Sums of one table over the set bits of `count` shares of unit vectors.
fn table_sums(bits: u32, count: u32) -> Line {
    let (blocks, elements) = (cmp_blocks(bits) as usize, count as usize);
    // the blocks of a share and a public word; a sum and a number of bits
    let bytes = f64::from(count) * (16 * blocks + 8 + 16) as f64;
    let size = RunSize::computing("element", f64::from(count), bytes);
    Line::new(&format!("pfss.table_sums/{bits}"), size, move |q| {
        let params = TableSumsParams { count, bits, tables: 1 };
        let halves = words(2 * blocks * elements, 9);
        let units: Vec<u128> =
            halves.chunks_exact(2).map(|half| u128::from(half[0]) << 64 | u128::from(half[1])).collect();
        let (units, x, table) = (q.upload(&units)?, q.upload(&words(elements, 3))?, q.upload(&words(1 << bits, 10))?);
        let (mut sums, mut ones) = (q.zeros::<u64>(elements)?, q.zeros::<u64>(elements)?);
        Ok(Box::new(move |q| {
            let (units, x, table) = (units.view(), x.view(), table.view());
            let (sums, ones) = (sums.view_mut(), ones.view_mut());
            Ok(q.table_sums(TableSums { params: &params, units, x, table, sums, ones })?)
        }))
    })
}

/// The loop by which `pfss` multiplies matrices without a queue.
fn plain_product() -> Contender {
    let shape = MatrixShape { batch: 1, rows: SIDE, inner: SIDE, cols: SIDE };
    let (x, y) = (words(SIDE * SIDE, 7), words(SIDE * SIDE, 8));
    Contender::new("plain loop", move || {
        core::hint::black_box(shape.multiply(&x, &y));
    })
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
    Contender::new(&format!("fss-rs DPF({bits}), full domain"), move || {
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
