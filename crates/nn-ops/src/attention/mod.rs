//! Attention of queries to keys and values, and the cache of a decoder.

mod cache;
mod inputs;
pub(crate) mod plan;

pub use cache::{CacheShape, KeyValueCache};
pub use inputs::{
    AttentionGradients, AttentionInputs, AttentionMask, AttentionOptions, AttentionSaved, AttentionShape, DropoutStep,
};
pub use plan::AttentionPlan;
