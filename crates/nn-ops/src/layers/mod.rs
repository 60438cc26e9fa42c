//! Layers of models, with saved state, gradients, and one visitor of their parameters.

mod any;
mod attention;
mod dense;
mod elements;
mod embedding;
mod gradients;
mod gru;
mod layer;
mod mode;
mod norm;
mod parameters;
mod rows;
mod saved;
mod sequential;

pub use any::AnyLayer;
pub use attention::SelfAttention;
pub use embedding::Embedding;
pub use gru::Gru;
pub use layer::{Layer, LayerOps};
pub use mode::Mode;
pub use norm::{LayerNorm, RmsNorm};
pub use parameters::{Parameters, Start};
pub use saved::Saved;
pub use sequential::Sequential;
