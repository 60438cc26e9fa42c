//! The weights that an architecture has: name, shape and precision of each.

use crate::FRACTION_BITS;

/// A tensor of weights that an architecture has. Public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in a safetensors file.
    pub name: String,
    /// Its shape there.
    pub shape: Vec<usize>,
    /// Whether outputs come first there, as in PyTorch.
    ///
    /// A model takes `[inputs][outputs]`, so that the file's first axis becomes the last.
    pub outputs_first: bool,
    /// Fraction bits that it is rounded to.
    pub fraction_bits: u32,
}

impl Parameter {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A tensor that the file has as a model takes it.
    pub(crate) fn stored(name: &str, shape: Vec<usize>) -> Self {
        Self { name: name.to_owned(), shape, outputs_first: false, fraction_bits: FRACTION_BITS }
    }

    /// Weights `[outputs][..inputs]` of a dense layer or convolution, and biases, if any.
    pub(crate) fn outputs_first(name: &str, shape: Vec<usize>, has_bias: bool) -> Vec<Self> {
        let outputs = shape.first().copied().unwrap_or_default();
        let weight = Self { outputs_first: true, ..Self::stored(&format!("{name}.weight"), shape) };
        let bias = has_bias.then(|| Self::bias(name, vec![outputs]));
        [weight].into_iter().chain(bias).collect()
    }

    /// Weights `[inputs][outputs]` and biases of a dense layer.
    pub(crate) fn dense(name: &str, inputs: usize, outputs: usize) -> [Self; 2] {
        Self::with_bias(name, [inputs, outputs], vec![outputs])
    }

    /// The same with biases `[positions][outputs]`, for sequences.
    pub(crate) fn dense_at(name: &str, inputs: usize, outputs: usize, positions: usize) -> [Self; 2] {
        Self::with_bias(name, [inputs, outputs], vec![positions, outputs])
    }

    fn with_bias(name: &str, weight: [usize; 2], bias: Vec<usize>) -> [Self; 2] {
        [Self::stored(&format!("{name}.weight"), weight.to_vec()), Self::bias(name, bias)]
    }

    /// Biases, which are added to products.
    fn bias(name: &str, shape: Vec<usize>) -> Self {
        Self { fraction_bits: 2 * FRACTION_BITS, ..Self::stored(&format!("{name}.bias"), shape) }
    }
}
