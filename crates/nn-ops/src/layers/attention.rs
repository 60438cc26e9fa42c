//! Multi-head self attention as a layer of a model.

use backend_api::{Queue, Real};

use super::{
    dense,
    gradients::add_or_clear,
    layer::{Layer, LayerOps},
    mode::Mode,
    parameters::{Parameters, Start},
    rows::written,
    saved::{AttentionState, Saved, State, other},
};
use crate::{
    attention::{
        AttentionGradients, AttentionInputs, AttentionOptions, AttentionPlan, AttentionSaved, AttentionShape,
        DropoutStep, KeyValueCache,
    },
    elementwise::DropoutSite,
    error::{NnError, Result},
    movement::copy,
    optim::{ParameterArena, ParameterId, ParameterSpec, ParameterTable, Precision},
    products::Dense,
    tensor::{Tensor, TensorMut, TensorRef},
};

const OP: &str = "self_attention";
const BACKWARD: &str = "self_attention_backward";

/// Multi-head self attention over `[batch, rows, width]`.
///
/// A dense layer computes the queries, keys and values of all heads from a row, the heads attend by
/// [`AttentionPlan`], and another dense layer combines their results (Vaswani et al., "Attention Is
/// All You Need", 2017, section 3.2.2).
///
/// ```
/// use nn_ops::{Layer, ParameterArena, ParameterTable, Parameters, SelfAttention, Tensor};
///
/// let q = runtime::cpu()?;
/// let table = ParameterTable::new(&SelfAttention::specs("attention", 4))?;
/// let layer = SelfAttention::find(&table, "attention", 2)?.causal(); // two heads of two elements
/// let mut values = ParameterArena::zeros(&q, &table)?;
/// layer.initialize(&q, &mut values, 42)?;
/// let x = Tensor::from_values(&q, &[1, 3, 4], &[0.5f32; 12])?;
/// assert_eq!(layer.apply(&q, &values, x.at())?.layout().shape(), [1, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelfAttention {
    qkv: Dense,
    out: Dense,
    heads: usize,
    is_causal: bool,
    dropout: Option<DropoutSite>,
}

impl SelfAttention {
    /// The tensors of a layer.
    ///
    /// They are `name.qkv.weight`, `[width, 3 width]`, `name.qkv.bias`, `name.out.weight`,
    /// `[width, width]`, and `name.out.bias`. The columns of the first have the queries of all
    /// heads, then the keys, then the values.
    #[must_use]
    pub fn specs(name: &str, width: usize) -> [ParameterSpec; 4] {
        let [qkv, of_qkv] = Dense::specs(&format!("{name}.qkv"), [width, width.saturating_mul(3)]);
        let [out, of_out] = Dense::specs(&format!("{name}.out"), [width, width]);
        [qkv, of_qkv, out, of_out]
    }

    /// The layer of the tensors of [`specs`](Self::specs), with `heads` heads of equal widths.
    ///
    /// # Errors
    /// [`NnError::MissingTensor`] if a tensor is not there, [`NnError::NamedTensor`] if one has
    /// another shape, [`NnError::Parameter`] unless `heads` divides the width and for heads of more
    /// than 128 elements.
    pub fn find(table: &ParameterTable, name: &str, heads: usize) -> Result<Self> {
        let (of_qkv, of_out) = (format!("{name}.qkv"), format!("{name}.out"));
        let (qkv, out) = (Dense::find(table, &of_qkv)?, Dense::find(table, &of_out)?);
        let width = qkv.inputs();
        for (layer, name, outputs) in [(qkv, of_qkv, width.saturating_mul(3)), (out, of_out, width)] {
            let (expected, got) = ([width, outputs], [layer.inputs(), layer.outputs()]);
            if expected != got {
                return Err(NnError::named(format!("{name}.weight"), NnError::shape(OP, "weight", expected, got)));
            }
        }
        if width.checked_rem(heads) != Some(0) {
            return Err(NnError::parameter(OP, "number of heads", "a divisor of the width", heads as f64));
        }
        let layer = Self { qkv, out, heads, is_causal: false, dropout: None };
        layer.plan(0, 0, Mode::Inference)?;
        Ok(layer)
    }

