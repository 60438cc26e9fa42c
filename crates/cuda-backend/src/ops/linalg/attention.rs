//! Attention: kernels by length of rows, parts of the keys, and passes of the gradients.

use backend_api::{
    BackendError, Buffer, BufferRef, DType, Queue, Real,
    ops::linalg::{Attention, AttentionBackward},
};
use core_types::params::{attention::AttentionParams, optim::StepState};

use super::elementwise;
use crate::{
    CudaQueue, CudaRef,
    checked::AttentionOps,
    ops::family::{KernelFamily, RowGroup, family, index_bound},
    submit::Launch,
};

/// Kernels for rows of up to 64 elements, and for longer ones.
type ByLength = [KernelFamily; 2];

const FEW: ByLength = [family!("linalg_attention_few64"), family!("linalg_attention_few128")];
const MANY: ByLength = [family!("linalg_attention_many64"), family!("linalg_attention_many128")];
const JOIN: KernelFamily = family!("linalg_attention_join");
const DELTA: KernelFamily = family!("linalg_attention_delta");
const KEYS: ByLength = [family!("linalg_attention_keys64"), family!("linalg_attention_keys128")];
const QUERIES: ByLength = [family!("linalg_attention_queries64"), family!("linalg_attention_queries128")];

/// Rows of a block of the kernels for few and for many queries.
const FEW_ROWS: u64 = 16;
const MANY_ROWS: u64 = 64;
/// Keys of a tile.
const LINES: u64 = 32;
/// The fewest keys of a part, when the keys are split into several parts.
const LEAST_PART: u64 = 256;
/// Most parts of the keys.
const MOST_PARTS: u64 = 64;

impl AttentionOps for CudaQueue {
    fn attention<T: Real>(&self, op: Attention<'_, Self, T>) -> Result<(), BackendError> {
        let Attention { params: p, q, k, v, key_lens, keep, addend, state, y, lse } = op;
        if [p.batch, p.heads, p.queries].contains(&0) {
            return Ok(());
        }
        for len in [p.batch, p.heads, p.queries, p.keys] {
            index_bound("attention", len)?;
        }
        let cut = Cut::new(p);
        let blocks = index_bound("attention", cut.blocks(p))?;

        // All keys, or the parts of the keys.
        let columns = p.dim.max(1);
        let rows = (p.batch * p.heads).saturating_mul(p.queries);
        let sums = rows.saturating_mul(cut.parts.into()).saturating_mul(p.dim + 2);
        let mut work = if cut.parts == 1 { None } else { Some(self.alloc::<f32>(sums as usize)?) };
        let partial = work.as_mut().map(|work| work.view_mut());
        let family = if cut.few { FEW } else { MANY };
        let launch = self.kernel(by_length(family, p).of::<T>())?.grid([blocks.into(), cut.parts.into(), 1]);
        let launch = launch.value("p", &words(p)).value("group", &cut.group).value("part", &cut.part);
        let launch = AttentionViews { q, k, v, key_lens, keep, addend, state }.give(launch);
        let launch = launch.output("y", &y).output_if("lse", lse.as_ref()).output_if("work", partial.as_ref());
        // SAFETY: `Attention::check` verified that strides stay inside the views, that results do not overlap, and the
        // lengths of key_lens, state and lse. Sizes are below 2^31, and no axis that numbers blocks is empty. `work`,
        // given with several parts, has every part of every row.
        unsafe { launch.launch() }?;

        let Some(work) = work else { return Ok(()) };
        let launch = self.kernel(JOIN.of::<T>())?.cover_striding(rows.saturating_mul(columns));
        let launch = launch.value("p", &words(p)).value("parts", &cut.parts).input("work", work.view());
        let launch = launch.output("y", &y).output_if("lse", lse.as_ref());
        // SAFETY: as above; the kernel before it has written all of `work`.
        unsafe { launch.launch() }
    }

