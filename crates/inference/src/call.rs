//! The steps of a model that need keys and the other party.
//!
//! Each step defines its keys, its value in the clear and its run on shares.

use core::fmt;

use backend_api::ops::fss::FssOps;
use pfss::{
    AutoTrunc, Channel, Gate, MatrixShape, PfssError, Ring, Session, SignedRange, Task, WeightShape,
    functions::{FixedFn, FixedGates, TableFn, TableGates},
    softmax::SecureSoftmaxPlan,
};

use crate::{
    InferenceError,
    keys::{deal::Deal, opened::WeightProduct, queue::KeyQueue},
    tensor::RING,
};

/// A step of a model that needs keys and the other party, with its operands.
///
/// Everything else is linear and local.
///
/// Its three meanings are side by side: the keys it needs, its value in the clear, and its run on
/// shares.
pub enum Call<'a> {
    /// Products of matrices.
    Matmul {
        /// The ring of the products; of the factors, only its bits count.
        ring: Ring,
        /// Their shape.
        shape: MatrixShape,
        /// First factors.
        x: &'a [u64],
        /// Second factors.
        y: &'a [u64],
        /// Whether the second factor is one matrix of weights.
        weights: bool,
    },
    /// Products of elements.
    Product {
        /// The ring of the products; of the factors, only its bits count.
        ring: Ring,
        /// First factors.
        x: &'a [u64],
        /// Second factors.
        y: &'a [u64],
    },
    /// Signed floor shifts, from the ring of their gate to 64 bits.
    Shift {
        /// The shift, chosen by a proven range.
        shift: AutoTrunc,
        /// Operands.
        x: &'a [u64],
    },
    /// `max(x, 0)`.
    Relu {
        /// The gate for that range.
        gate: Gate,
        /// The proven range.
        range: SignedRange,
        /// Operands.
        x: &'a [u64],
    },
    /// A function of each element.
    Function {
        /// Its definition.
        function: &'a FixedFn,
        /// Its gates.
        gates: FixedGates,
        /// Operands.
        x: &'a [u64],
    },
    /// A function of each element by table.
    Table {
        /// Its definition.
        function: &'a TableFn,
        /// Its gates.
        gates: TableGates,
        /// Operands.
        x: &'a [u64],
    },
    /// Softmax of packed rows.
    Softmax {
        /// Layout and gates.
        plan: &'a SecureSoftmaxPlan,
        /// Packed logits.
        x: &'a [u64],
    },
}

/// Shows the kind and the number of results: operands may be secret.
impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Matmul { .. } => "Matmul",
            Self::Product { .. } => "Product",
            Self::Shift { .. } => "Shift",
            Self::Relu { .. } => "Relu",
            Self::Function { .. } => "Function",
            Self::Table { .. } => "Table",
            Self::Softmax { .. } => "Softmax",
        };
        f.debug_struct(kind).field("len", &self.len()).finish_non_exhaustive()
    }
}

