//! Results of attention for sizes, groups of heads, layouts, dropout, and in other batches.

use backend_api::Real;
use core_types::params::{
    attention::{AttentionParams, HeadStrides},
    elementwise::DropoutParams,
};

use super::{
    AttentionPass, batches, hold_forward,
    model::{AttentionSizes, Problem, covered, packed, rows, start},
    run_forward,
};
use crate::{Case, Conditioned, Failure, spec::typed};

/// Queries, keys and dimensions, around the sizes of tiles and of vectors.
pub(super) const ROWS: [[u64; 3]; 21] = [
    [1, 1, 1],
    [1, 2, 3],
    [5, 7, 8],
    [7, 5, 16],
    [2, 33, 17],
    [3, 31, 33],
    [15, 16, 64],
    [17, 15, 65],
    [4, 41, 96],
    [6, 3, 100],
    [2, 5, 127],
    [3, 4, 128],
    [63, 64, 4],
    [64, 65, 4],
    [65, 63, 2],
    [1, 129, 16],
    [130, 1, 4],
    [2, 257, 8],
    [9, 300, 4],
    [1, 1030, 8],
    [66, 35, 68],
];

/// Batches, heads of queries, and heads of keys.
const GROUPS: [[u64; 3]; 4] = [[2, 3, 3], [2, 6, 2], [1, 4, 1], [3, 8, 4]];

/// Shapes without a product.
pub(super) const EMPTY: [(&str, AttentionSizes); 8] = [
    ("no batch", [0, 2, 1, 3, 4, 5]),
    ("no head", [2, 0, 0, 3, 4, 5]),
    ("no head of queries", [2, 0, 3, 3, 4, 5]),
    ("no query", [2, 2, 1, 0, 4, 5]),
    ("no key", [2, 2, 1, 3, 0, 5]),
    ("no element in a row", [2, 2, 1, 3, 4, 0]),
    ("no element in a row, two parts of keys", [2, 2, 1, 3, 300, 0]),
    ("no element in a row, three parts of keys", [2, 2, 1, 3, 600, 0]),
];

/// The order of axes in memory, and gaps between rows.
#[derive(Clone, Copy)]
enum Placement {
    /// Row-major `[batch, heads, rows, dim]`.
    ByHead,
    /// A third of row-major `[batch, rows, 3, heads, dim]`.
    Interleaved,
    /// Rows that begin at any address, with gaps.
    Unaligned,
}

const PLACEMENTS: [(&str, Placement); 3] = [
    ("heads before rows", Placement::ByHead),
    ("interleaved with two others", Placement::Interleaved),
    ("gaps after rows, heads and batches", Placement::Unaligned),
];

impl Placement {
    fn strides(self, rows: u64, heads: u64, dim: u64) -> HeadStrides {
        match self {
            Self::ByHead => HeadStrides::by_head(heads, rows, dim),
            Self::Interleaved => HeadStrides { batch: rows * 3 * heads * dim, head: dim, row: 3 * heads * dim },
            Self::Unaligned => {
                let (head, row) = (dim + 1, heads * (dim + 1) + 1);
                HeadStrides { batch: rows * row + 3, head, row }
            }
        }
    }

    /// Parameters with all tensors laid out like this.
    fn params(self, sizes: AttentionSizes) -> AttentionParams {
        let [_, heads, kv_heads, queries, keys, dim] = sizes;
        let (of_queries, of_keys) = (self.strides(queries, heads, dim), self.strides(keys, kv_heads, dim));
        AttentionParams { q: of_queries, k: of_keys, v: of_keys, y: of_queries, ..packed(sizes) }
    }
}

/// Dropout of probability `p` that counts weights from `first` on.
pub(super) fn dropout(p: f64, first: u64) -> DropoutParams {
    let scale = if p == 1.0 { 0.0 } else { (1.0 / (1.0 - p)) as f32 };
    DropoutParams { seed: 0x0123_4567_89ab_cdef, site: 3, step: 9, first, threshold: (p * 2f64.powi(32)) as u64, scale }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for [queries, keys, dim] in ROWS {
        let name = format!("{queries} queries, {keys} keys of {dim}");
        cases.extend(typed!(name, sized(AttentionPass::Forward, [1, 2, 1, queries, keys, dim])));
    }
    for batch in batches() {
        let sizes = [batch as u64, 1, 1, 1, 2, 1];
        let case = Case::new(format!("{batch} batches"), move |q| sized::<f32>(q, AttentionPass::Forward, sizes));
        // A simulated device computes a whole tile for each batch.
        cases.push(if batch > 64 { case.on_elements(1 << 17) } else { case });
    }
    for (name, sizes) in EMPTY {
        cases.extend(typed!(name, sized(AttentionPass::Forward, sizes)));
    }
    cases.extend(layouts(AttentionPass::Forward));
    cases.extend(typed!("keys and values that batches and heads share", shared()));
    for (number, steps) in [[3, 2], [u64::from(u32::MAX), 1 << 32], [u64::MAX, 7]].into_iter().enumerate() {
        let name = format!("dropout by the record of an optimizer, {number}");
        cases.push(Case::new(name, move |q| drops::<f32>(q, AttentionPass::Forward, 0.5, 0, Some(steps))));
    }
    cases.extend(typed!("a batch or a head alone", alone(5, 70)));
    cases.extend(typed!("a batch or a head alone, one query", alone(1, 530)));
    cases.push(Case::new("without the logarithms of the sums", without_lse));
    cases
}

