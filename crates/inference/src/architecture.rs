//! The networks that run: built in, described by a file, or Rust functions.

use core::fmt;
use std::sync::Arc;

use crate::{FRACTION_BITS, function::FunctionModel, model_file::ModelFile};

/// A network. It is public: both parties and the dealer have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// Two dense layers of 64 and 10 units with ReLU between them, on 8x8 images.
    Digits,
    /// A transformer block of 4 heads and width 16 with GeLU and layer norms.
    ///
    /// It reads the same images as sequences of 8 rows.
    Transformer,
    /// A network described by a file.
    File(Arc<ModelFile>),
    /// A network that is a Rust function. Key folders identify it and do not hold it.
    Function(Arc<FunctionModel>),
}

/// The shapes and limits of a network that is not built in.
pub(crate) struct Described<'a> {
    pub(crate) input_shape: &'a [u32],
    /// The least and the greatest value of an input.
    pub(crate) input_limits: [i32; 2],
    pub(crate) output_shape: &'a [u32],
    pub(crate) output_fraction_bits: u32,
    /// Whether inputs are one-hot vectors, for an embedding.
    pub(crate) is_one_hot: bool,
    /// The most inputs of a batch.
    pub(crate) max_count: usize,
}

impl Architecture {
    /// Every built-in architecture.
    pub const ALL: [Self; 2] = [Self::Digits, Self::Transformer];

    /// Its name, on a command line and in key folders, or given by its author.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Digits => "digits",
            Self::Transformer => "transformer",
            Self::File(file) => file.name(),
            Self::Function(model) => &model.name,
        }
    }

    /// The file that describes it, if there is one.
    #[must_use]
    pub fn file(&self) -> Option<&ModelFile> {
        match self {
            Self::Digits | Self::Transformer | Self::Function(_) => None,
            Self::File(file) => Some(file),
        }
    }

    /// Its shapes and limits; `None` if it is built in.
    pub(crate) fn described(&self) -> Option<Described<'_>> {
        match self {
            Self::Digits | Self::Transformer => None,
            Self::File(file) => Some(Described {
                input_shape: file.input_shape(),
                input_limits: file.input_limits(),
                output_shape: file.output_shape(),
                output_fraction_bits: file.output_fraction_bits(),
                is_one_hot: file.is_one_hot(),
                max_count: file.max_count(),
            }),
            Self::Function(model) => Some(Described {
                input_shape: &model.input_shape,
                input_limits: model.limits.inputs,
                output_shape: &model.output_shape,
                output_fraction_bits: FRACTION_BITS,
                is_one_hot: model.trace.is_one_hot,
                max_count: ModelFile::max_count_of(model.trace.largest),
            }),
        }
    }

    pub(crate) fn names() -> String {
        Self::ALL.each_ref().map(Self::name).join(", ")
    }
}

impl From<ModelFile> for Architecture {
    fn from(file: ModelFile) -> Self {
        Self::File(Arc::new(file))
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
