//! Gradients of weights, biases and inputs.
//!
//! They are products and sums over the gradients of the gates' sums.
//!
//! With D the gradients of the gates' sums as rows, `dW = x^T D`, `dU = h^T D` for z and r, `db` is
//! the sum of the rows of D, and `dx = D W^T`. For the candidate, `dU_c = (r h)^T D_c` or, with the
//! reset after the product, `dU_c = h^T (r D_c)`, and `dbu` is the sum of the rows of `r D_c`.

use backend_api::{Buffer as _, BufferRef as _, Queue, Ref};
use core_types::params::recurrent::GRU_SAVED;

use super::{
    plan::GruPlan,
    weights::{GruIds, GruWeights},
};
use crate::{
    Activation, Binary, ElementwiseOps, GemmOps, GruVariant,
    elementwise::BinaryPlan,
    error::{NnError, Result},
    optim::ParameterArena,
    products::GemmPlan,
    rows::SumPlan,
    tensor::{Layout, Planned, TensorMut, TensorRef},
};

const OP: &str = "gru_gradients";

/// Positions in the saved values: r, states before the steps, and states after the reset.
const R: usize = 1;
const H: usize = 3;
const RESET: usize = 4;

/// Values of a forward and a backward pass that the gradients of weights are computed from.
#[derive(Clone, Copy, Debug)]
pub struct GruPassValues<'a, Q: Queue + 'a> {
    /// The inputs, with the axes of their form.
    pub x: TensorRef<'a, Q, f32>,
    /// The values that [`GruPlan::forward`] saved, `[5, members, steps, batch, hidden]`.
    pub saved: TensorRef<'a, Q, f32>,
    /// The gradients of the gates' sums, `[members, steps, batch, 3 hidden]`.
    ///
    /// [`GruPlan::backward`] writes them.
    pub gates: TensorRef<'a, Q, f32>,
}

/// A checked computation of the gradients of weights, biases and inputs.
///
/// [`GruPlan::backward`] gives the gradients of the gates' sums. With D their rows of all steps and
/// of the batch, the gradients are `x^T D` for W, `h^T D` for U (for the candidate `(r h)^T D_c`,
/// or `h^T (r D_c)` if the reset comes after the product), sums of rows for the biases, and `D W^T`
/// for x. Inputs shared by several members or steps get the sum of their gradients.
///
/// Training that is cut into windows (truncated backpropagation through time) is a plan for a
/// window of steps: each pass begins with the states that the one before it ended with, and no
/// gradient goes back to it.
///
/// ```
/// use backend_api::{Buffer, Queue};
/// use nn_ops::{
///     GruColumns, GruGradientPlan, GruGradients, GruInputs, GruMember, GruPassValues, GruPlan, GruResults,
///     GruUpstream, GruWeights, Tensor,
/// };
///
/// let q = runtime::cpu()?;
/// // z = r = 1/2, c = tanh(x)
/// let columns = GruColumns { w: vec![0.0, 0.0, 1.0], u: vec![0.0; 3], b: vec![0.0; 3], bu: None };
/// let unit = GruMember::new(1, 1, columns)?;
/// let weights = GruWeights::new(&q, &[unit])?;
/// let plan = GruPlan::new(&weights, 1, 1, GruInputs::Sequence)?;
/// let x = Tensor::from_values(&q, &[1, 1, 1], &[0.5])?;
/// let (mut last, mut saved) = (Tensor::alloc(&q, &[1, 1, 1])?, Tensor::alloc(&q, &[5, 1, 1, 1, 1])?);
/// plan.forward(&q, &weights, x.at(), None, GruResults { states: None, last: last.at_mut(), saved: Some(saved.at_mut()) })?;
///
/// let of_last = Tensor::from_values(&q, &[1, 1, 1], &[1.0])?;
/// let (mut gates, mut first) = (Tensor::alloc(&q, &[1, 1, 1, 3])?, Tensor::alloc(&q, &[1, 1, 1])?);
/// let upstream = GruUpstream { states: None, last: Some(of_last.at()) };
/// plan.backward(&q, &weights, saved.at(), upstream, GruGradients { gates: gates.at_mut(), first: first.at_mut() })?;
///
/// let gradients = GruGradientPlan::new(&plan, 1.0)?;
/// let (mut workspace, mut of_weights) = (gradients.workspace(&q)?, weights.like(&q)?);
/// let values = GruPassValues { x: x.at(), saved: saved.at(), gates: gates.at() };
/// gradients.weights(&q, &mut workspace, values, &mut of_weights)?;
/// // the last state is tanh(w x) / 2
/// let slope = 0.5 * (1.0 - 0.5f32.tanh().powi(2));
/// assert!((of_weights.members(&q)?[0].w()[2] - slope * 0.5).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GruGradientPlan {
    gru: GruPlan,
    /// The inputs as rows, of a member or of all.
    x: Layout,
    /// The states before the steps as rows.
    h: Layout,
    /// The gradients of the gates as rows of all steps, and as those that the inputs see.
    gates: Layout,
    seen: Layout,
    w: GemmPlan,
    u_gates: GemmPlan,
    u_candidate: GemmPlan,
    b: SumPlan,
    bu: Option<OfReset>,
    inputs: GemmPlan,
    decay: Option<Decay>,
    /// The sum over the steps, if all of them see the same inputs.
    over_steps: Option<SumPlan>,
}

