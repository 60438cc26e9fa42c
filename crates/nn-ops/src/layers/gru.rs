//! A gated recurrent unit as a layer of a model.

use backend_api::Queue;

use super::{
    gradients::{add_or_clear, add_wide},
    layer::{Layer, LayerOps},
    mode::Mode,
    parameters::{Parameters, Start},
    rows::written,
    saved::{Saved, State, other},
};
use crate::{
    GruInputs, GruVariant,
    error::{NnError, Result},
    functional::readable::Readable,
    gru::{
        GruGradientPlan, GruGradients, GruMember, GruPassValues, GruPlan, GruResults, GruUpstream,
        weights::{GruIds, GruSizes, unit_specs},
    },
    movement::widen,
    optim::{ParameterArena, ParameterId, ParameterSpec, ParameterTable, Precision, rounded, wide_arena},
    tensor::{Init, Layout, Tensor, TensorRef},
};

const OP: &str = "gru";
const BACKWARD: &str = "gru_backward";

/// A gated recurrent unit over sequences `[steps, batch, input]`, from states of zeros.
///
/// The output has the states after every step, `[steps, batch, hidden]`. See [`GruPlan`] for the
/// formulas. The op has states and gradients in f32 alone: with 16 bits, inputs are widened, and
/// outputs and the gradient of the inputs are rounded once.
///
/// ```
/// use nn_ops::{Gru, GruVariant, Layer, ParameterArena, ParameterTable, Parameters, Tensor};
///
/// let q = runtime::cpu()?;
/// let table = ParameterTable::new(&Gru::specs("memory", [2, 3], GruVariant::ResetBefore))?;
/// let unit = Gru::find(&table, "memory")?;
/// let mut values = ParameterArena::zeros(&q, &table)?;
/// unit.initialize(&q, &mut values, 42)?;
/// let x = Tensor::from_values(&q, &[4, 1, 2], &[0.5f32; 8])?; // four steps of one row
/// assert_eq!(unit.apply(&q, &values, x.at())?.layout().shape(), [4, 1, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gru {
    ids: GruIds,
    input: usize,
    hidden: usize,
}

impl Gru {
    /// The tensors of a unit, as [`GruMember`] has them, for one member.
    ///
    /// They are `name.w`, `[1, input, 3 hidden]`, `name.u`, `[1, hidden, 3 hidden]`, `name.b`,
    /// `[1, 3 hidden]`, and with the reset after the product `name.bu`, `[1, hidden]`. Biases do
    /// not decay.
    #[must_use]
    pub fn specs(name: &str, [input, hidden]: [usize; 2], variant: GruVariant) -> Vec<ParameterSpec> {
        unit_specs(&format!("{name}."), 1, [input, hidden], variant)
    }

    /// The unit of the tensors `name.w`, `name.u`, `name.b` and, if it is there, `name.bu`.
    ///
    /// # Errors
    /// [`NnError::MissingTensor`] if one of the first three is not there, [`NnError::NamedTensor`]
    /// if one does not have the shape of [`specs`](Self::specs).
    pub fn find(table: &ParameterTable, name: &str) -> Result<Self> {
        let ids = GruIds::find(table, &format!("{name}."))?;
        let GruIds { w, u, b, bu } = ids;
        let axis = |id, axis: usize| Ok::<_, NnError>(table.layout(id)?.shape().get(axis).copied().unwrap_or(0));
        let (input, hidden) = (axis(w, 1)?, axis(u, 1)?);
        let columns = hidden.saturating_mul(3);
        let (of_w, of_u, of_b, of_bu) = ([1, input, columns], [1, hidden, columns], [1, columns], [1, hidden]);
        let shapes = [Some((w, &of_w[..])), Some((u, &of_u[..])), Some((b, &of_b[..])), bu.map(|bu| (bu, &of_bu[..]))];
        for (id, shape) in shapes.into_iter().flatten() {
            let got = table.layout(id)?;
            if got.shape() != shape {
                return Err(NnError::named(table.name(id)?, NnError::shape(OP, "a tensor", shape, got)));
            }
        }
        Ok(Self { ids, input, hidden })
    }

    /// Features of an input.
    #[must_use]
    pub fn input(&self) -> usize {
        self.input
    }

    /// Features of a state.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    /// Copies the weights of `unit` to the device, for example of one that PyTorch trained.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] for a unit of another size or variant, [`NnError::Axis`] for
    /// values of another table, [`NnError::Backend`] from the device.
    pub fn import<Q: Queue>(&self, q: &Q, values: &mut ParameterArena<Q, f32>, unit: &GruMember) -> Result<()> {
        let within = if self.ids.bu.is_some() { self.hidden } else { 0 };
        let expected = [self.input, self.hidden, within];
        let got = [unit.input(), unit.hidden(), unit.bu().map_or(0, <[f32]>::len)];
        if expected != got {
            return Err(NnError::shape(OP, "a unit", expected, got));
        }
        values.write(q, self.ids.w, unit.w())?;
        values.write(q, self.ids.u, unit.u())?;
        values.write(q, self.ids.b, unit.b())?;
        self.ids.bu.map_or(Ok(()), |id| values.write(q, id, unit.bu().unwrap_or_default()))
    }

