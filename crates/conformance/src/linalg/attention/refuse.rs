//! Rejected parameters and layouts of attention.

use backend_api::{
    BackendError, Buffer, Queue,
    ops::linalg::{Attention, AttentionBackward, AttentionOps},
};
use core_types::params::attention::{AttentionParams, HeadStrides};

use super::model::packed;
use crate::{Case, Conditioned, Failure};

/// Elements of each buffer: enough for all of the layouts.
const LEN: usize = 1024;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("sizes and switches", sizes),
        Case::new("both kinds of masks", both_masks),
        Case::new("results that overlap", overlaps),
        Case::new("strides that wrap", wraps),
    ]
}

/// Two batches, four heads on two, and three queries on five keys of two elements.
fn params() -> AttentionParams {
    packed([2, 4, 2, 3, 5, 2])
}

/// Runs both passes; the results start and, if the ops refuse, end as ones.
fn refused(q: &Conditioned, what: &str, p: &AttentionParams, masks: bool) -> Result<(), Failure> {
    forward_refused(q, what, p, masks)?;
    backward_refused(q, what, p, masks)
}

fn forward_refused(q: &Conditioned, what: &str, p: &AttentionParams, masks: bool) -> Result<(), Failure> {
    let (x, keep, mut y) = (q.zeros::<f32>(LEN)?, q.zeros::<bool>(LEN)?, q.upload(&[1f32; LEN])?);
    let outcome = q.attention(Attention {
        params: p,
        q: x.view(),
        k: x.view(),
        v: x.view(),
        key_lens: None,
        keep: masks.then(|| keep.view()),
        addend: masks.then(|| x.view()),
        state: None,
        y: y.view_mut(),
        lse: None,
    });
    Failure::unless_refused(what, outcome)?;
    Failure::unless_equal(&[1.0; LEN], &q.download(&y)?)
}

fn backward_refused(q: &Conditioned, what: &str, p: &AttentionParams, masks: bool) -> Result<(), Failure> {
    let ones = || -> Result<_, BackendError> { q.upload(&[1f32; LEN]) };
    let (x, keep) = (q.zeros::<f32>(LEN)?, q.zeros::<bool>(LEN)?);
    let lse = q.zeros::<f32>((p.batch * p.heads * p.queries) as usize)?;
    let (mut dq, mut dk, mut dv) = (ones()?, ones()?, ones()?);
    let outcome = q.attention_backward(AttentionBackward {
        params: p,
        q: x.view(),
        k: x.view(),
        v: x.view(),
        key_lens: None,
        keep: masks.then(|| keep.view()),
        addend: masks.then(|| x.view()),
        state: None,
        y: x.view(),
        lse: lse.view(),
        g: x.view(),
        dq: dq.view_mut(),
        dk: dk.view_mut(),
        dv: dv.view_mut(),
    });
    Failure::unless_refused(what, outcome)?;
    [dq, dk, dv].iter().try_for_each(|d| Failure::unless_equal(&[1.0; LEN], &q.download(d)?))
}

fn sizes(q: &Conditioned) -> Result<(), Failure> {
    let narrow = HeadStrides { batch: 0, head: 0, row: 0 };
    let long = AttentionParams { batch: 1, heads: 1, kv_heads: 1, queries: 1, keys: 1, dim: 129, ..params() };
    refused(
        q,
        "129 elements in a row",
        &AttentionParams { q: narrow, k: narrow, v: narrow, y: narrow, ..long },
        false,
    )?;
    for kv_heads in [0, 3, 8] {
        refused(q, &format!("4 heads on {kv_heads}"), &AttentionParams { kv_heads, ..params() }, false)?;
    }
    refused(q, "a causal mask of 2", &AttentionParams { causal: 2, ..params() }, false)
}

fn both_masks(q: &Conditioned) -> Result<(), Failure> {
    refused(q, "flags and addends", &params(), true)
}

fn overlaps(q: &Conditioned) -> Result<(), Failure> {
    let whole = params().q;
    for (what, strides) in [
        ("batches", HeadStrides { batch: 0, ..whole }),
        ("heads", HeadStrides { head: 1, ..whole }),
        ("rows", HeadStrides { row: 0, ..whole }),
        ("batches inside others", HeadStrides { batch: 23, ..whole }),
    ] {
        forward_refused(q, &format!("y, {what}"), &AttentionParams { y: strides, ..params() }, false)?;
        backward_refused(q, &format!("q, {what}"), &AttentionParams { q: strides, ..params() }, false)?;
        backward_refused(q, &format!("k, {what}"), &AttentionParams { k: strides, ..params() }, false)?;
        backward_refused(q, &format!("v, {what}"), &AttentionParams { v: strides, ..params() }, false)?;
    }
    Ok(())
}

fn wraps(q: &Conditioned) -> Result<(), Failure> {
    let far = HeadStrides { row: u64::MAX, ..params().q };
    refused(q, "queries", &AttentionParams { q: far, ..params() }, false)?;
    refused(q, "keys", &AttentionParams { k: far, ..params() }, false)?;
    refused(q, "values", &AttentionParams { v: far, ..params() }, false)?;
    refused(q, "results", &AttentionParams { y: far, ..params() }, false)
}