impl Call<'_> {
    /// The keys of the step, in the order of their use.
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] is not expected here: all rings come from the gates' own
    /// constructors.
    pub fn deals(&self) -> Result<Vec<Deal>, PfssError> {
        Ok(match self {
            Self::Matmul { ring, shape, .. } => vec![Deal::Matrix(*ring, *shape)],
            Self::Product { ring, x, .. } => vec![Deal::Gate(Gate::product(ring.bits())?, x.len())],
            Self::Shift { shift, x } => {
                shift.gate().map(|gate| Deal::Gate(gate.clone(), x.len())).into_iter().collect()
            }
            Self::Relu { gate, x, .. } => vec![Deal::Gate(gate.clone(), x.len())],
            Self::Function { gates, x, .. } => {
                let gates = [&gates.suf].into_iter().chain(gates.shift.gate());
                gates.map(|gate| Deal::Gate(gate.clone(), x.len())).collect()
            }
            Self::Table { gates, x, .. } => Deal::in_order(gates.gates().map(|gate| (gate.clone(), x.len()))),
            Self::Softmax { plan, .. } => Deal::in_order(plan.deals()),
        })
    }

    /// The product by weights, if the step is one.
    #[must_use]
    pub fn weight_product(&self) -> Option<WeightProduct> {
        match self {
            Self::Matmul { ring, shape: MatrixShape { rows, inner, cols, .. }, weights: true, .. } => {
                Some(WeightProduct { ring: *ring, rows: *rows, weights: WeightShape { inner: *inner, cols: *cols } })
            }
            _ => None,
        }
    }

    /// The operands; the second has no elements if there is one.
    pub(crate) const fn operands(&self) -> [&[u64]; 2] {
        match self {
            Self::Matmul { x, y, .. } | Self::Product { x, y, .. } => [x, y],
            Self::Shift { x, .. } | Self::Relu { x, .. } | Self::Softmax { x, .. } => [x, &[]],
            Self::Function { x, .. } | Self::Table { x, .. } => [x, &[]],
        }
    }

    /// The ring of the result.
    pub(crate) const fn ring(&self) -> Ring {
        match self {
            Self::Matmul { ring, .. } | Self::Product { ring, .. } => *ring,
            Self::Shift { .. }
            | Self::Relu { .. }
            | Self::Function { .. }
            | Self::Table { .. }
            | Self::Softmax { .. } => RING,
        }
    }

    /// Elements of the result.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Matmul { shape, .. } => shape.lens()[2],
            Self::Product { x, .. } | Self::Shift { x, .. } | Self::Relu { x, .. } => x.len(),
            Self::Function { x, .. } | Self::Table { x, .. } | Self::Softmax { x, .. } => x.len(),
        }
    }

    /// Whether the result has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value in the clear. Not for anybody else's secrets: branches on the operands.
    ///
    /// # Errors
    /// [`PfssError::Length`] if the operands do not fit together.
    pub fn plain(&self) -> Result<Vec<u64>, PfssError> {
        let map = |x: &[u64], f: &dyn Fn(i64) -> i64| -> Vec<u64> {
            x.iter().map(|word| f(word.cast_signed()).cast_unsigned()).collect()
        };
        Ok(match self {
            Self::Matmul { ring, shape, x, y, .. } => {
                shape.multiply(x, y).into_iter().map(|word| ring.reduce(word)).collect()
            }
            Self::Product { ring, x, y } => x.iter().zip(*y).map(|(&x, &y)| ring.mul(x, y)).collect(),
            Self::Shift { shift, x } => match shift.gate() {
                None => x.to_vec(),
                Some(gate) => x.iter().map(|&x| (gate.ring().signed(x) >> gate.f()).cast_unsigned()).collect(),
            },
            Self::Relu { x, .. } => map(x, &|value| value.max(0)),
            Self::Function { function, x, .. } => map(x, &|value| function.eval(value)),
            Self::Table { function, x, .. } => map(x, &|value| function.eval(value)),
            Self::Softmax { plan, x } => {
                let logits: Vec<i64> = x.iter().map(|word| word.cast_signed()).collect();
                plan.eval(&logits)?.into_iter().map(i64::cast_unsigned).collect()
            }
        })
    }

    /// Runs the step on shares, with the next keys. Each gate's keys are read when it runs.
    ///
    /// # Errors
    /// [`InferenceError`] if keys are missing or the session fails.
    pub(crate) fn shared<Q: FssOps>(
        &self,
        q: &Q,
        session: &mut Session<Box<dyn Channel + '_>>,
        keys: &mut KeyQueue,
    ) -> Result<Vec<u64>, InferenceError> {
        Ok(match self {
            Self::Matmul { x, y, .. } => session.matmul(q, keys.matrix()?, [x, y])?,
            Self::Product { x, y, .. } => session.product(q, keys.gate()?, [x, y])?,
            Self::Shift { shift, x } => {
                let bundle = shift.gate().map(|_| keys.gate()).transpose()?;
                session.shift(q, shift, bundle, x)?
            }
            Self::Relu { range, x, .. } => session.run(q, Task::ReluWithin(*range), keys.gate()?, x)?.words,
            Self::Function { gates, x, .. } => session.function_from(q, gates, || keys.gate(), x)?,
            Self::Table { gates, x, .. } => session.table_function_from(q, gates, || keys.gate(), x)?,
            Self::Softmax { plan, x } => session.softmax_from(q, plan, || keys.gate(), x)?,
        })
    }
}
