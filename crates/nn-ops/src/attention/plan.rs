//! Checked attention, forward and backward.

use backend_api::{
    Queue, Real, Ref,
    ops::linalg::{Attention, AttentionBackward},
};
use core_types::params::{
    attention::{AttentionParams, HeadStrides, MAX_HEAD_DIM},
    elementwise::DropoutParams,
    optim::StepState,
    recurrent::StateMask,
};

use super::inputs::{
    AttentionGradients, AttentionInputs, AttentionMask, AttentionOptions, AttentionSaved, AttentionShape, DropoutStep,
};
use crate::{
    AttentionOps,
    elementwise::DropoutSite,
    error::{NnError, Result},
    tensor::{Layout, Planned, Tensor, TensorMut, TensorRef},
};

const OP: &str = "attention";
const BACKWARD: &str = "attention_backward";

/// Scaled dot-product attention of many heads, forward and backward.
///
/// `y_t = sum_s softmax_s(scale (q_t . k_s) + addend_ts) v_s` in every head; see [`Attention`] for
/// the masks and the special values. A query that reads no key gives zeros. No memory grows with
/// `queries x keys`: scores are computed in blocks, and again in the backward pass (Dao et al.,
/// FlashAttention, arXiv 2205.14135).
///
/// Scores and sums are f32 for every element type. The order of each sum depends only on the shape,
/// and the result of a query has the same bits in every batch.
///
/// ```
/// use nn_ops::{
///     AttentionGradients, AttentionInputs, AttentionOptions, AttentionPlan, AttentionSaved, AttentionShape, Tensor,
/// };
///
/// let queue = runtime::cpu()?;
/// let sizes = AttentionShape { batch: 1, heads: 1, kv_heads: 1, queries: 2, keys: 2, dim: 2 };
/// let plan = AttentionPlan::new(sizes, AttentionOptions { causal: Some(0), ..AttentionOptions::default() })?;
/// let shape = [1, 2, 1, 2];
/// let q = Tensor::from_values(&queue, &shape, &[0.0f32; 4])?; // all scores are equal
/// let k = Tensor::from_values(&queue, &shape, &[1.0f32, 2.0, -1.0, 0.5])?;
/// let v = Tensor::from_values(&queue, &shape, &[1.0f32, 2.0, 3.0, 4.0])?;
/// let (mut y, mut lse) = (Tensor::alloc(&queue, &shape)?, plan.lse(&queue)?);
/// let inputs = AttentionInputs::new(q.at(), k.at(), v.at());
/// plan.forward(&queue, inputs, y.at_mut(), Some(lse.at_mut()))?;
/// assert_eq!(y.values(&queue)?, [1.0, 2.0, 2.0, 3.0]); // the first value, then the mean
///
/// let g = Tensor::from_values(&queue, &shape, &[1.0f32; 4])?;
/// let (mut dq, mut dk) = (Tensor::alloc(&queue, &shape)?, Tensor::alloc(&queue, &shape)?);
/// let mut dv = Tensor::alloc(&queue, &shape)?;
/// let saved = AttentionSaved { y: y.at(), lse: lse.at() };
/// let gradients = AttentionGradients { q: dq.at_mut(), k: dk.at_mut(), v: dv.at_mut() };
/// plan.backward(&queue, inputs, saved, g.at(), gradients)?;
/// let dv = dv.values(&queue)?; // the first value counts fully for one query, half for the other
/// assert!(dv.iter().zip([1.5, 1.5, 0.5, 0.5]).all(|(dv, expected)| (dv - expected).abs() < 1e-6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionPlan {
    shape: AttentionShape,
    scale: f32,
    causal: Option<i64>,
    dropout: Option<DropoutSite>,
    lse: Layout,
    lens: Layout,
}

/// The operands of an op, with their strides in its parameters.
struct PlanOperands<'s, Q: Queue + 's, T: Real> {
    params: AttentionParams,
    q: Ref<'s, Q, T>,
    k: Ref<'s, Q, T>,
    v: Ref<'s, Q, T>,
    key_lens: Option<Ref<'s, Q, u32>>,
    keep: Option<Ref<'s, Q, bool>>,
    addend: Option<Ref<'s, Q, f32>>,
    state: Option<Ref<'s, Q, StepState>>,
}

