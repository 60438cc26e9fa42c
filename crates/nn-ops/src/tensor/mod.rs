//! Tensors: their layouts, views of buffers, owned tensors and initial values.

pub(crate) mod init;
pub(crate) mod layout;
pub(crate) mod operand;
pub(crate) mod owned;
pub(crate) mod views;

pub use init::Init;
pub use layout::Layout;
pub use operand::Operand;
pub use owned::Tensor;
pub use views::{TensorMut, TensorRef};