    fn attention_backward<T: Real>(&self, op: AttentionBackward<'_, Self, T>) -> Result<(), BackendError> {
        let AttentionBackward { params: p, q, k, v, key_lens, keep, addend, state, y, lse, g, dq, dk, dv } = op;
        if p.batch == 0 || p.dim == 0 {
            return Ok(());
        }
        for len in [p.batch, p.heads, p.kv_heads, p.queries, p.keys] {
            index_bound("attention_backward", len)?;
        }
        let of = AttentionViews { q, k, v, key_lens, keep, addend, state };
        let rows_per_block = gradient_rows::<T>(p.dim);
        let of_keys = (p.batch * p.kv_heads).saturating_mul(p.keys.div_ceil(rows_per_block));
        let of_queries = (p.batch * p.heads).saturating_mul(p.queries.div_ceil(rows_per_block));
        let turns = (p.heads / p.kv_heads.max(1)).saturating_mul(p.queries.div_ceil(LINES));
        for len in [of_keys, of_queries, turns] {
            index_bound("attention_backward", len)?;
        }

        // The products of results and their gradients.
        let rows = lse.len() as u64;
        let mut delta = self.alloc::<f32>(lse.len())?;
        let launch = self.kernel(DELTA.of::<T>())?.grid(RowGroup::Warp.grid(rows));
        let launch = launch.value("p", &words(p)).input("y", y).input("g", g).output("delta", &delta.view_mut());
        // SAFETY: `AttentionBackward::check` verified that strides stay inside y and g. Like `lse`, `delta` has a float
        // for each query of each head.
        unsafe { launch.launch() }?;

        // Blocks of keys, then blocks of queries.
        let launch = self.kernel(by_length(KEYS, p).of::<T>())?.blocks(of_keys).value("p", &words(p));
        let launch = of.give(launch).input("g", g).input("lse", lse).input("delta", delta.view());
        let launch = launch.output("dk", &dk).output("dv", &dv);
        // SAFETY: the check also verified the other views, and that gradients do not overlap; sizes are below 2^31.
        unsafe { launch.launch() }?;
        let launch = self.kernel(by_length(QUERIES, p).of::<T>())?.blocks(of_queries).value("p", &words(p));
        let launch = of.give(launch).input("g", g).input("lse", lse).input("delta", delta.view());
        let launch = launch.output("dq", &dq);
        // SAFETY: as above.
        unsafe { launch.launch() }
    }
}

/// The views that both passes read.
#[derive(Clone, Copy, Debug)]
struct AttentionViews<'a, T> {
    q: CudaRef<'a, T>,
    k: CudaRef<'a, T>,
    v: CudaRef<'a, T>,
    key_lens: Option<CudaRef<'a, u32>>,
    keep: Option<CudaRef<'a, bool>>,
    addend: Option<CudaRef<'a, f32>>,
    state: Option<CudaRef<'a, StepState>>,
}

impl<'a, T: Real> AttentionViews<'a, T> {
    /// Gives the views to a launch.
    fn give(&self, launch: Launch<'a>) -> Launch<'a> {
        let launch = launch.input("q", self.q).input("k", self.k).input("v", self.v);
        let launch = launch.input_if("key_lens", self.key_lens).input_if("keep", self.keep);
        launch.input_if("addend", self.addend).input_if("state", self.state)
    }
}

/// The kernels for the length of a row.
fn by_length([short, long]: ByLength, p: &AttentionParams) -> KernelFamily {
    if p.dim > 64 { long } else { short }
}

/// Keys or queries of a block of a gradient: fewer if they are long and of 32 bits.
fn gradient_rows<T: Real>(dim: u64) -> u64 {
    if dim > 64 && T::DTYPE == DType::F32 { 32 } else { 64 }
}

/// The division of a forward pass into blocks.
///
/// Parts of the keys, and so the order of sums, depend on the numbers of keys and queries alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    /// Whether a block takes 16 rows, and not 64.
    few: bool,
    /// Heads whose queries are the rows of a block.
    group: u32,
    /// Parts of the keys, at least 1.
    parts: u32,
    /// Keys of every part but the last, which may have fewer.
    part: u32,
}

impl Cut {
    /// The division for sizes below 2^31; only `keys` and `dim` may be 0.
    fn new(p: &AttentionParams) -> Self {
        let few = p.queries <= FEW_ROWS;
        let sharing = p.heads / p.kv_heads;
        let group = if sharing * p.queries <= FEW_ROWS { sharing } else { 1 };
        let least = if few { LEAST_PART } else { p.keys };
        let part = p.keys.div_ceil(MOST_PARTS).max(least).next_multiple_of(LINES).max(LINES);
        Self { few, group: group as u32, parts: p.keys.div_ceil(part).max(1) as u32, part: part as u32 } // at most 2^31
    }

    /// Blocks of one part.
    fn blocks(self, p: &AttentionParams) -> u64 {
        let (group, rows) = (u64::from(self.group), if self.few { FEW_ROWS } else { MANY_ROWS });
        (p.batch * (p.heads / group)).saturating_mul((group * p.queries).div_ceil(rows))
    }
}