    /// The layer with a causal mask: a row reads only itself and the rows before it.
    #[must_use]
    pub fn causal(self) -> Self {
        Self { is_causal: true, ..self }
    }

    /// The layer with dropout of the weights after the softmax, in training.
    #[must_use]
    pub fn with_dropout(self, dropout: DropoutSite) -> Self {
        Self { dropout: Some(dropout), ..self }
    }

    /// Features of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.out.inputs()
    }

    /// Number of heads.
    #[must_use]
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// Appends new rows to the cache of a causal layer, and computes their output.
    ///
    /// `x` has the new rows of every sequence, `[batch, rows, width]`, usually one row. The cache
    /// is for `[batch, capacity, heads, width / heads]`. There is no dropout.
    ///
    /// # Errors
    /// [`NnError::Parameter`] for a layer that is not causal; as [`KeyValueCache::append`] and
    /// [`KeyValueCache::step`]; otherwise as [`Layer::forward`].
    pub fn decode<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        x: TensorRef<'_, Q, T>,
        cache: &mut KeyValueCache<Q, T>,
    ) -> Result<Tensor<Q, T>> {
        if !self.is_causal {
            return Err(NnError::parameter("decode", "number of causal masks", "1", 0.0));
        }
        let [batch, rows] = self.sequences(OP, x)?;
        let qkv = dense::forward(&self.qkv, q, values, x)?;
        let [queries, keys, of_values] = self.parts(&qkv)?;
        cache.append(q, keys, of_values)?;
        let mut mixed = Tensor::alloc(q, &[batch, rows, self.width()])?;
        cache.step(q, queries, None, written(&mut mixed, &self.split(batch, rows))?)?;
        dense::forward(&self.out, q, values, mixed.at())
    }

    /// Batch and rows of an input.
    fn sequences<Q: Queue, T: Real>(&self, op: &'static str, x: TensorRef<'_, Q, T>) -> Result<[usize; 2]> {
        let [batch, rows, width] = x.layout().lengths(op, "x")?;
        if width != self.width() {
            return Err(NnError::shape(op, "x", [batch, rows, self.width()], x.layout()));
        }
        Ok([batch, rows])
    }

    /// The shape of rows split by heads.
    fn split(&self, batch: usize, rows: usize) -> [usize; 4] {
        [batch, rows, self.heads, self.width() / self.heads]
    }

    /// Queries, keys and values `[batch, rows, heads, dim]` in a packed projection.
    fn parts<'a, Q: Queue + 'a, T: Real>(&self, packed: &'a Tensor<Q, T>) -> Result<[TensorRef<'a, Q, T>; 3]> {
        let [batch, rows, _] = packed.layout().lengths(OP, "a projection")?;
        let all = packed.at().reshaped(&[batch, rows, 3, self.heads, self.width() / self.heads])?;
        Ok([all.indexed(2, 0)?, all.indexed(2, 1)?, all.indexed(2, 2)?])
    }

    /// The plan for sequences of this size.
    fn plan(&self, batch: usize, rows: usize, mode: Mode) -> Result<AttentionPlan> {
        let [.., heads, dim] = self.split(batch, rows);
        let shape = AttentionShape { batch, heads, kv_heads: heads, queries: rows, keys: rows, dim };
        let dropout = self.dropout.filter(|_| mode.is_training());
        AttentionPlan::new(shape, AttentionOptions { scale: None, causal: self.is_causal.then_some(0), dropout })
    }
}

impl Parameters for SelfAttention {
    fn visit(&self, visitor: &mut dyn FnMut(ParameterId, Start)) {
        self.qkv.visit(visitor);
        self.out.visit(visitor);
    }
}

