//! The weights that an architecture has: name, shape and precision of each.

use crate::FRACTION_BITS;

/// A tensor of weights that an architecture has. Public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in a safetensors file.
    pub name: String,
    /// Its shape there.
    pub shape: Vec<usize>,
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

    /// Weights `[inputs][outputs]` and biases of a dense layer.
    pub(crate) fn dense(name: &str, inputs: usize, outputs: usize) -> [Self; 2] {
        Self::with_bias(name, [inputs, outputs], vec![outputs])
    }

    /// The same with biases `[positions][outputs]`, for sequences.
    pub(crate) fn dense_at(name: &str, inputs: usize, outputs: usize, positions: usize) -> [Self; 2] {
        Self::with_bias(name, [inputs, outputs], vec![positions, outputs])
    }

    fn with_bias(name: &str, weight: [usize; 2], bias: Vec<usize>) -> [Self; 2] {
        let parameter = |part: &str, shape: Vec<usize>, fraction_bits| Self {
            name: format!("{name}.{part}"),
            shape,
            fraction_bits,
        };
        [
            parameter("weight", weight.to_vec(), FRACTION_BITS),
            // added to products
            parameter("bias", bias, 2 * FRACTION_BITS),
        ]
    }
}