/// The record in words of eight bytes, its padding zero. Hosts of GPUs are little-endian.
fn words(p: &AttentionParams) -> [u64; 28] {
    let [q, k, v, y, mask] = [p.q, p.k, p.v, p.y, p.mask].map(|strides| [strides.batch, strides.head, strides.row]);
    let sizes = [p.batch, p.heads, p.kv_heads, p.queries, p.keys, p.dim];
    let scores = [p.causal_offset.cast_unsigned(), u64::from(p.causal) | u64::from(p.scale.to_bits()) << 32];
    let dropout = elementwise::words(&p.dropout);
    let parts: [&[u64]; 8] = [&sizes, &q, &k, &v, &y, &mask, &scores, &dropout];
    let mut words = [0; 28];
    for (word, value) in words.iter_mut().zip(parts.into_iter().flatten()) {
        *word = *value;
    }
    words
}

const _: () = assert!(size_of::<AttentionParams>() == size_of::<[u64; 28]>());

#[cfg(test)]
mod tests {
    use core_types::params::{attention::HeadStrides, elementwise::DropoutParams};
    use half::{bf16, f16};

    use super::*;

    const ZERO: HeadStrides = HeadStrides { batch: 0, head: 0, row: 0 };
    const PARAMS: AttentionParams = AttentionParams {
        batch: 2,
        heads: 8,
        kv_heads: 2,
        queries: 1,
        keys: 1,
        dim: 8,
        q: ZERO,
        k: ZERO,
        v: ZERO,
        y: ZERO,
        mask: ZERO,
        causal_offset: -2,
        causal: 1,
        scale: 0.5,
        dropout: DropoutParams { seed: 1, site: 2, step: 3, first: 4, threshold: 5, scale: 1.0 },
    };

    #[test]
    fn keys_are_cut_by_their_number_if_queries_are_few() {
        for ([queries, keys], few, group, parts, part, blocks) in [
            // One block for the four heads that share keys, while their rows fit.
            ([1, 0], true, 4, 1, 256, 4),
            ([4, 256], true, 4, 1, 256, 4),
            ([5, 257], true, 1, 2, 256, 16),
            ([16, 16_384], true, 1, 64, 256, 16),
            ([1, 16_385], true, 4, 57, 288, 4),
            ([1, (1 << 31) - 1], true, 4, 64, 1 << 25, 4),
            // All keys for more queries.
            ([17, 0], false, 1, 1, 32, 16),
            ([17, 16_385], false, 1, 1, 16_416, 16),
            ([65, (1 << 31) - 1], false, 1, 1, 1 << 31, 32),
        ] {
            let p = AttentionParams { queries, keys, ..PARAMS };
            let cut = Cut::new(&p);
            assert_eq!(cut, Cut { few, group, parts, part }, "{queries} {keys}");
            assert_eq!(cut.blocks(&p), blocks, "{queries} {keys}");
            let others = AttentionParams { batch: 1, heads: 1, kv_heads: 1, ..p };
            assert_eq!((Cut::new(&others).parts, Cut::new(&others).part), (parts, part), "{queries} {keys}");
        }
    }

    #[test]
    fn blocks_of_gradients_have_fewer_rows_if_those_are_long_and_of_32_bits() {
        for (dim, of_words) in [(1, 64), (64, 64), (65, 32), (128, 32)] {
            assert_eq!(gradient_rows::<f32>(dim), of_words, "{dim}");
            assert_eq!((gradient_rows::<f16>(dim), gradient_rows::<bf16>(dim)), (64, 64), "{dim}");
        }
    }

    #[test]
    fn the_record_is_passed_word_by_word() {
        let strides = |first| HeadStrides { batch: first, head: first + 1, row: first + 2 };
        let [q, k, v, y, mask] = [10, 20, 30, 40, 50].map(strides);
        let scale = f32::from_bits(7);
        let expected = [
            [2, 8, 2, 1, 1, 8, 10],
            [11, 12, 20, 21, 22, 30, 31],
            [32, 40, 41, 42, 50, 51, 52],
            [u64::MAX - 1, 1 | 7 << 32, 1, 2 | 3 << 32, 4, 5, 0x3f80_0000],
        ];
        assert_eq!(words(&AttentionParams { q, k, v, y, mask, scale, ..PARAMS }).as_slice(), expected.as_flattened());
    }
}
