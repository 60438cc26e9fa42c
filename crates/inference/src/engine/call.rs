//! The steps of a model that need keys and the other party.
//!
//! Each step defines its keys, its value in the clear and its runs on shares.

use core::fmt;

use backend_api::ops::tensor::TensorOps;
use pfss::{
    AutoTrunc, Channel, DeviceShares, Gate, MatrixShape, OpenedWeights, PfssError, Ring, Session, SharedQueue,
    SignedRange, Task, WeightShape, WeightTriple,
    functions::{FixedFn, FixedGates, TableFn, TableGates},
    softmax::SecureSoftmaxPlan,
};

use crate::{
    InferenceError, Words,
    fixed_point::RING,
    keys::{deal::Deal, opened::WeightProduct, queue::KeyQueue},
    words::device::DeviceWords,
};

/// A step of a model that needs keys and the other party, with its operands.
///
/// Everything else is linear and local.
///
/// Its meanings are side by side: the keys it needs, its value in the clear, and its run on shares
/// in host memory or in device memory.
pub enum Call<'a> {
    /// Products of matrices.
    Matmul {
        /// The ring of the products; of the factors, only its bits count.
        ring: Ring,
        /// Their shape.
        shape: MatrixShape,
        /// First factors.
        x: &'a Words,
        /// Second factors.
        y: &'a Words,
        /// Whether the second factor is one matrix of weights.
        weights: bool,
    },
    /// Products of elements.
    Product {
        /// The ring of the products; of the factors, only its bits count.
        ring: Ring,
        /// First factors.
        x: &'a Words,
        /// Second factors.
        y: &'a Words,
    },
    /// Signed floor shifts, from the ring of their gate to 64 bits.
    Shift {
        /// The shift, chosen by a proven range.
        shift: AutoTrunc,
        /// Operands.
        x: &'a Words,
    },
    /// `max(x, 0)`.
    Relu {
        /// The gate for that range.
        gate: Gate,
        /// The proven range.
        range: SignedRange,
        /// Operands.
        x: &'a Words,
    },
    /// A function of each element.
    Function {
        /// Its definition.
        function: &'a FixedFn,
        /// Its gates.
        gates: FixedGates,
        /// Operands.
        x: &'a Words,
    },
    /// A function of each element by table.
    Table {
        /// Its definition.
        function: &'a TableFn,
        /// Its gates.
        gates: TableGates,
        /// Operands.
        x: &'a Words,
    },
    /// Softmax of packed rows.
    Softmax {
        /// Layout and gates.
        plan: &'a SecureSoftmaxPlan,
        /// Packed logits.
        x: &'a Words,
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
            Self::Function { gates, x, .. } => gates.gates().map(|gate| Deal::Gate(gate.clone(), x.len())).collect(),
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

    /// The first operand, and the second of products.
    fn words(&self) -> (&Words, Option<&Words>) {
        match self {
            Self::Matmul { x, y, .. } | Self::Product { x, y, .. } => (x, Some(y)),
            Self::Shift { x, .. } | Self::Relu { x, .. } | Self::Softmax { x, .. } => (x, None),
            Self::Function { x, .. } | Self::Table { x, .. } => (x, None),
        }
    }

    /// The operands in host memory; the second has no elements if there is one.
    ///
    /// # Errors
    /// [`InferenceError::LayerValue`] for operands of another engine.
    pub(crate) fn operands(&self) -> Result<[&[u64]; 2], InferenceError> {
        let (x, y) = self.words();
        Ok([x.on_host()?, y.map_or(Ok(&[][..]), Words::on_host)?])
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
            _ => self.words().0.len(),
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
    /// [`InferenceError::Pfss`] if the operands do not fit together, [`InferenceError::LayerValue`]
    /// if they are not in host memory.
    pub fn plain(&self) -> Result<Vec<u64>, InferenceError> {
        let [x, y] = self.operands()?;
        let map =
            |f: &dyn Fn(i64) -> i64| x.iter().map(|word| f(word.cast_signed()).cast_unsigned()).collect::<Vec<u64>>();
        Ok(match self {
            Self::Matmul { ring, shape, .. } => {
                shape.multiply(x, y).into_iter().map(|word| ring.reduce(word)).collect()
            }
            Self::Product { ring, .. } => x.iter().zip(y).map(|(&x, &y)| ring.mul(x, y)).collect(),
            Self::Shift { shift, .. } => match shift.gate() {
                None => x.to_vec(),
                Some(gate) => x.iter().map(|&x| (gate.ring().signed(x) >> gate.f()).cast_unsigned()).collect(),
            },
            Self::Relu { .. } => map(&|value| value.max(0)),
            Self::Function { function, .. } => map(&|value| function.eval(value)),
            Self::Table { function, .. } => map(&|value| function.eval(value)),
            Self::Softmax { plan, .. } => {
                let logits: Vec<i64> = x.iter().map(|word| word.cast_signed()).collect();
                plan.eval(&logits)?.into_iter().map(i64::cast_unsigned).collect()
            }
        })
    }

    /// Runs the step on shares in host memory, with the next keys or by opened weights.
    ///
    /// Each gate's keys are read when it runs.
    ///
    /// # Errors
    /// [`InferenceError`] if keys are missing or the session fails.
    pub(crate) fn shared<Q: SharedQueue>(
        &self,
        q: &Q,
        session: &mut Session<Box<dyn Channel + '_>>,
        keys: &mut KeyQueue,
        opened: Option<(WeightTriple, &OpenedWeights)>,
    ) -> Result<Vec<u64>, InferenceError> {
        let [x, y] = self.operands()?;
        if let Some((triple, weights)) = opened {
            return Ok(session.matmul_weights(q, triple, x, weights)?);
        }
        Ok(match self {
            Self::Matmul { .. } => session.matmul(q, keys.matrix()?, [x, y])?,
            Self::Product { .. } => session.product(q, keys.gate()?, [x, y])?,
            Self::Shift { shift, .. } => {
                let bundle = shift.gate().map(|_| keys.gate()).transpose()?;
                session.shift(q, shift, bundle, x)?
            }
            Self::Relu { range, .. } => session.run(q, Task::ReluWithin(*range), keys.gate()?, x)?.words,
            Self::Function { gates, .. } => session.function_from(q, gates, || keys.gate(), x)?,
            Self::Table { gates, .. } => session.table_function_from(q, gates, || keys.gate(), x)?,
            Self::Softmax { plan, .. } => session.softmax_from(q, plan, || keys.gate(), x)?,
        })
    }

    /// [`shared`](Self::shared) on shares in device memory, where the result stays.
    ///
    /// # Errors
    /// As [`shared`](Self::shared).
    pub(crate) fn on_device<'q, Q: SharedQueue + TensorOps>(
        &self,
        device: &mut DeviceWords<'q, Q>,
        session: &mut Session<Box<dyn Channel + '_>>,
        keys: &mut KeyQueue,
        opened: Option<(WeightTriple, &OpenedWeights)>,
    ) -> Result<DeviceShares<'q, Q>, InferenceError> {
        let x = device.get(self.words().0)?;
        Ok(match self {
            Self::Matmul { y, .. } => match opened {
                Some((triple, weights)) => session.matmul_weights_on_device(triple, &x, weights)?,
                None => match device.on_host(y) {
                    Some(y) => session.matmul_by_host_on_device(keys.matrix()?, &x, &y)?,
                    None => {
                        let y = device.get(y)?;
                        session.matmul_on_device(keys.matrix()?, [&x, &y])?
                    }
                },
            },
            Self::Product { y, .. } => {
                let y = device.get(y)?;
                session.product_on_device(keys.gate()?, [&x, &y])?
            }
            Self::Shift { shift, .. } => {
                let bundle = shift.gate().map(|_| keys.gate()).transpose()?;
                session.shift_on_device(shift, bundle, &x)?
            }
            Self::Relu { range, .. } => session.run_on_device(Task::ReluWithin(*range), keys.gate()?, &x)?,
            Self::Function { gates, .. } => session.function_on_device_from(gates, || keys.gate(), &x)?,
            Self::Table { gates, .. } => session.table_function_on_device_from(gates, || keys.gate(), &x)?,
            Self::Softmax { plan, .. } => session.softmax_on_device_from(plan, || keys.gate(), &x)?,
        })
    }
}