/// Where the reset comes after the product: `r D_c`, and its sum.
#[derive(Clone, Debug, PartialEq)]
struct OfReset {
    product: BinaryPlan,
    candidate: Layout,
    sum: SumPlan,
}

/// Factors of the steps.
#[derive(Clone, Debug, PartialEq)]
struct Decay {
    powers: Vec<f32>,
    plan: BinaryPlan,
    gates: Layout,
    steps: Layout,
}

/// Workspace of the gradients of weights and inputs.
///
/// It is made once for all calls of [`GruGradientPlan::weights`] and
/// [`add_inputs`](GruGradientPlan::add_inputs).
pub struct GruGradientWorkspace<Q: Queue> {
    plan: GruGradientPlan,
    /// The factors of the steps, and the gradients of the gates times them.
    decay: Option<(Q::Buf<f32>, Q::Buf<f32>)>,
    over_steps: Option<Q::Buf<f32>>,
    of_reset: Option<Q::Buf<f32>>,
}

impl GruGradientPlan {
    /// A plan for the gradients of the passes of `gru`.
    ///
    /// In the gradients of weights and biases, a step has the weight `decay^age`, with age the
    /// number of steps after it: a decay of 1 gives the true gradient, less discounts old steps.
    /// Gradients through the states, and of the inputs, are not decayed.
    ///
    /// # Errors
    /// [`NnError::Parameter`] unless the decay is in `0..=1`; [`NnError::Overflow`] if the elements
    /// of a tensor cannot be counted.
    pub fn new(gru: &GruPlan, decay: f32) -> Result<Self> {
        if !(0.0..=1.0).contains(&decay) {
            return Err(NnError::parameter(OP, "decay", "in 0..=1", decay));
        }
        // Sizes; constant inputs see the sum of the gates over the steps.
        let p = gru.params;
        let [members, batch, steps, input, n] =
            [p.members, p.batch, p.steps, p.input, p.hidden].map(|len| len as usize);
        let (rows, after) = (steps * batch, p.variant == GruVariant::ResetAfter);
        let constant = p.inputs.is_constant();
        let seen = if constant { batch } else { rows };
        // Layouts of the factors as rows of all steps.
        let x = match p.inputs.is_per_member() {
            true => Layout::contiguous(&[members, seen, input])?,
            false => Layout::contiguous(&[seen, input])?,
        };
        let h = Layout::contiguous(&[members, rows, n])?;
        let [gates, of_seen] = [rows, seen].map(|rows| Layout::contiguous(&[members, rows, 3 * n]));
        let (gates, of_seen) = (gates?, of_seen?);
        let [w, u] = [input, n].map(|rows| Layout::contiguous(&[members, rows, 3 * n]));
        let (w, u) = (w?, u?);
        let part = |of: &Layout, columns| of.narrowed(OP, 2, columns).map(|(_, part)| part);
        let of_candidate = if after { h } else { part(&gates, 2 * n..3 * n)? };
        // Products of transposed rows with gradients of the gates.
        let product = |rows: (&'static str, &Layout), of: &Layout, into: &Layout| {
            let layouts = [(rows.0, &rows.1.transposed()?), ("gates", of), ("gradient", into)];
            GemmPlan::build(OP, layouts, Activation::Identity, false)
        };
        let turned = w.transposed()?;
        let of_inputs = [("gates", &of_seen), ("w", &turned), ("gradient of x", &x)];
        // Factors of old steps.
        let by_step = Layout::contiguous(&[members, steps, batch * 3 * n])?;
        let decay = if decay == 1.0 {
            None
        } else {
            let power = |step: usize| f64::from(decay).powi(i32::try_from(steps - 1 - step).unwrap_or(i32::MAX)) as f32;
            let of_steps = Layout::contiguous(&[steps, 1])?;
            let plan = BinaryPlan::new(&by_step, &of_steps, &by_step)?;
            Some(Decay { powers: (0..steps).map(power).collect(), plan, gates: by_step, steps: of_steps })
        };
        // With the reset after the product, the candidate has r D_c.
        let bu = if after {
            let candidate = part(&gates, 2 * n..3 * n)?;
            let sum = SumPlan::new(&[members, rows, n], 1)?;
            Some(OfReset { product: BinaryPlan::new(&h, &candidate, &h)?, candidate, sum })
        } else {
            None
        };
        Ok(Self {
            w: product(("x", &x), &of_seen, &w)?,
            u_gates: product(("h", &h), &part(&gates, 0..2 * n)?, &part(&u, 0..2 * n)?)?,
            u_candidate: product(("h", &h), &of_candidate, &part(&u, 2 * n..3 * n)?)?,
            b: SumPlan::new(&[members, rows, 3 * n], 1)?,
            bu,
            inputs: GemmPlan::build(OP, of_inputs, Activation::Identity, true)?,
            decay,
            over_steps: if constant { Some(SumPlan::new(by_step.shape(), 1)?) } else { None },
            gru: *gru,
            x,
            h,
            gates,
            seen: of_seen,
        })
    }

