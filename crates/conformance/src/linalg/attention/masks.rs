//! Results and gradients of attention with keys that are left out.

use backend_api::Real;
use core_types::params::attention::{AttentionParams, HeadStrides};

use super::{
    AttentionPass, InputSource,
    forward::dropout,
    hold_forward,
    model::{AttentionSizes, Problem, covered, packed, rows, start},
};
use crate::{Case, Conditioned, Failure, spec::typed};

/// The shape of a mask.
#[derive(Clone, Copy)]
enum MaskShape {
    /// `[batch, heads, queries, keys]`.
    Full,
    /// `[queries, keys]`, for all heads.
    Queries,
    /// `[batch, 1, 1, keys]`, for all queries of a batch.
    Keys,
    /// The full shape, with gaps after rows and batches.
    Gaps,
}

const MASK_SHAPES: [(&str, MaskShape); 4] = [
    ("[batch, heads, queries, keys]", MaskShape::Full),
    ("[queries, keys]", MaskShape::Queries),
    ("[batch, 1, 1, keys]", MaskShape::Keys),
    ("all axes with gaps", MaskShape::Gaps),
];

/// Few and many queries, of short and of long rows: each kind has its own kernels.
///
/// The last tiles of queries and keys are not full.
const KINDS: [(&str, AttentionSizes); 4] = [
    ("few short rows", [2, 2, 1, 5, 41, 8]),
    ("many short rows", [2, 2, 1, 70, 41, 8]),
    ("few long rows", [2, 2, 1, 5, 41, 72]),
    ("many long rows", [2, 2, 1, 70, 41, 72]),
];

impl MaskShape {
    fn strides(self, p: &AttentionParams) -> HeadStrides {
        let head = p.queries * (p.keys + 3);
        match self {
            Self::Full => HeadStrides::by_head(p.heads, p.queries, p.keys),
            Self::Queries => HeadStrides { batch: 0, head: 0, row: p.keys },
            Self::Keys => HeadStrides { batch: p.keys, head: 0, row: 0 },
            Self::Gaps => HeadStrides { batch: p.heads * head + 1, head, row: p.keys + 3 },
        }
    }

    /// A problem whose mask leaves out a quarter of the keys, and all keys of the first row.
    fn problem(self, additive: bool, mut params: AttentionParams) -> Problem {
        params.mask = self.strides(&params);
        let mut random = InputSource::new(11);
        let used = covered(&params.mask, [params.batch, params.heads, params.queries], params.keys);
        let mut keep: Vec<bool> = used.iter().map(|_| !random.word().is_multiple_of(4)).collect();
        keep[..params.keys as usize].fill(false);
        let problem = Problem::new(params, 12);
        if !additive {
            return Problem { keep: Some(keep), ..problem };
        }
        let mut addend = |(&keep, &used): (&bool, &bool)| match (keep, used) {
            (_, false) => f32::NAN,
            (true, true) => random.reals::<f32>(1)[0] * 2.0,
            (false, true) => f32::NEG_INFINITY,
        };
        Problem { addend: Some(keep.iter().zip(&used).map(&mut addend).collect()), ..problem }
    }
}

/// A problem with elements of `bad` in every row that a mask leaves out.
///
/// One key in seven is read, by two queries in three.
pub(super) fn spoilt_by_mask(sizes: AttentionSizes, additive: bool, bad: f32) -> Problem {
    let mut params = packed(sizes);
    params.mask = MaskShape::Queries.strides(&params);
    let (keys, dim) = (params.keys, params.dim as usize);
    let mut problem = Problem::new(params, 16);
    let reads = |query: u64| query % 3 != 1;
    let is_read = |key: u64| key % 7 == 3;
    let keep = (0..params.queries * keys).map(|place| reads(place / keys) && is_read(place % keys));
    if additive {
        problem.addend = Some(keep.map(|keep| if keep { 0.5 } else { f32::NEG_INFINITY }).collect());
    } else {
        problem.keep = Some(keep.collect());
    }
    for at in rows(problem.of_queries()).filter(|&[_, _, query]| !reads(query)) {
        problem.q[start(&params.q, at)..][..dim].fill(bad);
        problem.g[start(&params.y, at)..][..dim].fill(bad);
    }
    for at in rows(problem.of_keys()).filter(|&[_, _, key]| !is_read(key)) {
        problem.k[start(&params.k, at)..][..dim].fill(bad);
        problem.v[start(&params.v, at)..][..dim].fill(bad);
    }
    problem
}

