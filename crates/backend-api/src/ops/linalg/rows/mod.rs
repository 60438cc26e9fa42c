//! Ops along one axis: softmax and the normalisations.

mod add_layer_norm;
mod layer_norm;
mod layer_norm_backward;
mod log_softmax;
mod log_softmax_backward;
mod mask;
mod rms_norm;
mod rms_norm_backward;
mod softmax;
mod softmax_backward;

pub use add_layer_norm::AddLayerNorm;
pub use layer_norm::LayerNorm;
pub use layer_norm_backward::LayerNormBackward;
pub use log_softmax::LogSoftmax;
pub use log_softmax_backward::LogSoftmaxBackward;
pub use mask::RowMask;
pub use rms_norm::RmsNorm;
pub use rms_norm_backward::RmsNormBackward;
pub use softmax::Softmax;
pub use softmax_backward::SoftmaxBackward;
