//! Costs of models: keys, messages and arithmetic, computed without keys and devices.
//!
//! Everything follows from shapes and public parameters. [`ModelCost`] of a model that runs comes
//! from its plan, so that it equals the bytes of a run and of a folder of keys. [`PublishedModel`]
//! has the shapes of models whose costs others have published.
//!
//! ```
//! use inference::{Preference, cost::PublishedModel};
//!
//! // GeLU runs on each unit of the feed-forward network, in each of 12 layers of BERT-base.
//! let cost = PublishedModel::BertBase.cost(128, 1, Preference::Rounds)?;
//! let layer = &cost.layers[0];
//! assert_eq!(layer.count, 12);
//! let gelu = layer.gates.iter().find(|gate| gate.step == "feed.gelu").ok_or("no GeLU")?;
//! assert_eq!(gelu.elements, 128 * 3072);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bytes;
mod published;
mod recorder;
mod report;

pub use bytes::{folder_bytes, key_bytes, run_folder_bytes};
pub use published::{PlannedModel, PublishedFigures, PublishedModel};
pub use report::{GateCost, LayerCost, ModelCost, Work};