impl AttentionPlan {
    /// A plan for tensors of `shape`.
    ///
    /// # Errors
    /// [`NnError::Parameter`] for a row of more than 128 elements, if `heads` is no multiple of
    /// `kv_heads`, and for a scale that is not finite; [`NnError::Overflow`] if no tensor has the
    /// shape.
    pub fn new(shape: AttentionShape, options: AttentionOptions) -> Result<Self> {
        let AttentionShape { batch, heads, kv_heads, queries, keys, dim } = shape;
        if dim as u64 > MAX_HEAD_DIM {
            return Err(NnError::parameter(OP, "dim", "at most 128", dim as f64));
        }
        if heads > 0 && heads.checked_rem(kv_heads) != Some(0) {
            return Err(NnError::parameter(OP, "heads", "a multiple of kv_heads", heads as f64));
        }
        let scale = options.scale.unwrap_or((1.0 / (dim.max(1) as f64).sqrt()) as f32);
        if !scale.is_finite() {
            return Err(NnError::parameter(OP, "scale", "finite", scale));
        }
        Layout::of(OP, &[batch, queries, heads, dim])?;
        Layout::of(OP, &[batch, keys, kv_heads, dim])?;
        let (lse, lens) = (Layout::of(OP, &[batch, heads, queries])?, Layout::of(OP, &[batch])?);
        Ok(Self { shape, scale, causal: options.causal, dropout: options.dropout, lse, lens })
    }

    /// The sizes.
    #[must_use]
    pub fn shape(&self) -> AttentionShape {
        self.shape
    }

    pub(crate) fn lse_layout(&self) -> &Layout {
        &self.lse
    }

    /// Room for the logarithms of the sums, `[batch, heads, queries]`.
    ///
    /// # Errors
    /// [`NnError::Backend`] if memory is short.
    pub fn lse<Q: Queue>(&self, q: &Q) -> Result<Tensor<Q, f32>> {
        Tensor::alloc(q, self.lse.shape())
    }

    /// Writes the results of all queries to `y`, of the shape of the queries.
    ///
    /// `lse` receives `ln sum_s exp(score_ts)` of each query, which the backward pass reads.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] for a tensor of another shape, [`NnError::Broadcast`] for a mask
    /// that does not fit, [`NnError::InvalidStride`] for rows without unit stride and for lengths
    /// or `lse` with gaps; [`NnError::Backend`] after that.
    pub fn forward<Q: AttentionOps, T: Real>(
        &self,
        q: &Q,
        inputs: AttentionInputs<'_, Q, T>,
        y: TensorMut<'_, Q, T>,
        lse: Option<TensorMut<'_, Q, f32>>,
    ) -> Result<()> {
        let PlanOperands { mut params, q: queries, k, v, key_lens, keep, addend, state } = self.operands(OP, inputs)?;
        let layout = *y.layout();
        params.y = head_strides(OP, "y", self.of_queries(), &layout)?;
        let (y, lse) = (y.planned(OP, "y", &layout)?, lse.planned(OP, "lse", &self.lse)?);
        Ok(q.attention(Attention { params: &params, q: queries, k, v, key_lens, keep, addend, state, y, lse })?)
    }

    /// Writes the gradients with respect to queries, keys and values.
    ///
    /// `inputs` and `saved` are the inputs and the results of the forward pass. `g` is the gradient
    /// of the loss with respect to y, with the strides of y. Keys that no query reads get zeros.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and [`NnError::InvalidStride`] for a gradient that has other
    /// strides than its tensor.
    pub fn backward<Q: AttentionOps, T: Real>(
        &self,
        q: &Q,
        inputs: AttentionInputs<'_, Q, T>,
        saved: AttentionSaved<'_, Q, T>,
        g: TensorRef<'_, Q, T>,
        gradients: AttentionGradients<'_, Q, T>,
    ) -> Result<()> {
        let PlanOperands { mut params, q: queries, k, v, key_lens, keep, addend, state } =
            self.operands(BACKWARD, inputs)?;
        let AttentionGradients { q: dq, k: dk, v: dv } = gradients;

        // Gradients have the strides of their tensors: the op has one set for both.
        let y_layout = *saved.y.layout();
        params.y = head_strides(BACKWARD, "y", self.of_queries(), &y_layout)?;
        let layouts = [*g.layout(), *dq.layout(), *dk.layout(), *dv.layout()];
        same_strides("g", self.of_queries(), &layouts[0], &params.y)?;
        same_strides("dq", self.of_queries(), &layouts[1], &params.q)?;
        same_strides("dk", self.of_keys(), &layouts[2], &params.k)?;
        same_strides("dv", self.of_keys(), &layouts[3], &params.v)?;

        let y = saved.y.planned(BACKWARD, "y", &y_layout)?;
        let lse = saved.lse.planned(BACKWARD, "lse", &self.lse)?;
        let (g, dq) = (g.planned(BACKWARD, "g", &layouts[0])?, dq.planned(BACKWARD, "dq", &layouts[1])?);
        let (dk, dv) = (dk.planned(BACKWARD, "dk", &layouts[2])?, dv.planned(BACKWARD, "dv", &layouts[3])?);
        let (params, queue, q) = (&params, q, queries);
        let op = AttentionBackward { params, q, k, v, key_lens, keep, addend, state, y, lse, g, dq, dk, dv };
        Ok(queue.attention_backward(op)?)
    }

