//! Launches of the forward kernels that ops do not make: parts of the keys for many queries, and short rows by the
//! kernels for long ones.
//!
//! Results are held to the processor's. Rows have lengths at which each store of a thread is the last one of its row.

use backend_api::{
    Buffer, Queue, Real,
    ops::linalg::{Attention, AttentionOps},
};
use conformance::Failure;
use core_types::params::{
    attention::{AttentionParams, HeadStrides},
    elementwise::DropoutParams,
    optim::StepState,
};
use cuda_backend::CudaQueue;
use half::bf16;

use super::trials::Trial;

/// Keys of a part.
const PART: u32 = 32;
/// Keys of a launch: two parts, the second of one key.
const KEYS: u64 = 33;

/// A forward kernel and the one that joins its parts.
#[derive(Clone, Copy)]
struct Kernels {
    forward: &'static str,
    join: &'static str,
    /// Rows of a block.
    rows: u64,
    /// Queries of a launch: with fewer than the rows of a block, loads end early, else every thread stores all its rows.
    queries: &'static [u64],
    /// Elements of the longest row.
    longest: u64,
}

/// The forward kernels of one element type.
macro_rules! kernels {
    ($suffix:literal) => {
        [
            kernels!("few64_", $suffix, 16, &[17], 64),
            kernels!("few128_", $suffix, 16, &[17], 128),
            kernels!("many64_", $suffix, 64, &[17, 64], 64),
            kernels!("many128_", $suffix, 64, &[17, 64], 128),
        ]
    };
    ($kind:literal, $suffix:literal, $rows:literal, $queries:expr, $longest:literal) => {
        Kernels {
            forward: concat!("linalg_attention_", $kind, $suffix),
            join: concat!("linalg_attention_join_", $suffix),
            rows: $rows,
            queries: $queries,
            longest: $longest,
        }
    };
}

/// Trials of the kernels whose bounds tests are taken away.
pub(super) fn trials() -> Vec<Trial> {
    let of_words = kernels!("f32").into_iter().flat_map(of_kernels::<f32>);
    of_words.chain(kernels!("bf16").into_iter().flat_map(of_kernels::<bf16>)).collect()
}

fn of_kernels<T: Real>(kernels: Kernels) -> impl Iterator<Item = Trial> {
    let launches = kernels.queries.iter().flat_map(|&queries| [1, 2].map(|parts| (queries, parts)));
    launches.map(move |(queries, parts)| {
        let name = format!("{queries} queries and {parts} parts of the keys by {}", kernels.forward);
        Trial::new(name, move |q| {
            lengths(kernels.longest).try_for_each(|dim| kernels.hold::<T>(q, params(queries, dim), parts))
        })
    })
}

/// Lengths of rows: one in every eight, for stores of two elements, and three more in every 32, for stores of four.
fn lengths(longest: u64) -> impl Iterator<Item = u64> {
    (1..=longest).filter(|dim| dim % 8 == 1 || (2..=4).contains(&(dim % 32)))
}

/// Row-major `[1, rows, 1, dim]` operands without masks and dropout.
fn params(queries: u64, dim: u64) -> AttentionParams {
    let (of_queries, of_keys) = (HeadStrides::by_row(queries, 1, dim), HeadStrides::by_row(KEYS, 1, dim));
    AttentionParams {
        batch: 1,
        heads: 1,
        kv_heads: 1,
        queries,
        keys: KEYS,
        dim,
        q: of_queries,
        k: of_keys,
        v: of_keys,
        y: of_queries,
        mask: HeadStrides::by_head(1, queries, KEYS),
        causal_offset: 0,
        causal: 0,
        scale: 0.25,
        dropout: DropoutParams { seed: 0, site: 0, step: 0, first: 0, threshold: 0, scale: 1.0 },
    }
}

