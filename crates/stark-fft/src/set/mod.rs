//! Columns of several sizes, as commitment trees take them, and their transforms.

mod device;
mod host;
mod plan;
mod view;

pub use device::ColumnSet;
pub use host::HostColumnSet;
pub use plan::{CfftSetPlan, LdeSetPlan};
pub use view::{ColumnSetMut, ColumnSetRef};