    /// The shape of queries and results.
    fn of_queries(&self) -> [usize; 4] {
        [self.shape.batch, self.shape.queries, self.shape.heads, self.shape.dim]
    }

    /// The shape of keys and values.
    fn of_keys(&self) -> [usize; 4] {
        [self.shape.batch, self.shape.keys, self.shape.kv_heads, self.shape.dim]
    }

    /// Checks the operands; the strides of y are left at 0.
    fn operands<'s, 'a: 's, Q: Queue + 'a, T: Real>(
        &self,
        op: &'static str,
        inputs: AttentionInputs<'a, Q, T>,
    ) -> Result<PlanOperands<'s, Q, T>> {
        let AttentionInputs { q, k, v, mask, key_lens, step } = inputs;
        let layouts = [*q.layout(), *k.layout(), *v.layout()];
        let mut params = self.params(match step {
            DropoutStep::At(step) => step,
            DropoutStep::Training(_) => 0,
        });
        params.q = head_strides(op, "q", self.of_queries(), &layouts[0])?;
        params.k = head_strides(op, "k", self.of_keys(), &layouts[1])?;
        params.v = head_strides(op, "v", self.of_keys(), &layouts[2])?;
        let (mut keep, mut addend) = (None, None);
        match mask {
            AttentionMask::None => {}
            AttentionMask::Keep(given) => {
                let own = *given.layout();
                params.mask = self.mask_strides(op, &own)?;
                keep = Some(given.planned(op, "mask", &own)?);
            }
            AttentionMask::Additive(given) => {
                let own = *given.layout();
                params.mask = self.mask_strides(op, &own)?;
                addend = Some(given.planned(op, "mask", &own)?);
            }
        }
        let state = match step {
            DropoutStep::Training(optimizer) if self.dropout.is_some() => Some(optimizer.record()),
            DropoutStep::Training(_) | DropoutStep::At(_) => None,
        };
        Ok(PlanOperands {
            params,
            q: q.planned(op, "q", &layouts[0])?,
            k: k.planned(op, "k", &layouts[1])?,
            v: v.planned(op, "v", &layouts[2])?,
            key_lens: key_lens.planned(op, "key_lens", &self.lens)?,
            keep,
            addend,
            state,
        })
    }

    /// The launch record, with strides of 0.
    fn params(&self, step: u32) -> AttentionParams {
        const NONE: HeadStrides = HeadStrides { batch: 0, head: 0, row: 0 };
        let AttentionShape { batch, heads, kv_heads, queries, keys, dim } = self.shape;
        let dropped = self.dropout.map_or(StateMask::NONE, |at| at.dropout.mask(at.site, step));
        let StateMask { seed, threshold, site, step, scale, .. } = dropped;
        AttentionParams {
            batch: batch as u64,
            heads: heads as u64,
            kv_heads: kv_heads as u64,
            queries: queries as u64,
            keys: keys as u64,
            dim: dim as u64,
            q: NONE,
            k: NONE,
            v: NONE,
            y: NONE,
            mask: NONE,
            causal_offset: self.causal.unwrap_or(0),
            causal: u32::from(self.causal.is_some()),
            scale: self.scale,
            dropout: DropoutParams { seed, site, step, first: 0, threshold, scale },
        }
    }

    /// The strides of a mask that is broadcast to all scores.
    fn mask_strides(&self, op: &'static str, own: &Layout) -> Result<HeadStrides> {
        let AttentionShape { batch, heads, queries, keys, .. } = self.shape;
        let shape = [batch, heads, queries, keys];
        let [batch, head, row] = outer_strides(op, "mask", shape, &own.broadcast_by(op, &shape)?)?;
        Ok(HeadStrides { batch, head, row })
    }
}

