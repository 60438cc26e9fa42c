//! Tensor ops other than linear algebra.
//!
//! Maps, in-place forms, copies, conversions, reductions and rows by index.

mod activate_in_place;
mod arg_max;
mod binary_in_place;
mod copy_strided;
mod fill;
mod gather;
mod map;
mod map_in_place;
mod narrow;
mod reduce;
mod scatter_add;
mod select;
pub(super) mod shape;
mod widen;

pub use activate_in_place::ActivateInPlace;
pub use arg_max::ArgMax;
pub use binary_in_place::BinaryInPlace;
pub use copy_strided::CopyStrided;
pub use fill::Fill;
pub use gather::Gather;
pub use map::Map;
pub use map_in_place::MapInPlace;
pub use narrow::Narrow;
pub use reduce::Reduce;
pub use scatter_add::ScatterAdd;
pub use select::Select;
pub use widen::Widen;

pub use super::sets::TensorOps;
