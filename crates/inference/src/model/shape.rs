//! The shape of a transformer, and limits on its values that a caller declares.

use pfss::SignedRange;

use crate::{InferenceError, Tensor, fixed_point::ONE};

/// Where the layer norms of a transformer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormPlacement {
    /// Before attention and before the feed-forward network, as in GPT-2.
    ///
    /// The dense layer after a norm includes its learned factors.
    Pre,
    /// After each residual connection, as in BERT (Vaswani et al., arXiv 1706.03762).
    ///
    /// Learned factors are separate, since the next residual connection takes their products.
    Post,
}

/// The shape of a transformer: equal layers, each of attention and a feed-forward network.
///
/// It is public. Both parties and the dealer have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransformerShape {
    /// Number of layers.
    pub layers: u32,
    /// Elements of a hidden state.
    pub width: u32,
    /// Heads of attention. Each takes `width / heads` elements, a power of four.
    pub heads: u32,
    /// Units of the feed-forward network.
    pub hidden: u32,
    /// Positions of a sequence, at most [`MAX_SEQUENCE`](Self::MAX_SEQUENCE).
    pub sequence: u32,
    /// Whether a position attends only to itself and to the positions before it.
    pub causal: bool,
    /// Where the layer norms are.
    pub norm: NormPlacement,
}

/// Limits on magnitudes that a caller vouches for, as integers.
///
/// Ranges proven from a limit on weights alone grow from layer to layer and leave 64 bits at the
/// widths of published models. Values beyond a limit would give arbitrary results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredLimits {
    /// Weights and biases.
    pub weights: u32,
    /// Hidden states between layers, and their sums with the results of attention.
    pub residual: u32,
    /// Standard deviation of the elements of a hidden state.
    pub deviation: u32,
    /// Queries, keys and values.
    pub projections: u32,
    /// Scores of attention, divided by the root of a head's width.
    pub scores: u32,
    /// Inputs of GeLU, at most 4095.
    pub hidden: u32,
}

/// A shape, with limits if they are declared and not proven.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransformerBlock {
    pub(crate) shape: TransformerShape,
    pub(crate) limits: Option<DeclaredLimits>,
}

impl TransformerShape {
    /// The most positions: the longest row of a softmax.
    pub const MAX_SEQUENCE: u32 = 1024;
    /// The greatest width, number of hidden units and number of layers.
    const MAX_LEN: u32 = 1 << 16;

    /// Checks that the lengths go together.
    ///
    /// # Errors
    /// [`InferenceError::Shape`] with the first length that does not.
    pub fn check(&self) -> Result<(), InferenceError> {
        let Self { layers, width, heads, hidden, sequence, .. } = *self;
        let lengths = [
            ("layers", layers, Self::MAX_LEN),
            ("the width", width, Self::MAX_LEN),
            ("heads", heads, width),
            ("hidden units", hidden, Self::MAX_LEN),
            ("positions", sequence, Self::MAX_SEQUENCE),
        ];
        for (what, got, max) in lengths {
            if got == 0 || got > max {
                return Err(InferenceError::Shape { what, expected: format!("1 to {max}"), got });
            }
        }
        let per_head = width / heads;
        if !width.is_multiple_of(heads) || !per_head.is_power_of_two() || !per_head.ilog2().is_multiple_of(2) {
            let expected = format!("a divisor of the width {width} that leaves a power of four");
            return Err(InferenceError::Shape { what: "heads", expected, got: heads });
        }
        Ok(())
    }

    /// Elements of a hidden state in one head.
    pub(crate) const fn head_width(&self) -> usize {
        (self.width / self.heads) as usize
    }

    /// Scores are divided by the root of the head's width, which is two to this power.
    pub(crate) const fn log_scale(&self) -> u32 {
        (self.width / self.heads).ilog2() / 2
    }

    /// Whether norms have separate learned factors.
    pub(crate) fn has_norm_factors(&self) -> bool {
        self.norm == NormPlacement::Post
    }
}

impl TransformerBlock {
    /// `x` with its proven range cut to a declared limit, if limits are declared.
    pub(crate) fn vouched(&self, x: Tensor, limit: fn(&DeclaredLimits) -> u32) -> Result<Tensor, InferenceError> {
        match &self.limits {
            None => Ok(x),
            Some(limits) => Ok(Tensor { range: within(x.range, i64::from(limit(limits)) * ONE)?, ..x }),
        }
    }

    /// A range of sums of `width` squares, cut to the declared deviation if limits are declared.
    pub(crate) fn vouched_squares(&self, sums: SignedRange) -> Result<SignedRange, InferenceError> {
        match &self.limits {
            None => Ok(sums),
            Some(limits) => {
                let deviation = SignedRange::new(0, i64::from(limits.deviation) * ONE)?;
                let squares = deviation.checked_mul(deviation).and_then(|square| square.sum_of(self.shape.width));
                // a limit that 64 bits do not hold is beyond all proven sums
                squares.map_or(Ok(sums), |squares| within(sums, squares.max()))
            }
        }
    }
}

/// A range cut to magnitudes of at most `limit`.
pub(super) fn within(range: SignedRange, limit: i64) -> Result<SignedRange, InferenceError> {
    Ok(SignedRange::new(range.min().max(-limit), range.max().min(limit))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: TransformerShape = TransformerShape {
        layers: 1,
        width: 12,
        heads: 3,
        hidden: 24,
        sequence: 5,
        causal: false,
        norm: NormPlacement::Pre,
    };

    #[test]
    fn shapes_that_do_not_divide_are_refused_by_name() {
        assert!(SHAPE.check().is_ok());
        assert_eq!((SHAPE.head_width(), SHAPE.log_scale()), (4, 1));
        for (shape, message) in [
            (TransformerShape { layers: 0, ..SHAPE }, "layers: expected 1 to 65536, got 0"),
            (TransformerShape { width: 65_537, ..SHAPE }, "the width: expected 1 to 65536, got 65537"),
            (TransformerShape { heads: 13, ..SHAPE }, "heads: expected 1 to 12, got 13"),
            (TransformerShape { hidden: 0, ..SHAPE }, "hidden units: expected 1 to 65536, got 0"),
            (TransformerShape { sequence: 1025, ..SHAPE }, "positions: expected 1 to 1024, got 1025"),
            // 2 and 6 elements a head, and a rest
            (TransformerShape { heads: 6, ..SHAPE }, "leaves a power of four, got 6"),
            (TransformerShape { heads: 2, ..SHAPE }, "leaves a power of four, got 2"),
            (TransformerShape { heads: 5, ..SHAPE }, "leaves a power of four, got 5"),
        ] {
            let refused = shape.check().unwrap_err().to_string();
            assert!(refused.contains(message), "{refused}");
        }
    }
}