/// The strides of a tensor of shape `[batch, rows, heads, dim]`.
fn head_strides(op: &'static str, tensor: &'static str, shape: [usize; 4], layout: &Layout) -> Result<HeadStrides> {
    let [batch, row, head] = outer_strides(op, tensor, shape, layout)?;
    Ok(HeadStrides { batch, head, row })
}

/// The strides of all axes but the last, which must have unit stride.
///
/// They are 0 along axes of one index, whose strides do not matter.
fn outer_strides(op: &'static str, tensor: &'static str, shape: [usize; 4], layout: &Layout) -> Result<[u64; 3]> {
    if layout.shape() != shape {
        return Err(NnError::shape(op, tensor, shape, layout));
    }
    if layout.span() == 0 {
        return Ok([0; 3]);
    }
    if !has_unit_rows(layout) {
        let (strides, why) = (layout.strides().to_vec(), "the last axis does not have unit stride");
        return Err(NnError::InvalidStride { op, tensor, strides, why });
    }
    let [a, b, c, ..] = layout.six_strides();
    let used = |stride: u64, len: usize| if len > 1 { stride } else { 0 };
    Ok([used(a, shape[0]), used(b, shape[1]), used(c, shape[2])])
}

/// Whether the elements along the last axis are neighbours in memory.
pub(crate) fn has_unit_rows(layout: &Layout) -> bool {
    match (layout.shape().last(), layout.strides().last()) {
        (Some(&len), Some(&stride)) => len <= 1 || stride == 1,
        _ => true,
    }
}

