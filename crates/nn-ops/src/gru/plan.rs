//! Forward passes of gated recurrent units.
//!
//! A step takes the state `h` to `h + z (c - h)` for the update gate `z` and the candidate `c` (Cho
//! et al., 2014, whose z is `1 - z` here).

use backend_api::{Queue, Real, ops::recurrent::GruForward};
use core_types::params::recurrent::{GRU_SAVED, GruParams};

use super::weights::{GruIds, GruSizes, GruWeights};
use crate::{
    GruInputs, GruVariant, RecurrentOps,
    error::{NnError, Result},
    optim::ParameterArena,
    tensor::{Layout, Planned, TensorMut, TensorRef},
};

const OP: &str = "gru_forward";

/// Where the results of a forward pass go.
#[derive(Debug)]
pub struct GruResults<'a, Q: Queue + 'a> {
    /// The states after every step, `[members, steps, batch, hidden]`, if they are wanted.
    pub states: Option<TensorMut<'a, Q, f32>>,
    /// The states after the last step, `[members, batch, hidden]`.
    pub last: TensorMut<'a, Q, f32>,
    /// Inputs of a later backward pass, `[5, members, steps, batch, hidden]`.
    ///
    /// These are z, r, c, the states before the steps, and `r h`. If the reset comes after the
    /// product, `h U_c + bu` replaces `r h`.
    pub saved: Option<TensorMut<'a, Q, f32>>,
}

/// A checked pass of an ensemble of gated recurrent units over a batch.
///
/// See [`GruForward`] for the formulas. A row's results do not depend on the other rows, down to
/// their bits. Two passes give the same results as one pass of all their steps.
///
/// ```
/// use nn_ops::{GruColumns, GruInputs, GruMember, GruPlan, GruResults, GruWeights, Tensor};
///
/// let q = runtime::cpu()?;
/// // z and r are 1/2 throughout; c = tanh(x)
/// let columns = GruColumns { w: vec![0.0, 0.0, 1.0], u: vec![0.0; 3], b: vec![0.0; 3], bu: None };
/// let unit = GruMember::new(1, 1, columns)?;
/// let weights = GruWeights::new(&q, &[unit])?;
/// let plan = GruPlan::new(&weights, 1, 2, GruInputs::Sequence)?; // one row, two steps
/// let (x, mut last) = (Tensor::from_values(&q, &[2, 1, 1], &[0.0f32, 0.5])?, Tensor::alloc(&q, &[1, 1, 1])?);
/// plan.forward(&q, &weights, x.at(), None, GruResults { states: None, last: last.at_mut(), saved: None })?;
/// assert!((last.values(&q)?[0] - 0.5 * 0.5f32.tanh()).abs() < 1e-7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GruPlan {
    /// The parameters of the op.
    pub(crate) params: GruParams,
    x: Layout,
    /// The layout of a state of all members.
    pub(crate) state: Layout,
    /// The layout of the states after every step.
    pub(crate) states: Layout,
    /// The layout of the saved values.
    pub(crate) saved: Layout,
    /// The layout of the gates' sums.
    pub(crate) gates: Layout,
}

impl GruPlan {
    /// A plan for `weights` on batches of `batch` rows and `steps` steps.
    ///
    /// The inputs have a form of [`GruInputs`], without the axes that the form lacks.
    ///
    /// # Errors
    /// [`NnError::Overflow`] if the elements of a tensor cannot be counted.
    pub fn new<Q: Queue, T: Real>(
        weights: &GruWeights<Q, T>,
        batch: usize,
        steps: usize,
        inputs: GruInputs,
    ) -> Result<Self> {
        Self::of_sizes(weights.sizes(), batch, steps, inputs)
    }

    /// [`new`](Self::new) for weights of these sizes.
    pub(crate) fn of_sizes(sizes: GruSizes, batch: usize, steps: usize, inputs: GruInputs) -> Result<Self> {
        let GruSizes { members, input, hidden, variant } = sizes;
        let all = [members, steps, batch, input];
        // Shared inputs lack the axis of members, constant ones the axis of steps.
        let x = match inputs {
            GruInputs::Sequence => &all[1..],
            GruInputs::MemberSequences => &all[..],
            GruInputs::Constant => &all[2..],
            GruInputs::MemberConstants => &[members, batch, input],
        };
        // The parameters of the op and the layouts of all tensors.
        let params = GruParams {
            members: members as u64,
            batch: batch as u64,
            steps: steps as u64,
            input: input as u64,
            hidden: hidden as u64,
            variant,
            inputs,
        };
        Ok(Self {
            params,
            x: Layout::contiguous(x)?,
            state: Layout::contiguous(&[members, batch, hidden])?,
            states: Layout::contiguous(&[members, steps, batch, hidden])?,
            saved: Layout::contiguous(&[GRU_SAVED as usize, members, steps, batch, hidden])?,
            gates: Layout::contiguous(&[
                members,
                steps,
                batch,
                hidden.checked_mul(3).ok_or(NnError::Overflow { op: OP })?,
            ])?,
        })
    }

    /// The layout of the inputs.
    #[must_use]
    pub fn inputs(&self) -> &Layout {
        &self.x
    }

