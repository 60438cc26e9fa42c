//! The layers of a perceptron, whatever its values are kept in.

use std::sync::Arc;

use backend_api::{Buffer as _, Real};

use super::OP;
use crate::{
    Activation, ElementwiseOps, GemmOps, TensorOps,
    elementwise::{Dropout, ElementwisePlan},
    error::{NnError, Result},
    optim::{ParameterArena, ParameterTable},
    products::{Dense, DensePlan},
    rows::arg_max,
    tensor::{Layout, TensorMut, TensorRef},
};

/// Layers one after the other, an activation between them.
#[derive(Clone, Debug)]
pub(super) struct DenseLayers {
    pub(super) table: Arc<ParameterTable>,
    /// At least one.
    pub(super) layers: Vec<Dense>,
    /// What comes after every layer but the last.
    pub(super) hidden: Activation,
    /// Dropout after the activation, while training.
    pub(super) dropout: Option<Dropout>,
}

impl DenseLayers {
    /// Layers with `sizes[0]` inputs and `sizes[i]` units in layer `i`, ReLU between them.
    pub(super) fn new(sizes: &[usize]) -> Result<Self> {
        if sizes.len() < 2 {
            return Err(NnError::parameter(OP, "number of sizes", "2 or more", sizes.len() as f64));
        }
        if sizes.contains(&0) {
            return Err(NnError::EmptyReduction { op: OP });
        }
        let pairs = sizes.windows(2).enumerate();
        let specs: Vec<_> = pairs.flat_map(|(i, pair)| Dense::specs(&name(i), [pair[0], pair[1]])).collect();
        let table = ParameterTable::new(&specs)?;
        let layers = (0..sizes.len() - 1).map(|i| Dense::find(&table, &name(i))).collect::<Result<_, _>>()?;
        Ok(Self { table, layers, hidden: Activation::Relu, dropout: None })
    }

    /// Inputs of the network, then the units of each layer.
    pub(super) fn sizes(&self) -> Vec<usize> {
        self.layers.iter().take(1).map(Dense::inputs).chain(self.layers.iter().map(Dense::outputs)).collect()
    }

    /// Whether these are the layers of the same network, with the same activation and dropout.
    pub(super) fn are(&self, other: &Self) -> bool {
        let same = (self.hidden, self.dropout) == (other.hidden, other.dropout);
        same && Arc::ptr_eq(&self.table, &other.table)
    }

    pub(super) fn classes(&self) -> usize {
        self.layers.last().map_or(0, Dense::outputs)
    }

    /// The number of rows in inputs to this network, which are row-major.
    pub(super) fn rows(&self, op: &'static str, x: &Layout) -> Result<usize> {
        let [rows, _] = x.lengths(op, "x")?;
        let inputs = self.layers.first().map_or(0, Dense::inputs);
        Layout::contiguous(&[rows, inputs])?.admit(op, "x", x)?;
        Ok(rows)
    }

    /// Writes the logits `[rows, classes]` of inputs `[rows, features]`.
    pub(super) fn forward<Q: GemmOps + ElementwiseOps, T: Real>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        x: TensorRef<'_, Q, T>,
        logits: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        const FORWARD: &str = "mlp.forward";
        let rows = self.rows(FORWARD, x.layout())?;
        Layout::contiguous(&[rows, self.classes()])?.admit(FORWARD, "logits", logits.layout())?;
        let (hidden, last) = self.layers.split_at(self.layers.len() - 1);
        let last = &last[0];
        // Two buffers by turns: no activation is needed once the next one is known.
        let widest = hidden.iter().map(Dense::outputs).max().unwrap_or(0);
        let room = |layers: usize| {
            let width = if hidden.len() < layers { 0 } else { widest };
            Ok::<_, NnError>(q.alloc::<T>(Layout::contiguous(&[rows, width])?.numel())?)
        };
        let (mut below, mut own) = (room(2)?, room(1)?);
        for (i, layer) in hidden.iter().enumerate() {
            let plan = layer.plan(rows, self.hidden)?;
            let y = TensorMut::new(own.view_mut(), *plan.output())?;
            match i {
                0 => plan.forward(q, layer, values, x, y)?,
                _ => plan.forward(q, layer, values, TensorRef::new(below.view(), *plan.input())?, y)?,
            }
            core::mem::swap(&mut below, &mut own);
        }
        let plan = last.plan(rows, Activation::Identity)?;
        match hidden.len() {
            0 => plan.forward(q, last, values, x, logits),
            _ => plan.forward(q, last, values, TensorRef::new(below.view(), *plan.input())?, logits),
        }
    }

    /// The class with the largest logit of each row.
    pub(super) fn classify<Q: GemmOps + ElementwiseOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        x: TensorRef<'_, Q, T>,
    ) -> Result<Vec<u32>> {
        let rows = self.rows("mlp.classify", x.layout())?;
        let layout = Layout::contiguous(&[rows, self.classes()])?;
        let (mut logits, mut classes) = (q.alloc::<T>(layout.numel())?, q.alloc(rows)?);
        self.forward(q, values, x, TensorMut::new(logits.view_mut(), layout)?)?;
        arg_max(q, TensorRef::new(logits.view(), layout)?, 1, TensorMut::contiguous(classes.view_mut(), &[rows])?)?;
        Ok(q.download(&classes)?)
    }
}

/// The name of a layer in the network's own table.
pub(super) fn name(i: usize) -> String {
    format!("layers.{i}")
}

/// Whether the derivative of the function is computed from its argument.
///
/// A pass then keeps the argument as well as the result.
pub(super) fn needs_argument(f: Activation) -> bool {
    match f {
        Activation::GeluTanh | Activation::GeluErf | Activation::Silu => true,
        // ReLU's output is positive exactly where its input is.
        Activation::Identity | Activation::Relu | Activation::Sigmoid | Activation::Tanh => false,
    }
}

/// The plans of passes over batches of one size.
pub(super) struct MlpPlans {
    pub(super) rows: Layout,
    pub(super) layers: Vec<LayerPlans>,
}

pub(super) struct LayerPlans {
    pub(super) dense: DensePlan,
    /// The plan of maps over the layer's input.
    pub(super) input: ElementwisePlan,
    /// The plan of maps over its output.
    pub(super) output: ElementwisePlan,
}

impl MlpPlans {
    /// Plans for `rows` rows of layers of these sizes, two or more.
    pub(super) fn new(sizes: &[usize], hidden: Activation, rows: usize) -> Result<Self> {
        let last = sizes.len() - 2;
        let layer = |(i, pair): (usize, &[usize])| {
            let f = if i < last && !needs_argument(hidden) { hidden } else { Activation::Identity };
            Ok(LayerPlans {
                dense: DensePlan::new(rows, [pair[0], pair[1]], f)?,
                input: ElementwisePlan::new(&[rows, pair[0]])?,
                output: ElementwisePlan::new(&[rows, pair[1]])?,
            })
        };
        let layers = sizes.windows(2).enumerate().map(layer).collect::<Result<_>>()?;
        Ok(Self { rows: Layout::contiguous(&[rows])?, layers })
    }
}
