//! Tensors: their layouts, views of buffers, owned tensors and initial values.

mod init;
mod layout;
mod operand;
mod owned;
mod views;

pub use init::Init;
pub use layout::Layout;
pub(crate) use layout::broadcast_shape;
pub use operand::Operand;
pub use owned::Tensor;
pub(crate) use views::Planned;
pub use views::{TensorMut, TensorRef};