impl Layer for SelfAttention {
    fn forward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        mode: Mode,
        x: TensorRef<'_, Q, T>,
    ) -> Result<(Tensor<Q, T>, Saved<Q, T>)> {
        let [batch, rows] = self.sequences(OP, x)?;
        let plan = self.plan(batch, rows, mode)?;
        let qkv = dense::forward(&self.qkv, q, values, x)?;
        let mut mixed = Tensor::alloc(q, &[batch, rows, self.width()])?;
        let into = written(&mut mixed, &self.split(batch, rows))?;
        let [queries, keys, of_values] = self.parts(&qkv)?;
        let inputs = AttentionInputs::new(queries, keys, of_values);
        let state = match mode {
            Mode::Inference => {
                plan.forward(q, inputs, into, None)?;
                None
            }
            Mode::Training { step } => {
                let mut lse = plan.lse(q)?;
                let inputs = AttentionInputs { step: DropoutStep::At(step), ..inputs };
                plan.forward(q, inputs, into, Some(lse.at_mut()))?;
                Some((lse, step))
            }
        };
        let y = dense::forward(&self.out, q, values, mixed.at())?;
        let state = state.map_or(State::Inference, |(lse, step)| {
            State::Attention(Box::new(AttentionState { qkv, mixed, lse, step }))
        });
        Ok((y, Saved::new(q, mode, state)))
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
        let State::Attention(state) = saved.open(q, BACKWARD)? else { return Err(other(BACKWARD)) };
        let AttentionState { qkv, mixed, lse, step } = *state;
        let [batch, rows] = self.sequences(BACKWARD, x)?;
        let [of_batch, of_rows, _] = qkv.layout().lengths(BACKWARD, "a projection")?;
        if [of_batch, of_rows] != [batch, rows] {
            return Err(NnError::shape(BACKWARD, "x", [of_batch, of_rows, self.width()], x.layout()));
        }
        if lse.layout().shape() != [batch, self.heads, rows] {
            return Err(other(BACKWARD));
        }
        // The projection of the heads' results.
        let of_mixed = dense::input_gradient(&self.out, q, values, mixed.at(), g)?;
        // The heads. Gradients have the strides of their operands, and each needs its own buffer.
        let plan = self.plan(batch, rows, Mode::Training { step })?;
        let [queries, keys, of_values] = self.parts(&qkv)?;
        let (by_heads, packed) = (*queries.layout(), [batch, rows, 3 * self.width()]);
        let room = || Tensor::<Q, T>::alloc(q, &packed);
        let (mut of_qkv, mut of_k, mut of_v) = (room()?, room()?, room()?);
        let inputs = AttentionInputs { step: DropoutStep::At(step), ..AttentionInputs::new(queries, keys, of_values) };
        let split = self.split(batch, rows);
        let pass = AttentionSaved { y: mixed.at().reshaped(&split)?, lse: lse.at() };
        let into = AttentionGradients {
            q: TensorMut::new(of_qkv.at_mut().into_view(), by_heads)?,
            k: TensorMut::new(of_k.at_mut().into_view(), by_heads)?,
            v: TensorMut::new(of_v.at_mut().into_view(), by_heads)?,
        };
        plan.backward(q, inputs, pass, of_mixed.at().reshaped(&split)?, into)?;
        let width = self.width();
        for (part, from) in [(1, &of_k), (2, &of_v)] {
            let into = of_qkv.at_mut().narrowed(2, part * width..(part + 1) * width)?;
            copy(q, from.at().narrowed(2, 0..width)?, into)?;
        }
        // The projection to queries, keys and values, and the gradients of the parameters.
        let of_x = dense::input_gradient(&self.qkv, q, values, x, of_qkv.at())?;
        add_or_clear(q, BACKWARD, (self, values.table()), gradients, |gradients| {
            dense::add_gradients(&self.out, q, values, mixed.at(), g, gradients)?;
            dense::add_gradients(&self.qkv, q, values, x, of_qkv.at(), gradients)
        })?;
        Ok(of_x)
    }
}
