//! Recurrent networks.

mod gru_backward;
mod gru_forward;
mod gru_layer;
mod rssm_loss;
mod rssm_rollout;

pub use gru_backward::GruBackward;
pub use gru_forward::GruForward;
pub use gru_layer::GruLayer;
pub use rssm_loss::RssmLoss;
pub use rssm_rollout::RssmRollout;

pub use super::sets::RecurrentOps;
