//! The one error type of all operators, and the shapes it names.

use backend_api::BackendError;
use thiserror::Error;

/// The result of a function that fails with [`NnError`] unless another error is given.
pub(crate) type Result<T, E = NnError> = core::result::Result<T, E>;

/// Why an operator refused its arguments, or the device's error.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum NnError {
    /// An operand or a result does not have the shape that the operator needs.
    #[error("`{op}` expected {tensor} of shape {expected}, got {got}")]
    ShapeMismatch {
        /// Name of the operator.
        op: &'static str,
        /// Name of the operand or result.
        tensor: &'static str,
        /// The shape that is needed.
        expected: Shape,
        /// The shape supplied.
        got: Shape,
    },
    /// Two shapes have no common one by the rules of broadcasting.
    #[error("`{op}` cannot broadcast shapes {lhs} and {rhs}")]
    Broadcast {
        /// Name of the operator.
        op: &'static str,
        /// The shape to be repeated.
        lhs: Shape,
        /// The shape that it was to fit.
        rhs: Shape,
    },
    /// The operator needs a different number of axes.
    #[error("`{op}` expected {tensor} with {expected} axes, got {got}")]
    Rank {
        /// Name of the operator.
        op: &'static str,
        /// Name of the operand.
        tensor: &'static str,
        /// Number of axes that is needed.
        expected: usize,
        /// Axes of the operand.
        got: usize,
    },
    /// The operator needs more axes.
    #[error("`{op}` needs {min} axes or more, got {got}")]
    TooFewAxes {
        /// Name of the operator.
        op: &'static str,
        /// Least number of axes.
        min: usize,
        /// Axes of the operand.
        got: usize,
    },
    /// More axes than a tensor can have.
    #[error("expected at most {max} axes, got {got}")]
    TooManyAxes {
        /// The most axes.
        max: usize,
        /// Requested axes.
        got: usize,
    },
    /// The operator cannot work on elements that lie like this.
    #[error("`{op}` cannot use {tensor} with strides {strides:?}: {why}")]
    InvalidStride {
        /// Name of the operator.
        op: &'static str,
        /// Name of the operand or result.
        tensor: &'static str,
        /// The strides, outermost axis first.
        strides: Vec<usize>,
        /// The defect.
        why: &'static str,
    },
    /// There is no such axis.
    #[error("`{op}` expected an axis below {rank}, got {axis}")]
    Axis {
        /// Name of the operator.
        op: &'static str,
        /// Axes of the operand.
        rank: usize,
        /// The requested axis.
        axis: usize,
    },
    /// There are no such indices along an axis.
    #[error("`{op}` expected a slice of an axis of length {len}, got {start}..{end}")]
    Slice {
        /// Name of the operator.
        op: &'static str,
        /// Length of the axis.
        len: usize,
        /// First requested index.
        start: usize,
        /// One more than the last.
        end: usize,
    },
    /// An index names no row.
    #[error("`{op}` expected indices below {rows}, got {got} at place {place}")]
    Index {
        /// Name of the operator.
        op: &'static str,
        /// Where among the indices it stands.
        place: usize,
        /// Rows of the table.
        rows: usize,
        /// The index.
        got: u32,
    },
    /// Values lie beyond the range of the type that they were to be converted to.
    #[error("`{op}` found {count} values beyond the range of the result, the first of them at {first}")]
    Range {
        /// Name of the operator.
        op: &'static str,
        /// How many there are.
        count: u64,
        /// Row-major index of the first.
        first: u64,
    },
    /// The result over an axis of length 0 is undefined.
    #[error("`{op}` over an axis of length 0 has no result")]
    EmptyReduction {
        /// Name of the operator.
        op: &'static str,
    },
    /// A view holds fewer elements than its shape and strides reach.
    #[error("expected a view of at least {expected} elements, got {got}")]
    ViewTooShort {
        /// Elements reached.
        expected: usize,
        /// Elements in the view.
        got: usize,
    },
    /// The number of values differs from a tensor's number of elements.
    #[error("`{op}` expected {tensor} of {expected} elements, got {got}")]
    Length {
        /// Name of the operator.
        op: &'static str,
        /// Name of the tensor.
        tensor: &'static str,
        /// Elements of the tensor.
        expected: usize,
        /// Values supplied.
        got: usize,
    },
    /// A named tensor is not among those that were given.
    #[error("there is no tensor `{name}`")]
    MissingTensor {
        /// The name looked for.
        name: String,
    },
    /// Two tensors have one name.
    #[error("there are two tensors `{name}`")]
    DuplicateTensor {
        /// The name.
        name: String,
    },
    /// The text of a checkpoint does not say what was looked for.
    #[error("checkpoint: expected {expected} under `{key}`, got {}", .got.as_ref().map_or("nothing".to_owned(), |got| format!("`{got}`")))]
    Checkpoint {
        /// The key.
        key: String,
        /// What should stand there.
        expected: &'static str,
        /// What does, if anything.
        got: Option<String>,
    },
    /// A named tensor does not fit its use.
    #[error("tensor `{name}`: {reason}")]
    NamedTensor {
        /// The name.
        name: String,
        /// The mismatch.
        reason: Box<NnError>,
    },
    /// A number of elements or an index does not fit the address space.
    #[error("`{op}`: the shape has more elements than can be addressed")]
    Overflow {
        /// Name of the operator.
        op: &'static str,
    },
    /// A scalar argument is outside its domain.
    #[error("`{op}`: {name} must be {domain}, got {value}")]
    Parameter {
        /// Name of the operator.
        op: &'static str,
        /// Name of the argument.
        name: &'static str,
        /// The values allowed.
        domain: &'static str,
        /// The value supplied.
        value: f64,
    },
    /// The operands have no result in floating point, as the device found out.
    #[error("`{op}`: {why}")]
    Numerical {
        /// Name of the operator.
        op: &'static str,
        /// What stands in the way.
        why: &'static str,
    },
    /// Memory or numbers that were made by another plan.
    #[error("`{op}` expected the {what} of this plan, got the {what} of another")]
    OtherPlan {
        /// Name of the operator.
        op: &'static str,
        /// What was given.
        what: &'static str,
    },
    /// A variable of another tape.
    #[error("`{op}` expected a variable of this tape, got one of another tape")]
    OtherTape {
        /// Name of the operator.
        op: &'static str,
    },
    /// A backward pass of a forward pass that saved nothing, or of a loss without gradients.
    #[error("`{op}` cannot compute gradients: {why}")]
    NoGradient {
        /// Name of the operator.
        op: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// A backward pass failed after its first addition, and set its gradients to zeros.
    ///
    /// They are the gradients of all parameters of its layer.
    #[error("`{op}` failed after it had begun to add gradients, and set them to zeros: {reason}")]
    GradientsCleared {
        /// Name of the backward pass.
        op: &'static str,
        /// The failure.
        reason: Box<NnError>,
    },
    /// The device failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl NnError {
    /// A tensor whose shape the operator does not take.
    pub(crate) fn shape(
        op: &'static str,
        tensor: &'static str,
        expected: impl Into<Shape>,
        got: impl Into<Shape>,
    ) -> Self {
        Self::ShapeMismatch { op, tensor, expected: expected.into(), got: got.into() }
    }

    /// A scalar argument outside its domain.
    pub(crate) fn parameter(op: &'static str, name: &'static str, domain: &'static str, value: impl Into<f64>) -> Self {
        Self::Parameter { op, name, domain, value: value.into() }
    }

    /// A named tensor that does not fit its use.
    pub(crate) fn named(name: impl Into<String>, reason: Self) -> Self {
        Self::NamedTensor { name: name.into(), reason: Box::new(reason) }
    }
}

/// The lengths of a tensor's axes in an error message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(Vec<usize>);

impl From<&[usize]> for Shape {
    fn from(shape: &[usize]) -> Self {
        Self(shape.to_vec())
    }
}

impl<const RANK: usize> From<[usize; RANK]> for Shape {
    fn from(shape: [usize; RANK]) -> Self {
        Self(shape.to_vec())
    }
}

impl core::fmt::Display for Shape {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