    /// Runs all steps on inputs `x`, from the states `first` or from zeros.
    ///
    /// `first` is `[members, batch, hidden]`. Weights of 16 bits ([`GruWeights::narrowed`]) are
    /// widened as they are used; states and sums stay f32.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor with another layout
    /// than the plan's, and for weights of another ensemble than it was made for;
    /// [`NnError::Backend`] from the device.
    pub fn forward<Q: RecurrentOps, T: Real>(
        &self,
        q: &Q,
        weights: &GruWeights<Q, T>,
        x: TensorRef<'_, Q, f32>,
        first: Option<TensorRef<'_, Q, f32>>,
        results: GruResults<'_, Q>,
    ) -> Result<()> {
        self.admit(OP, weights)?;
        self.run(q, weights.ids(), weights.arena(), x, first, results)
    }

    /// [`forward`](Self::forward) of weights among the tensors of an arena.
    pub(crate) fn run<Q: RecurrentOps, T: Real>(
        &self,
        q: &Q,
        ids: GruIds,
        arena: &ParameterArena<Q, T>,
        x: TensorRef<'_, Q, f32>,
        first: Option<TensorRef<'_, Q, f32>>,
        results: GruResults<'_, Q>,
    ) -> Result<()> {
        let (x, h0) = (x.planned(OP, "x", &self.x)?, first.planned(OP, "first", &self.state)?);
        let states = results.states.planned(OP, "states", &self.states)?;
        let h_t = results.last.planned(OP, "last", &self.state)?;
        let saved = results.saved.planned(OP, "saved", &self.saved)?;
        let (params, layer) = (&self.params, ids.layer(arena)?);
        Ok(q.gru_forward(GruForward { params, layer, x, h0, states, h_t, saved })?)
    }

    /// Refuses weights of another ensemble.
    pub(crate) fn admit<Q: Queue, T: Real>(&self, op: &'static str, weights: &GruWeights<Q, T>) -> Result<()> {
        let p = &self.params;
        let after = |variant| usize::from(variant == GruVariant::ResetAfter);
        let expected = [p.members as usize, p.input as usize, p.hidden as usize, after(p.variant)];
        let got = [weights.count(), weights.input(), weights.hidden(), after(weights.variant())];
        if expected == got { Ok(()) } else { Err(NnError::shape(op, "weights", expected, got)) }
    }
}

#[cfg(test)]
mod tests {
    use backend_api::Buffer;

    use super::*;
    use crate::gru::member::{GruColumns, GruMember};

    fn weights<Q: Queue>(q: &Q, members: usize, input: usize) -> GruWeights<Q> {
        let columns = GruColumns { w: vec![0.1; 6 * input], u: vec![0.1; 12], b: vec![0.0; 6], bu: None };
        let unit = GruMember::new(input, 2, columns).unwrap();
        GruWeights::new(q, &vec![unit; members]).unwrap()
    }

    /// Runs a plan on weights and tensors of these shapes.
    ///
    /// The plan is for two members, four rows, three steps and five inputs.
    fn said<Q: RecurrentOps>(q: &Q, [members, input]: [usize; 2], x: &[usize], last: &[usize]) -> Result<(), NnError> {
        let plan = GruPlan::new(&weights(q, 2, 5), 4, 3, GruInputs::Sequence)?;
        let (values, mut state) = (q.zeros::<f32>(x.iter().product())?, q.zeros::<f32>(last.iter().product())?);
        let last = TensorMut::contiguous(state.view_mut(), last)?;
        let results = GruResults { states: None, last, saved: None };
        plan.forward(q, &weights(q, members, input), TensorRef::contiguous(values.view(), x)?, None, results)
    }

    #[test]
    fn tensors_and_weights_of_other_shapes_are_refused_by_name() {
        let q = runtime::cpu().unwrap();
        let refused = |weights, x: &[usize], last: &[usize]| match said(&q, weights, x, last) {
            Err(NnError::ShapeMismatch { op: "gru_forward", tensor, .. }) => Some(tensor),
            other => other.map(|()| None).unwrap(),
        };
        assert_eq!(refused([2, 5], &[3, 4, 5], &[2, 4, 2]), None);
        assert_eq!(refused([1, 5], &[3, 4, 5], &[2, 4, 2]), Some("weights"));
        assert_eq!(refused([2, 6], &[3, 4, 5], &[2, 4, 2]), Some("weights"));
        assert_eq!(refused([2, 5], &[4, 3, 5], &[2, 4, 2]), Some("x"));
        assert_eq!(refused([2, 5], &[2, 3, 4, 5], &[2, 4, 2]), Some("x"));
        assert_eq!(refused([2, 5], &[3, 4, 5], &[4, 2, 2]), Some("last"));
    }

    #[test]
    fn inputs_have_the_axes_of_their_form() {
        let q = runtime::cpu().unwrap();
        let weights = weights(&q, 2, 5);
        let shapes = GruInputs::ALL.map(|form| GruPlan::new(&weights, 4, 3, form).unwrap().inputs().shape().to_vec());
        assert_eq!(shapes, [vec![3, 4, 5], vec![2, 3, 4, 5], vec![4, 5], vec![2, 4, 5]]);
        assert!(matches!(GruPlan::new(&weights, usize::MAX, 3, GruInputs::Sequence), Err(NnError::Overflow { .. })));
    }
}