pub(super) fn cases(pass: AttentionPass) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, shape) in MASK_SHAPES {
        for (kind, additive) in [("a keep", false), ("an additive", true)] {
            let name = format!("{kind} mask, {name}");
            cases.push(Case::new(name, move |q| pass.hold::<f32>(q, &shape.problem(additive, packed(pass.sizes())))));
        }
    }
    for additive in [false, true] {
        let name = format!("causal mask, lengths, and {}", if additive { "addends" } else { "flags" });
        cases.extend(typed!(name, all(pass, additive)));
    }
    cases.extend(typed!("causal masks", diagonals(pass)));
    cases.extend(typed!("batches of several lengths", lengths(pass)));
    for (name, sizes) in KINDS {
        cases.extend(typed!(format!("masks and dropout, {name}"), all_with_dropout(pass, sizes)));
        cases.extend(typed!(format!("NaN and infinity where a mask leaves out, {name}"), spoilt(pass, sizes)));
    }
    if matches!(pass, AttentionPass::Forward) {
        for first in [60, 64, 130, 256, 290] {
            cases.push(Case::new(format!("the first {first} keys are left out"), move |q| late(q, first)));
        }
    }
    cases
}

/// All masks at once.
fn all<T: Real>(q: &Conditioned, pass: AttentionPass, additive: bool) -> Result<(), Failure> {
    let params = AttentionParams { causal: 1, causal_offset: 12, ..packed(AttentionPass::Forward.sizes()) };
    let problem = MaskShape::Full.problem(additive, params);
    pass.hold::<T>(q, &Problem { key_lens: Some(vec![17, 15]), ..problem })
}

/// All masks at once, and dropout.
fn all_with_dropout<T: Real>(q: &Conditioned, pass: AttentionPass, sizes: AttentionSizes) -> Result<(), Failure> {
    let params = AttentionParams { causal: 1, causal_offset: 3, dropout: dropout(0.5, 5), ..packed(sizes) };
    let keys = params.keys as u32;
    [false, true].iter().try_for_each(|&additive| {
        let problem = MaskShape::Full.problem(additive, params);
        pass.hold::<T>(q, &Problem { key_lens: Some(vec![keys, keys - 4]), ..problem })
    })
}

fn spoilt<T: Real>(q: &Conditioned, pass: AttentionPass, sizes: AttentionSizes) -> Result<(), Failure> {
    pass.hold::<T>(q, &spoilt_by_mask(sizes, false, f32::NAN))?;
    pass.hold::<T>(q, &spoilt_by_mask(sizes, true, f32::INFINITY))
}

/// Causal masks under which some queries read no key or all.
fn diagonals<T: Real>(q: &Conditioned, pass: AttentionPass) -> Result<(), Failure> {
    let shifts = [-3, -1, 0, 4, 100, i64::MIN, i64::MAX].map(|shift| ([1, 2, 1, 5, 9, 4], shift));
    let long = [
        ([1, 1, 1, 33, 70, 4], 37),
        ([1, 1, 1, 66, 66, 4], 0),
        ([1, 1, 1, 70, 3, 4], -66),
        // A tile with rows that read no key, and others that do.
        ([1, 1, 1, 70, 41, 4], -60),
        ([1, 1, 1, 70, 41, 68], -60),
        ([1, 1, 1, 5, 9, 68], -3),
    ];
    shifts.into_iter().chain(long).try_for_each(|(sizes, causal_offset)| {
        pass.hold::<T>(q, &Problem::new(AttentionParams { causal: 1, causal_offset, ..packed(sizes) }, 14))
    })
}

/// Five batches with numbers of keys below and above nine.
fn lengths<T: Real>(q: &Conditioned, pass: AttentionPass) -> Result<(), Failure> {
    let problem = Problem::new(packed([5, 2, 1, 3, 9, 8]), 13);
    pass.hold::<T>(q, &Problem { key_lens: Some(vec![0, 1, 6, 9, u32::MAX]), ..problem })
}

/// Leaves out the first keys of 300, by flags and by addends, some of them finite.
fn late(q: &Conditioned, first: usize) -> Result<(), Failure> {
    let mut params = packed([1, 1, 1, 3, 300, 4]);
    params.mask = MaskShape::Queries.strides(&params);
    let problem = Problem::new(params, 15);
    let is_late = |place: usize| place % 300 >= first;
    let keep = (0..900).map(is_late).collect();
    hold_forward::<f32>(q, &Problem { keep: Some(keep), ..problem.clone() })?;
    for low in [f32::NEG_INFINITY, -1e9] {
        let addend = (0..900).map(|place| if is_late(place) { 0.5 } else { low }).collect();
        hold_forward::<f32>(q, &Problem { addend: Some(addend), ..problem.clone() })?;
    }
    Ok(())
}