    /// Memory for the steps of this plan.
    ///
    /// # Errors
    /// [`NnError::Backend`] if memory is short.
    pub fn workspace<Q: Queue>(&self, q: &Q) -> Result<GruGradientWorkspace<Q>> {
        let decay =
            self.decay.as_ref().map(|decay| Ok::<_, NnError>((q.upload(&decay.powers)?, q.alloc(self.gates.numel())?)));
        Ok(GruGradientWorkspace {
            plan: self.clone(),
            decay: decay.transpose()?,
            over_steps: self.over_steps.as_ref().map(|_| q.alloc(self.seen.numel())).transpose()?,
            of_reset: self.bu.as_ref().map(|_| q.alloc(self.h.numel())).transpose()?,
        })
    }

    /// Writes the gradients of W, U, b and bu, which take the form of [`GruWeights`].
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor with another layout
    /// than the plan's, and for gradients of another ensemble than it was made for;
    /// [`NnError::OtherPlan`] for the workspace of another plan; [`NnError::Backend`] from the
    /// device.
    pub fn weights<Q: GemmOps + ElementwiseOps>(
        &self,
        q: &Q,
        workspace: &mut GruGradientWorkspace<Q>,
        values: GruPassValues<'_, Q>,
        gradients: &mut GruWeights<Q>,
    ) -> Result<()> {
        self.admit(workspace, gradients)?;
        self.write(q, workspace, values, gradients.ids(), gradients.arena_mut())
    }

