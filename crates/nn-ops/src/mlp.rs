use backend_api::{Buffer as _, BufferRef as _, Queue, Ref, ops::linalg::LinalgOps};
use core_types::params::{
    elementwise::{Activation, SumParams},
    gemm::{BATCH_AXES, GemmParams, MatrixStrides},
};
use rand_core::Rng;

use crate::{
    NnError,
    io::{Tensor, Tensors},
};

/// A multi-layer perceptron in f32: dense layers with ReLU between them, trained by stochastic gradient descent with
/// momentum on the softmax cross-entropy.
///
/// Parameters stay on the queue's device. Activations are row-major `[rows][features]`, weights `[inputs][outputs]`.
///
/// ```
/// use nn_ops::{Mlp, Sgd};
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
///
/// let q = runtime::cpu()?;
/// let mut network = Mlp::new(&q, &[2, 16, 2], &mut ChaCha8Rng::seed_from_u64(2))?;
/// let x = q.upload(&[0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0f32])?; // the four inputs of XOR
/// let y = q.upload(&[0, 1, 1, 0u32])?;
/// for _ in 0..500 {
///     network.train_step(&q, x.view(), y.view(), Sgd { rate: 0.1, momentum: 0.9 })?;
/// }
/// assert_eq!(network.classify(&q, x.view())?, [0, 1, 1, 0]);
/// # use backend_api::{Buffer, Queue};
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Mlp<Q: Queue> {
    layers: Vec<Dense<Q>>,
}

/// One dense layer with its gradients' running sums.
struct Dense<Q: Queue> {
    inputs: usize,
    outputs: usize,
    weight: Q::Buf<f32>,
    bias: Q::Buf<f32>,
    weight_velocity: Q::Buf<f32>,
    bias_velocity: Q::Buf<f32>,
}

/// Stochastic gradient descent: `v = momentum v + g`, `w = w - rate v`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// Step size.
    pub rate: f32,
    /// Share of the last step kept, in `0..1`.
    pub momentum: f32,
}

impl<Q: LinalgOps> Mlp<Q> {
    /// A network with `sizes[0]` inputs, `sizes[i]` units in layer `i` and zero biases; weights uniform in
    /// `+-sqrt(6 / inputs)` (He et al., arXiv 1502.01852).
    ///
    /// # Errors
    /// [`NnError::Rank`] for fewer than two sizes, [`NnError::EmptyReduction`] for a size of 0, [`NnError::Backend`].
    pub fn new(q: &Q, sizes: &[usize], rng: &mut impl Rng) -> Result<Self, NnError> {
        if sizes.len() < 2 {
            return Err(NnError::Rank { op: "mlp", expected: 2, got: sizes.len() });
        }
        if sizes.contains(&0) {
            return Err(NnError::EmptyReduction { op: "mlp" });
        }
        let layer = |pair: &[usize]| {
            let (inputs, outputs) = (pair[0], pair[1]);
            let len = inputs.checked_mul(outputs).ok_or(NnError::Overflow { op: "mlp" })?;
            let limit = (6.0 / inputs as f32).sqrt();
            let uniform = |word: u32| (word >> 8) as f32 / (1 << 24) as f32; // in [0, 1)
            let weights: Vec<f32> = (0..len).map(|_| limit * (2.0 * uniform(rng.next_u32()) - 1.0)).collect();
            Ok(Dense {
                inputs,
                outputs,
                weight: q.upload(&weights)?,
                bias: q.zeros(outputs)?,
                weight_velocity: q.zeros(len)?,
                bias_velocity: q.zeros(outputs)?,
            })
        };
        Ok(Self { layers: sizes.windows(2).map(layer).collect::<Result<_, NnError>>()? })
    }

    /// The logits `[rows][classes]` of inputs `[rows][features]`.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] if the inputs are no whole number of rows, [`NnError::Backend`].
    pub fn forward(&self, q: &Q, x: Ref<'_, Q, f32>) -> Result<Q::Buf<f32>, NnError> {
        let mut activations = self.activations(q, x)?;
        activations.pop().ok_or(NnError::Rank { op: "mlp", expected: 2, got: 0 })
    }