    fn variant(&self) -> GruVariant {
        if self.ids.bu.is_some() { GruVariant::ResetAfter } else { GruVariant::ResetBefore }
    }

    /// The plan for inputs of this layout.
    fn plan(&self, op: &'static str, x: &Layout) -> Result<GruPlan> {
        let [steps, batch, _] = x.lengths(op, "x")?;
        let sizes = GruSizes { members: 1, input: self.input, hidden: self.hidden, variant: self.variant() };
        GruPlan::of_sizes(sizes, batch, steps, GruInputs::Sequence)
    }
}

impl Parameters for Gru {
    /// Weights and biases begin uniform in `+-1 / sqrt(hidden)`, as in PyTorch.
    fn visit(&self, visitor: &mut dyn FnMut(ParameterId, Start)) {
        let limit = 1.0 / (self.hidden.max(1) as f32).sqrt();
        let GruIds { w, u, b, bu } = self.ids;
        for id in [Some(w), Some(u), Some(b), bu].into_iter().flatten() {
            visitor(id, Start::Random(Init::Uniform { low: -limit, high: limit }));
        }
    }
}

impl Layer for Gru {
    fn forward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        mode: Mode,
        x: TensorRef<'_, Q, T>,
    ) -> Result<(Tensor<Q, T>, Saved<Q, T>)> {
        let plan = self.plan(OP, x.layout())?;
        plan.inputs().admit(OP, "x", x.layout())?;
        let room = |layout: &Layout| Tensor::<Q, f32>::alloc(q, layout.shape());
        let (mut states, mut last) = (Tensor::<Q, f32>::alloc(q, &plan.states.shape()[1..])?, room(&plan.state)?);
        let mut saved = mode.is_training().then(|| room(&plan.saved)).transpose()?;
        let results = GruResults {
            states: Some(written(&mut states, plan.states.shape())?),
            last: last.at_mut(),
            saved: saved.as_mut().map(Tensor::at_mut),
        };
        plan.run(q, self.ids, values, Readable::widened(q, x)?.at(), None, results)?;
        Ok((rounded(q, states)?, Saved::new(q, mode, saved.map_or(State::Inference, State::Gru))))
    }

    fn backward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        saved: Saved<Q, T>,
        x: TensorRef<'_, Q, T>,
        g: TensorRef<'_, Q, T>,
        gradients: &mut ParameterArena<Q, f32>,
    ) -> Result<Tensor<Q, T>> {
        let State::Gru(saved) = saved.open(q, BACKWARD)? else { return Err(other(BACKWARD)) };
        let plan = self.plan(BACKWARD, x.layout())?;
        plan.inputs().admit(BACKWARD, "x", x.layout())?;
        Layout::of(BACKWARD, &plan.states.shape()[1..])?.admit(BACKWARD, "g", g.layout())?;
        let room = |layout: &Layout| Tensor::<Q, f32>::alloc(q, layout.shape());
        // Operands in f32, and the tensors of the unit alone.
        let own = ParameterTable::new(&Self::specs("own", [self.input, self.hidden], self.variant()))?;
        let unit = Self::find(&own, "own")?;
        let (input, of_states) = (Readable::widened(q, x)?, Readable::widened(q, g)?);
        let table = values.table();
        let copy;
        let (ids, values) = match wide_arena(values) {
            Some(values) => (self.ids, values),
            None => {
                let mut widened = ParameterArena::zeros(q, &own)?;
                for (from, to) in self.ids().into_iter().zip(unit.ids()) {
                    widen(q, values.at(from)?, widened.at_mut(to)?)?;
                }
                copy = widened;
                (unit.ids, &copy)
            }
        };
        // The gradients of the gates' sums.
        let (mut gates, mut first) = (room(&plan.gates)?, room(&plan.state)?);
        let upstream = GruUpstream { states: Some(of_states.at().reshaped(plan.states.shape())?), last: None };
        let of_sums = GruGradients { gates: gates.at_mut(), first: first.at_mut() };
        plan.run_backward(q, ids, values, saved.at(), upstream, of_sums)?;
        // The gradients of the weights, which are written to a small arena and added last.
        let mut of_weights = ParameterArena::zeros(q, &own)?;
        let plan_of_weights = GruGradientPlan::new(&plan, 1.0)?;
        let mut workspace = plan_of_weights.workspace(q)?;
        let pass = GruPassValues { x: input.at(), saved: saved.at(), gates: gates.at() };
        plan_of_weights.write(q, &mut workspace, pass, unit.ids, &mut of_weights)?;
        // The gradient of the inputs.
        let mut of_x: Tensor<Q, f32> = Tensor::from_buffer(q.zeros::<f32>(x.layout().numel())?, x.layout().shape())?;
        plan_of_weights.add_to_inputs(q, &mut workspace, (ids, values), gates.at(), of_x.at_mut())?;
        let of_x = rounded(q, of_x)?;
        add_or_clear(q, BACKWARD, (self, table), gradients, |gradients| {
            for (to, from) in self.ids().into_iter().zip(unit.ids()) {
                add_wide(q, of_weights.at(from)?, gradients.at_mut(to)?)?;
            }
            Ok(())
        })?;
        Ok(of_x)
    }
}