/// Refuses a gradient whose layout differs from the layout of its tensor.
fn same_strides(tensor: &'static str, shape: [usize; 4], layout: &Layout, expected: &HeadStrides) -> Result<()> {
    if head_strides(BACKWARD, tensor, shape, layout)? == *expected {
        return Ok(());
    }
    let (strides, why) = (layout.strides().to_vec(), "a gradient has the strides of its tensor");
    Err(NnError::InvalidStride { op: BACKWARD, tensor, strides, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: AttentionShape = AttentionShape { batch: 2, heads: 4, kv_heads: 2, queries: 3, keys: 5, dim: 2 };

    fn plan(shape: AttentionShape) -> Result<AttentionPlan, NnError> {
        AttentionPlan::new(shape, AttentionOptions::default())
    }

    #[test]
    fn impossible_sizes_and_scales_are_refused_by_name() {
        let refused = |shape| plan(shape).unwrap_err().to_string();
        let long = refused(AttentionShape { dim: 129, ..SIZES });
        assert_eq!(long, "`attention`: dim must be at most 128, got 129");
        let expected = "`attention`: heads must be a multiple of kv_heads, got 4";
        for kv_heads in [0, 3, 8] {
            assert_eq!(refused(AttentionShape { kv_heads, ..SIZES }), expected);
        }
        let far = plan(AttentionShape { keys: usize::MAX, ..SIZES });
        assert_eq!(far, Err(NnError::Overflow { op: "attention" }));
        for scale in [f32::NAN, f32::INFINITY] {
            let options = AttentionOptions { scale: Some(scale), ..AttentionOptions::default() };
            assert!(matches!(AttentionPlan::new(SIZES, options), Err(NnError::Parameter { name: "scale", .. })));
        }
        for shape in [AttentionShape { heads: 0, kv_heads: 0, ..SIZES }, AttentionShape { dim: 0, keys: 0, ..SIZES }] {
            assert!(plan(shape).is_ok());
        }
        assert_eq!(plan(AttentionShape { dim: 64, ..SIZES }).unwrap().scale, 0.125);
    }

    fn laid_out<Q: Queue>(tensor: &Tensor<Q, f32>, layout: Layout) -> Result<TensorRef<'_, Q, f32>, NnError> {
        TensorRef::new(tensor.at().view(), layout)
    }

    /// Runs both passes with a mask, after a change of layouts.
    ///
    /// The layouts are in the order q, k, v, y, g, dq, dk, dv.
    fn run(mask: Option<&[usize]>, change: impl FnOnce(&mut [Layout; 8])) -> Result<(), NnError> {
        let queue = runtime::cpu().unwrap();
        let plan = plan(SIZES)?;
        let (rows, keys) = (Layout::contiguous(&[2, 3, 4, 2])?, Layout::contiguous(&[2, 5, 2, 2])?);
        let mut layouts = [rows, keys, keys, rows, rows, rows, keys, keys];
        change(&mut layouts);
        let new = || Tensor::from_values(&queue, &[64], &[0.5f32; 64]);
        let [q, k, v, g] = [new()?, new()?, new()?, new()?];
        let [mut y, mut dq, mut dk, mut dv] = [new()?, new()?, new()?, new()?];
        let mut lse = plan.lse(&queue)?;
        let keep = Tensor::from_values(&queue, &[120], &[true; 120])?;
        let mut inputs =
            AttentionInputs::new(laid_out(&q, layouts[0])?, laid_out(&k, layouts[1])?, laid_out(&v, layouts[2])?);
        if let Some(shape) = mask {
            inputs.mask = AttentionMask::Keep(TensorRef::contiguous(keep.at().view(), shape)?);
        }
        plan.forward(&queue, inputs, TensorMut::new(y.at_mut().into_view(), layouts[3])?, Some(lse.at_mut()))?;
        let saved = AttentionSaved { y: laid_out(&y, layouts[3])?, lse: lse.at() };
        let gradients = AttentionGradients {
            q: TensorMut::new(dq.at_mut().into_view(), layouts[5])?,
            k: TensorMut::new(dk.at_mut().into_view(), layouts[6])?,
            v: TensorMut::new(dv.at_mut().into_view(), layouts[7])?,
        };
        plan.backward(&queue, inputs, saved, laid_out(&g, layouts[4])?, gradients)
    }

    #[test]
    fn strides_are_free_but_for_the_last_axis_and_gradients_follow_their_tensors() {
        let by_head = Layout::contiguous(&[2, 4, 3, 2]).unwrap().permuted(&[0, 2, 1, 3]).unwrap();
        assert_eq!(run(None, |_| ()), Ok(()));
        assert_eq!(run(None, |layouts| [layouts[0], layouts[5]] = [by_head; 2]), Ok(()));
        let apart = |changed: usize| match run(None, |layouts| layouts[changed] = by_head) {
            Err(NnError::InvalidStride { op: "attention_backward", tensor, why, .. }) => (tensor, why),
            other => panic!("{other:?}"),
        };
        for (changed, tensor) in [(0, "dq"), (3, "g"), (4, "g"), (5, "dq")] {
            assert_eq!(apart(changed), (tensor, "a gradient has the strides of its tensor"));
        }
        let turned = Layout::strided(&[2, 5, 2, 2], &[20, 4, 1, 2]).unwrap();
        for (changed, tensor) in [(1, "k"), (2, "v")] {
            match run(None, |layouts| layouts[changed] = turned) {
                Err(NnError::InvalidStride { op: "attention", tensor: got, .. }) => assert_eq!(got, tensor),
                other => panic!("{other:?}"),
            }
        }
        let short = run(None, |layouts| layouts[2] = Layout::contiguous(&[2, 4, 2, 2]).unwrap()).unwrap_err();
        assert_eq!(short.to_string(), "`attention` expected v of shape [2, 5, 2, 2], got [2, 4, 2, 2]");
    }

    #[test]
    fn masks_are_broadcast_to_the_scores() {
        for shape in [&[2, 4, 3, 5][..], &[3, 5], &[2, 1, 1, 5], &[1, 4, 3, 5], &[5]] {
            assert_eq!(run(Some(shape), |_| ()), Ok(()), "{shape:?}");
        }
        for shape in [&[2, 3, 5][..], &[5, 3], &[3]] {
            assert!(matches!(run(Some(shape), |_| ()), Err(NnError::Broadcast { op: "attention", .. })), "{shape:?}");
        }
        // One flag for all keys would need a stride of 0.
        let flag = run(Some(&[3, 1]), |_| ());
        assert!(matches!(flag, Err(NnError::InvalidStride { tensor: "mask", .. })), "{flag:?}");
    }
}