    /// The class with the largest logit of each row, the first of equals.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn classify(&self, q: &Q, x: Ref<'_, Q, f32>) -> Result<Vec<u32>, NnError> {
        let logits = q.download(&self.forward(q, x)?)?;
        let best = |row: &[f32]| {
            (0u32..).zip(row).fold((0, f32::NEG_INFINITY), |best, (j, &v)| if v > best.1 { (j, v) } else { best }).0
        };
        Ok(logits.chunks_exact(self.classes()).map(best).collect())
    }

    /// One step of gradient descent on the mean cross-entropy of a batch; gives that mean from before the step.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] if inputs and targets are not of the same number of rows, [`NnError::EmptyReduction`]
    /// for an empty batch, [`NnError::Backend`].
    pub fn train_step(
        &mut self,
        q: &Q,
        x: Ref<'_, Q, f32>,
        targets: Ref<'_, Q, u32>,
        sgd: Sgd,
    ) -> Result<f32, NnError> {
        let rows = self.rows(x)?;
        if rows != targets.len() {
            let (lhs, rhs) = ([rows].as_slice().into(), [targets.len()].as_slice().into());
            return Err(NnError::ShapeMismatch { op: "cross_entropy", lhs, rhs });
        }
        if rows == 0 {
            return Err(NnError::EmptyReduction { op: "cross_entropy" });
        }
        let activations = self.activations(q, x)?;
        let classes = self.classes();
        let mut losses = q.zeros::<f32>(rows)?;
        let mut gradient = q.zeros::<f32>(rows * classes)?;
        let logits = activations[activations.len() - 1].view();
        q.cross_entropy(classes, 1.0 / rows as f32, logits, targets, losses.view_mut(), gradient.view_mut())?;

        for i in (0..self.layers.len()).rev() {
            let layer = &mut self.layers[i];
            match i.checked_sub(1).map(|below| &activations[below]) {
                None => layer.descend(q, rows, x, gradient.view(), sgd)?,
                Some(input) => {
                    // The gradient for the layer below needs the weights from before the step.
                    let below = layer.input_gradient(q, rows, gradient.view(), input.view())?;
                    layer.descend(q, rows, input.view(), gradient.view(), sgd)?;
                    gradient = below;
                }
            }
        }
        let sum: f64 = q.download(&losses)?.into_iter().map(f64::from).sum();
        Ok((sum / rows as f64) as f32)
    }

    /// The parameters as tensors named `names[i].weight` (`[inputs][outputs]`) and `names[i].bias`.
    ///
    /// # Errors
    /// [`NnError::Rank`] unless there is a name for each layer, [`NnError::Backend`].
    pub fn tensors(&self, q: &Q, names: &[&str]) -> Result<Tensors, NnError> {
        if names.len() != self.layers.len() {
            return Err(NnError::Rank { op: "mlp.tensors", expected: self.layers.len(), got: names.len() });
        }
        let mut tensors = Tensors::new();
        for (layer, name) in self.layers.iter().zip(names) {
            let weight = Tensor { shape: vec![layer.inputs, layer.outputs], data: q.download(&layer.weight)? };
            let bias = Tensor { shape: vec![layer.outputs], data: q.download(&layer.bias)? };
            tensors.insert(format!("{name}.weight"), weight);
            tensors.insert(format!("{name}.bias"), bias);
        }
        Ok(tensors)
    }

    fn classes(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.outputs)
    }

    fn rows(&self, x: Ref<'_, Q, f32>) -> Result<usize, NnError> {
        let features = self.layers.first().map_or(0, |layer| layer.inputs);
        match x.len().checked_rem(features) {
            Some(0) => Ok(x.len() / features),
            _ => {
                let (lhs, rhs) = ([0, features].as_slice().into(), [x.len()].as_slice().into());
                Err(NnError::ShapeMismatch { op: "mlp", lhs, rhs })
            }
        }
    }

    /// The output of every layer; ReLU is applied to all but the last.
    fn activations(&self, q: &Q, x: Ref<'_, Q, f32>) -> Result<Vec<Q::Buf<f32>>, NnError> {
        let rows = self.rows(x)?;
        let mut outputs: Vec<Q::Buf<f32>> = Vec::with_capacity(self.layers.len());
        for (i, layer) in self.layers.iter().enumerate() {
            let activation = if i + 1 < self.layers.len() { Activation::Relu } else { Activation::Identity };
            let output = match outputs.last() {
                None => layer.forward(q, rows, x, activation)?,
                Some(below) => layer.forward(q, rows, below.view(), activation)?,
            };
            outputs.push(output);
        }
        Ok(outputs)
    }
}