/// The record in words of eight bytes.
fn words(p: &AttentionParams) -> [u64; 28] {
    let mut words = [0; 28];
    words[..6].copy_from_slice(&[p.batch, p.heads, p.kv_heads, p.queries, p.keys, p.dim]);
    for (to, strides) in words[6..21].chunks_mut(3).zip([p.q, p.k, p.v, p.y, p.mask]) {
        to.copy_from_slice(&[strides.batch, strides.head, strides.row]);
    }
    words[22] = u64::from(p.scale.to_bits()) << 32;
    words[27] = p.dropout.scale.to_bits().into();
    words
}

/// Multiples of 1/8 from -1 to 7/8, exact in every element type.
fn input<T: Real>(rows: u64, dim: u64, seed: u64) -> Vec<T> {
    let word = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed).wrapping_mul(seed) >> 60;
    (0..rows * dim).map(|i| T::from_f32(word(i) as f32 / 8.0 - 1.0)).collect()
}

impl Kernels {
    /// Compares results and logarithms of sums with the processor's.
    fn hold<T: Real>(self, q: &CudaQueue, p: AttentionParams, parts: u64) -> Result<(), Failure> {
        let (rows, dim) = (p.queries, p.dim);
        let (queries, keys, values) = (input::<T>(rows, dim, 3), input::<T>(KEYS, dim, 5), input::<T>(KEYS, dim, 7));
        let (mut y, mut lse) = (vec![T::from_f32(9.0); queries.len()], vec![9.0f32; rows as usize]);
        runtime::cpu().unwrap().attention(Attention {
            params: &p,
            q: queries.as_slice(),
            k: keys.as_slice(),
            v: values.as_slice(),
            key_lens: None,
            keep: None,
            addend: None,
            state: None,
            y: y.as_mut_slice(),
            lse: Some(lse.as_mut_slice()),
        })?;

        // One part of all keys writes results, several write sums.
        let [queries, keys, values] = [q.upload(&queries)?, q.upload(&keys)?, q.upload(&values)?];
        let nine = vec![T::from_f32(9.0); y.len()];
        let (mut got, mut got_lse) = (q.upload(&nine)?, q.upload(&vec![9.0f32; lse.len()])?);
        let sums = rows * parts * (dim + 2);
        let mut work = if parts == 1 { None } else { Some(q.alloc::<f32>(sums as usize)?) };
        let work = work.as_mut().map(|work| work.view_mut());
        let part = if parts == 1 { 2 * PART } else { PART };
        let launch = q.kernel(self.forward)?.grid([rows.div_ceil(self.rows), parts, 1]);
        let launch = launch.value("p", &words(&p)).value("group", &1u32).value("part", &part);
        let launch = launch.input("q", queries.view()).input("k", keys.view()).input("v", values.view());
        let launch = launch.input_if::<u32>("key_lens", None).input_if::<bool>("keep", None);
        let launch = launch.input_if::<f32>("addend", None).input_if::<StepState>("state", None);
        let launch = launch.output("y", &got.view_mut()).output("lse", &got_lse.view_mut());
        // SAFETY: operands and results have `dim` elements for each row, and the sums of a part two more.
        unsafe { launch.output_if("work", work.as_ref()).launch() }?;
        if let Some(work) = work {
            let launch = q.kernel(self.join)?.cover((rows * dim) as usize);
            let launch = launch.value("p", &words(&p)).value("parts", &(parts as u32)).input("work", work.as_ref());
            // SAFETY: as above; the launch before has written the sums of every part of every row.
            unsafe { launch.output("y", &got.view_mut()).output("lse", &got_lse.view_mut()).launch() }?;
        }

        // Both round weights or results to `T`.
        let wide = |all: &[f32]| all.iter().copied().map(f64::from).collect::<Vec<_>>();
        let narrow = |all: Vec<T>| all.into_iter().map(Real::to_f32).collect::<Vec<_>>();
        let within = if size_of::<T>() == 4 { 2e-5 } else { 2e-2 };
        Failure::unless_close(&wide(&narrow(y)), &narrow(q.download(&got)?), within, within)?;
        Failure::unless_close(&wide(&lse), &q.download(&got_lse)?, 1e-5, 1e-5)
    }
}
