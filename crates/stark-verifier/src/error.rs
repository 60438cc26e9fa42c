//! Why a proof is refused.

use core::fmt;

use crate::transcript::digest::Digest;

/// The check that failed.
///
/// Trees are numbered as in the proof: 0 is the preprocessed columns, 1 the trace, the last the
/// composition polynomial.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerificationError {
    /// The proof was made with other parameters.
    Config,
    /// A list does not have the length that the statement gives it.
    Length {
        /// Which list.
        part: Part,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        got: usize,
    },
    /// The preprocessed root is not the statement's, or a tree without columns has a root.
    Root {
        /// The tree.
        tree: usize,
        /// The root it must have.
        expected: Digest,
        /// The root it has.
        got: Digest,
    },
    /// The caller did not commit to each tree but the last before the proof was checked.
    Transcript {
        /// Trees to commit to.
        expected: usize,
        /// Trees committed to.
        got: usize,
    },
    /// The caller has other inputs than the components take.
    Inputs {
        /// The component, or `None` where their number is wrong.
        component: Option<usize>,
        /// Challenges of the component, or components.
        expected: usize,
        /// The number that the caller gave.
        got: usize,
    },
    /// The out-of-domain point that was drawn cannot be used for checks.
    ///
    /// This happens once in 2^90 proofs.
    Point,
    /// The composition polynomial differs from the constraints.
    ///
    /// They are compared at the out-of-domain point.
    Constraints,
    /// The nonce does not show the work.
    ProofOfWork,
    /// The queried values of a tree are not in it.
    Tree {
        /// The tree.
        tree: usize,
        /// How they fail.
        error: MerkleError,
    },
    /// The quotients are not of low degree.
    Fri(FriError),
}

/// A list of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Roots of the trees.
    Commitments,
    /// Trees that were sampled.
    SampledTrees,
    /// Columns of a tree that were sampled.
    SampledColumns {
        /// The tree.
        tree: usize,
    },
    /// Values of a column outside the domain.
    SampledValues {
        /// The tree.
        tree: usize,
        /// The column.
        column: usize,
    },
    /// Trees that were opened.
    Decommitments,
    /// Trees with queried values.
    QueriedTrees,
    /// Columns of a tree with queried values.
    QueriedColumns {
        /// The tree.
        tree: usize,
    },
    /// Queried values of a column.
    QueriedValues {
        /// The tree.
        tree: usize,
        /// The column.
        column: usize,
    },
}

/// How an opening of a Merkle tree fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MerkleError {
    /// A digest is missing.
    WitnessTooShort,
    /// A digest is left over.
    WitnessTooLong,
    /// The digests lead to another root.
    Root,
    /// Two queries of one leaf of a lower tree have different values.
    Conflict {
        /// The column.
        column: usize,
        /// The later of the queries, by its place among them.
        query: usize,
    },
}

/// A failure of the proof of low degree. Layer 0 is the layer of the quotients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FriError {
    /// The number of inner layers does not match the folds of the degree.
    Layers {
        /// Layers there must be.
        expected: usize,
        /// Layers there are.
        got: usize,
    },
    /// A layer does not have the values that fold with the queried ones.
    Witness {
        /// The layer.
        layer: usize,
        /// Values there must be.
        expected: u64,
        /// Values there are.
        got: usize,
    },
    /// The values of a layer are not in its tree.
    Tree {
        /// The layer.
        layer: usize,
        /// How they fail.
        error: MerkleError,
    },
    /// The last polynomial exceeds its degree bound, or does not match its declared length.
    LastLayerLength {
        /// The bound.
        bound: usize,
        /// Coefficients.
        got: usize,
    },
    /// The last polynomial does not have the value that the layers fold to.
    LastLayer {
        /// The position in the last domain.
        position: u32,
    },
}

impl fmt::Display for VerificationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config => write!(f, "the proof's parameters differ from the verifier's"),
            Self::Length { part, expected, got } => write!(f, "expected {expected} {part}, got {got}"),
            Self::Root { tree, expected, got } => write!(f, "tree {tree} has the root {got}, expected {expected}"),
            Self::Transcript { expected, got } => {
                write!(f, "expected commitments to {expected} trees before verification, got {got}")
            }
            Self::Inputs { component: Some(component), expected, got } => {
                write!(f, "component {component} reads {expected} challenges, got {got}")
            }
            Self::Inputs { component: None, expected, got } => {
                write!(f, "expected the inputs of {expected} components, got {got}")
            }
            Self::Point => write!(f, "the out-of-domain point drawn is degenerate"),
            Self::Constraints => {
                write!(f, "the constraints and the composition polynomial differ at the out-of-domain point")
            }
            Self::ProofOfWork => write!(f, "the proof-of-work nonce is invalid"),
            Self::Tree { tree, .. } => write!(f, "the opening of tree {tree} is invalid"),
            Self::Fri(_) => write!(f, "the quotients are not of low degree"),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commitments => write!(f, "commitments"),
            Self::SampledTrees => write!(f, "trees with sampled values"),
            Self::SampledColumns { tree } => write!(f, "sampled columns of tree {tree}"),
            Self::SampledValues { tree, column } => write!(f, "sampled values of column {column} of tree {tree}"),
            Self::Decommitments => write!(f, "decommitments"),
            Self::QueriedTrees => write!(f, "trees with queried values"),
            Self::QueriedColumns { tree } => write!(f, "queried columns of tree {tree}"),
            Self::QueriedValues { tree, column } => write!(f, "queried values of column {column} of tree {tree}"),
        }
    }
}

impl fmt::Display for MerkleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WitnessTooShort => write!(f, "the witness is too short"),
            Self::WitnessTooLong => write!(f, "the witness is too long"),
            Self::Root => write!(f, "the queried values hash to a different root"),
            Self::Conflict { column, query } => {
                write!(f, "column {column} has two values at the leaf of query {query}")
            }
        }
    }
}

impl fmt::Display for FriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layers { expected, got } => write!(f, "expected {expected} inner layers of FRI, got {got}"),
            Self::Witness { layer, expected, got } => {
                write!(f, "expected {expected} witness values in layer {layer} of FRI, got {got}")
            }
            Self::Tree { layer, .. } => write!(f, "the opening of layer {layer} of FRI is invalid"),
            Self::LastLayerLength { bound, got } => {
                write!(f, "expected a power of two of at most {bound} coefficients in the last layer of FRI, got {got}")
            }
            Self::LastLayer { position } => {
                write!(f, "the last-layer polynomial of FRI differs from the folded value at position {position}")
            }
        }
    }
}

impl core::error::Error for VerificationError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Tree { error, .. } => Some(error),
            Self::Fri(error) => Some(error),
            _ => None,
        }
    }
}

impl core::error::Error for MerkleError {}

impl core::error::Error for FriError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Tree { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl From<FriError> for VerificationError {
    fn from(error: FriError) -> Self {
        Self::Fri(error)
    }
}
