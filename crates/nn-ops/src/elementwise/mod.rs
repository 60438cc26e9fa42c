//! Functions of each element of a tensor.

mod activation;
mod binary;
mod dropout;
mod map;

pub use activation::{ElementwisePlan, activate, activate_backward, axpby};
pub use binary::{BinaryPlan, binary, binary_in_place, binary_scalar};
pub use dropout::{Dropout, DropoutSite};
pub use map::{Map, activate_in_place, fill, map, map_in_place, select, select_in_place};