impl<Q: LinalgOps> Dense<Q> {
    fn forward(&self, q: &Q, rows: usize, x: Ref<'_, Q, f32>, activation: Activation) -> Result<Q::Buf<f32>, NnError> {
        let mut y = q.zeros(rows * self.outputs)?;
        let shape = Product { m: rows, n: self.outputs, k: self.inputs, activation };
        let p = shape.params(row_major(self.inputs), row_major(self.outputs));
        q.gemm(&p, x, self.weight.view(), Some(self.bias.view()), y.view_mut())?;
        Ok(y)
    }

    /// `relu'(input) (gradient W^T)`: the gradient of the layer below, whose output after ReLU is `input`.
    fn input_gradient(
        &self,
        q: &Q,
        rows: usize,
        gradient: Ref<'_, Q, f32>,
        input: Ref<'_, Q, f32>,
    ) -> Result<Q::Buf<f32>, NnError> {
        let mut product = q.zeros::<f32>(rows * self.inputs)?;
        let shape = Product { m: rows, n: self.inputs, k: self.outputs, activation: Activation::Identity };
        let p = shape.params(row_major(self.outputs), transposed(self.outputs));
        q.gemm(&p, gradient, self.weight.view(), None, product.view_mut())?;
        let mut below = q.zeros::<f32>(rows * self.inputs)?;
        // ReLU's output is positive exactly where its input is.
        q.activate_backward(Activation::Relu, input, product.view(), below.view_mut())?;
        Ok(below)
    }

    fn descend(
        &mut self,
        q: &Q,
        rows: usize,
        input: Ref<'_, Q, f32>,
        gradient: Ref<'_, Q, f32>,
        sgd: Sgd,
    ) -> Result<(), NnError> {
        let mut weight_gradient = q.zeros::<f32>(self.inputs * self.outputs)?;
        let shape = Product { m: self.inputs, n: self.outputs, k: rows, activation: Activation::Identity };
        let p = shape.params(transposed(self.inputs), row_major(self.outputs));
        q.gemm(&p, input, gradient, None, weight_gradient.view_mut())?;
        let mut bias_gradient = q.zeros::<f32>(self.outputs)?;
        let columns = SumParams { outer: 1, len: rows as u64, inner: self.outputs as u64, accumulate: 0 };
        q.sum_axis(&columns, gradient, bias_gradient.view_mut())?;
        q.axpby(1.0, weight_gradient.view(), sgd.momentum, self.weight_velocity.view_mut())?;
        q.axpby(1.0, bias_gradient.view(), sgd.momentum, self.bias_velocity.view_mut())?;
        q.axpby(-sgd.rate, self.weight_velocity.view(), 1.0, self.weight.view_mut())?;
        q.axpby(-sgd.rate, self.bias_velocity.view(), 1.0, self.bias.view_mut())?;
        Ok(())
    }
}

/// `act(A B + bias)` with an m x k matrix A and a k x n matrix B, into a row-major m x n one.
struct Product {
    m: usize,
    n: usize,
    k: usize,
    activation: Activation,
}

impl Product {
    fn params(&self, a: MatrixStrides, b: MatrixStrides) -> GemmParams {
        GemmParams {
            batch: [1; BATCH_AXES],
            m: self.m as u64,
            n: self.n as u64,
            k: self.k as u64,
            a,
            b,
            c: row_major(self.n),
            accumulate: 0,
            activation: self.activation,
        }
    }
}

/// A row-major matrix with `cols` columns.
fn row_major(cols: usize) -> MatrixStrides {
    MatrixStrides { batch: [0; BATCH_AXES], row: cols as u64, col: 1 }
}

/// The transpose of a row-major matrix with `cols` columns.
fn transposed(cols: usize) -> MatrixStrides {
    MatrixStrides { batch: [0; BATCH_AXES], row: 1, col: cols as u64 }
}

impl<Q: Queue> core::fmt::Debug for Mlp<Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let sizes: Vec<_> = self.layers.iter().map(|layer| (layer.inputs, layer.outputs)).collect();
        f.debug_struct("Mlp").field("layers", &sizes).finish_non_exhaustive()
    }
}
