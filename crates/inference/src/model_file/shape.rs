//! The shapes of the results of layers.

use super::layer::{Convolution, LayerKind};

/// The greatest declared length of an axis.
pub(super) const MAX_LEN: u32 = 1 << 16;
/// The most elements of a tensor of one input, and of the weights of one layer.
pub(super) const MAX_ELEMENTS: u64 = 1 << 26;
/// The most positions of a sequence with attention: the longest row of a softmax.
const MAX_POSITIONS: u32 = 1024;
/// The greatest kernel, stride and padding of a convolution.
const MAX_KERNEL: u32 = 64;

/// A value that a layer does not take.
#[derive(Debug)]
pub(super) struct Misfit {
    pub(super) what: &'static str,
    pub(super) expected: String,
    pub(super) got: String,
}

impl Misfit {
    fn new(what: &'static str, expected: impl Into<String>, got: impl ToString) -> Self {
        Self { what, expected: expected.into(), got: got.to_string() }
    }
}

/// The number of elements of a shape, saturating.
pub(crate) fn elements(shape: &[u32]) -> u64 {
    shape.iter().fold(1u64, |product, &len| product.saturating_mul(len.into()))
}

/// Checks a declared length.
pub(super) fn check_len(what: &'static str, got: u32, max: u32) -> Result<(), Misfit> {
    if (1..=max).contains(&got) { Ok(()) } else { Err(Misfit::new(what, format!("1 to {max}"), got)) }
}

impl LayerKind {
    /// The shape of the results for an input of this shape, but for residual connections.
    ///
    /// Lengths of inputs are at least 1.
    pub(super) fn output_shape(&self, input: &[u32]) -> Result<Vec<u32>, Misfit> {
        let axes = |expected: &str| Misfit::new("its input", expected, format!("the shape {input:?}"));
        match self {
            Self::Dense { outputs, .. } | Self::Embedding { outputs } => {
                let [leading @ .., inputs] = input else { return Err(axes("a shape")) };
                check_len("outputs", *outputs, MAX_LEN)?;
                check_weights(&[*inputs, *outputs])?;
                Ok(leading.iter().copied().chain([*outputs]).collect())
            }
            Self::LayerNorm { .. } => match input {
                [.., 1..=MAX_LEN] => Ok(input.to_vec()),
                _ => Err(axes(&format!("at most {MAX_LEN} elements in a row"))),
            },
            Self::Attention { heads, .. } => {
                let &[positions @ 1..=MAX_POSITIONS, width @ 1..=MAX_LEN] = input else {
                    return Err(axes(&format!("the shape [positions, width] with at most {MAX_POSITIONS} positions")));
                };
                check_heads(*heads, width)?;
                check_weights(&[width, 3 * width])?;
                Ok(vec![positions, width])
            }
            Self::PositionEmbedding => match input {
                [_, _] => Ok(input.to_vec()),
                _ => Err(axes("the shape [positions, width]")),
            },
            Self::Conv2d(convolution) => {
                let &[channels, height, width] = input else { return Err(axes("the shape [channels, height, width]")) };
                convolution.check(channels)?;
                let [rows, cols] = convolution.positions([height, width])?;
                Ok(vec![convolution.outputs, rows, cols])
            }
            Self::Flatten => match u32::try_from(elements(input)) {
                Ok(len) => Ok(vec![len]),
                Err(_) => Err(axes("fewer than 2^32 elements")),
            },
            Self::MeanPool => match *input {
                [_, width] => Ok(vec![width]),
                [channels, _, _] => Ok(vec![channels]),
                _ => Err(axes("the shape [positions, width] or [channels, height, width]")),
            },
            Self::Activation(_) | Self::Residual { .. } => Ok(input.to_vec()),
        }
    }

    /// The elements of its largest tensor for one input, from the shapes before and after.
    pub(super) fn largest(&self, input: &[u32], output: &[u32]) -> u64 {
        let within = match (self, input, output) {
            // Queries, keys and values together, and the scores of all heads.
            (Self::Attention { heads, .. }, [positions, width], _) => {
                elements(&[3, *positions, *width]).max(elements(&[*heads, *positions, *positions]))
            }
            // A patch for each pixel of the result.
            (Self::Conv2d(convolution), [channels, ..], [_, rows, cols]) => {
                let [high, wide] = convolution.kernel;
                elements(&[*rows, *cols, *channels, high, wide])
            }
            _ => 0,
        };
        within.max(elements(input)).max(elements(output))
    }
}

impl Convolution {
    fn check(&self, channels: u32) -> Result<(), Misfit> {
        check_len("outputs", self.outputs, MAX_LEN)?;
        for [kernel, stride, padding] in [0, 1].map(|axis| [self.kernel[axis], self.stride[axis], self.padding[axis]]) {
            check_len("kernel", kernel, MAX_KERNEL)?;
            check_len("stride", stride, MAX_KERNEL)?;
            if padding > MAX_KERNEL {
                return Err(Misfit::new("padding", format!("0 to {MAX_KERNEL}"), padding));
            }
        }
        check_weights(&[self.outputs, channels, self.kernel[0], self.kernel[1]])
    }

    /// Rows and columns of the result for images of this height and width.
    fn positions(&self, pixels: [u32; 2]) -> Result<[u32; 2], Misfit> {
        let mut positions = [0; 2];
        for axis in [0, 1] {
            // an input has fewer than 2^27 elements
            let padded = pixels[axis] + 2 * self.padding[axis];
            let Some(room) = padded.checked_sub(self.kernel[axis]) else {
                let what = format!("at most {padded}, the pixels with their padding");
                return Err(Misfit::new("kernel", what, self.kernel[axis]));
            };
            positions[axis] = room / self.stride[axis] + 1;
        }
        Ok(positions)
    }
}

/// Checks that a head's width is a power of four, whose root divides scores by a shift.
fn check_heads(heads: u32, width: u32) -> Result<(), Misfit> {
    let is_power_of_four = |len: u32| len.is_power_of_two() && len.ilog2().is_multiple_of(2);
    if heads > 0 && width.is_multiple_of(heads) && is_power_of_four(width / heads) {
        return Ok(());
    }
    Err(Misfit::new("heads", format!("a divisor of the width {width} that leaves a power of four"), heads))
}

fn check_weights(shape: &[u32]) -> Result<(), Misfit> {
    match elements(shape) {
        0..=MAX_ELEMENTS => Ok(()),
        got => Err(Misfit::new("weights", format!("at most {MAX_ELEMENTS} elements"), got)),
    }
}