/// Cases of groups of heads, of placements, and of dropout.
pub(super) fn layouts(pass: AttentionPass) -> Vec<Case> {
    let mut cases = Vec::new();
    for [batch, heads, kv_heads] in GROUPS {
        let name = format!("{batch} batches, {heads} heads on {kv_heads}");
        cases.extend(typed!(name, sized(pass, [batch, heads, kv_heads, 5, 9, 8])));
    }
    for (name, placement) in PLACEMENTS {
        cases.extend(typed!(name, placed(pass, placement)));
    }
    for (p, first) in [(0.25, 0), (0.5, 5), (1.0, 0)] {
        cases.extend(typed!(format!("dropout of {p}, from weight {first} on"), drops(pass, p, first, None)));
    }
    cases
}

pub(super) fn sized<T: Real>(q: &Conditioned, pass: AttentionPass, sizes: AttentionSizes) -> Result<(), Failure> {
    pass.hold::<T>(q, &Problem::new(packed(sizes), 1))
}

fn placed<T: Real>(q: &Conditioned, pass: AttentionPass, placement: Placement) -> Result<(), Failure> {
    pass.hold::<T>(q, &Problem::new(placement.params([2, 4, 2, 5, 9, 7]), 2))?;
    pass.hold::<T>(q, &Problem::new(placement.params([2, 2, 1, 4, 7, 16]), 3))
}

/// Dropout that counts weights from `first` on, after the given steps of an optimizer.
pub(super) fn drops<T: Real>(
    q: &Conditioned,
    pass: AttentionPass,
    p: f64,
    first: u64,
    steps: Option<[u64; 2]>,
) -> Result<(), Failure> {
    let params = AttentionParams { dropout: dropout(p, first), ..packed(pass.sizes()) };
    pass.hold::<T>(q, &Problem { steps, ..Problem::new(params, 5) })
}

fn shared<T: Real>(q: &Conditioned) -> Result<(), Failure> {
    let mut params = packed([3, 4, 4, 5, 7, 8]);
    (params.k, params.v) = (HeadStrides { batch: 0, head: 0, row: 8 }, HeadStrides { batch: 0, head: 8, row: 0 });
    hold_forward::<T>(q, &Problem::new(params, 4))
}

/// Compares each batch and head, computed alone, with the whole problem, bit for bit.
fn alone<T: Real>(q: &Conditioned, queries: u64, keys: u64) -> Result<(), Failure> {
    const DIM: usize = 8;
    let whole = Problem::new(packed([2, 4, 2, queries, keys, DIM as u64]), 6);
    let (y, lse) = run_forward::<T>(q, &whole, true)?;
    let p = &whole.params;
    for (batch, head) in (0..p.batch).flat_map(|batch| (0..p.heads).map(move |head| (batch, head))) {
        // The strides stay, and views begin at the first element of the batch or of the head.
        let mut one = whole.clone();
        one.params = AttentionParams { batch: 1, ..*p };
        if batch % 2 == 0 {
            (one.params.heads, one.params.kv_heads) = (1, 1);
        } else if head > 0 {
            continue;
        }
        let heads = one.params.heads;
        one.q.drain(..start(&p.q, [batch, head, 0]));
        one.k.drain(..start(&p.k, [batch, head / 2, 0]));
        one.v.drain(..start(&p.v, [batch, head / 2, 0]));
        one.q.truncate(covered(&p.q, [1, heads, p.queries], p.dim).len());
        one.k.truncate(covered(&p.k, [1, one.params.kv_heads, p.keys], p.dim).len());
        one.v.truncate(one.k.len());
        let (got_y, got_lse) = run_forward::<T>(q, &one, true)?;
        for [_, own, query] in rows([1, heads, p.queries]) {
            let (from, to) = (start(&p.y, [batch, head + own, query]), start(&p.y, [0, own, query]));
            Failure::unless_equal(&y[from..][..DIM], &got_y[to..][..DIM])?;
            let place = |batch: u64, heads: u64, head: u64| ((batch * heads + head) * p.queries + query) as usize;
            let (from, to) = (place(batch, p.heads, head + own), place(0, heads, own));
            Failure::unless_equal(&[lse[from]], &[got_lse[to]])?;
        }
    }
    Ok(())
}

fn without_lse(q: &Conditioned) -> Result<(), Failure> {
    let problem = Problem::new(packed([2, 2, 1, 5, 9, 8]), 7);
    let (expected, _) = run_forward::<f32>(q, &problem, true)?;
    Failure::unless_equal(&expected, &run_forward::<f32>(q, &problem, false)?.0)
}