    /// [`weights`](Self::weights) that go to tensors of an arena.
    pub(crate) fn write<Q: GemmOps + ElementwiseOps>(
        &self,
        q: &Q,
        workspace: &mut GruGradientWorkspace<Q>,
        values: GruPassValues<'_, Q>,
        ids: GruIds,
        arena: &mut ParameterArena<Q, f32>,
    ) -> Result<()> {
        let GruPassValues { x, saved, gates } = values;
        let x = x.planned(OP, "x", self.gru.inputs())?;
        let saved = saved.planned(OP, "saved", &self.gru.saved)?;
        let gates = gates.planned(OP, "gates", &self.gru.gates)?;
        let of = |plane: usize| {
            let len = saved.len() / GRU_SAVED as usize;
            saved.slice(plane * len..(plane + 1) * len)
        };
        let n = self.gru.params.hidden as usize;
        let GruGradientWorkspace { decay: decayed, over_steps, of_reset, .. } = workspace;
        // Gradients of the gates, with old steps decayed.
        let d = if let (Some(decay), Some((powers, decayed))) = (&self.decay, decayed) {
            let powers = TensorRef::new(powers.view(), decay.steps)?;
            let into = TensorMut::new(decayed.view_mut(), decay.gates)?;
            decay.plan.run(q, Binary::Mul, TensorRef::new(gates, decay.gates)?, powers, into)?;
            decayed.view()
        } else {
            gates
        };
        // Weights of the inputs, then of the state for z and r.
        self.w.launch(q, x, self.summed(q, over_steps, d)?, None, arena.at_mut(ids.w)?.into_view())?;
        self.u_gates.launch(q, of(H)?, d, None, arena.at_mut(ids.u)?.into_view())?;
        // The candidate, whose state is reset before or after the product.
        let candidate = TensorRef::<Q, f32>::new(d, self.gates)?.narrowed(2, 2 * n..3 * n)?.view();
        let of_candidate = arena.at_mut(ids.u)?.narrowed(2, 2 * n..3 * n)?.into_view();
        if let (Some(plan), Some(product), Some(of_bu)) = (&self.bu, of_reset, ids.bu) {
            let into = TensorMut::new(product.view_mut(), self.h)?;
            let (r, of_c) = (TensorRef::new(of(R)?, self.h)?, TensorRef::new(candidate, plan.candidate)?);
            plan.product.run(q, Binary::Mul, r, of_c, into)?;
            self.u_candidate.launch(q, of(H)?, product.view(), None, of_candidate)?;
            plan.sum.launch(q, product.view(), arena.at_mut(of_bu)?.into_view())?;
        } else {
            self.u_candidate.launch(q, of(RESET)?, candidate, None, of_candidate)?;
        }
        self.b.launch(q, d, arena.at_mut(ids.b)?.into_view())
    }

    /// Adds the gradients of the inputs to `x`, computed from the gradients of the gates' sums.
    ///
    /// `x` has the form of the inputs.
    ///
    /// # Errors
    /// As [`weights`](Self::weights).
    pub fn add_inputs<Q: GemmOps + ElementwiseOps>(
        &self,
        q: &Q,
        workspace: &mut GruGradientWorkspace<Q>,
        weights: &GruWeights<Q>,
        gates: TensorRef<'_, Q, f32>,
        x: TensorMut<'_, Q, f32>,
    ) -> Result<()> {
        self.admit(workspace, weights)?;
        self.add_to_inputs(q, workspace, (weights.ids(), weights.arena()), gates, x)
    }

    /// [`add_inputs`](Self::add_inputs) with weights among the tensors of an arena.
    pub(crate) fn add_to_inputs<Q: GemmOps + ElementwiseOps>(
        &self,
        q: &Q,
        workspace: &mut GruGradientWorkspace<Q>,
        (ids, arena): (GruIds, &ParameterArena<Q, f32>),
        gates: TensorRef<'_, Q, f32>,
        x: TensorMut<'_, Q, f32>,
    ) -> Result<()> {
        let gates = gates.planned(OP, "gates", &self.gru.gates)?;
        let x = x.planned(OP, "x", self.gru.inputs())?;
        let d = self.summed(q, &mut workspace.over_steps, gates)?;
        self.inputs.launch(q, d, ids.layer(arena)?.w, None, x)
    }

    /// The gates' gradients that reach the inputs: for every step, or summed over the steps.
    fn summed<'a, Q: ElementwiseOps>(
        &self,
        q: &Q,
        into: &'a mut Option<Q::Buf<f32>>,
        gates: Ref<'a, Q, f32>,
    ) -> Result<Ref<'a, Q, f32>> {
        let (Some(plan), Some(sums)) = (&self.over_steps, into) else { return Ok(gates) };
        plan.launch(q, gates, sums.view_mut())?;
        Ok(sums.view())
    }

    /// Refuses the workspace of another plan, and weights of another ensemble.
    fn admit<Q: Queue>(&self, workspace: &GruGradientWorkspace<Q>, weights: &GruWeights<Q>) -> Result<()> {
        if workspace.plan != *self {
            return Err(NnError::OtherPlan { op: OP, what: "workspace" });
        }
        self.gru.admit(OP, weights)
    }
}

debug_fields!(GruGradientWorkspace<Q: Queue> plan);
