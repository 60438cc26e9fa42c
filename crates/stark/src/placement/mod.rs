//! Work on values and coefficients that are not all in the memory of one device.

pub(crate) mod blocks;
pub(crate) mod column_partition;
pub(crate) mod exchange;
pub(crate) mod load;
pub(crate) mod rows;
pub(crate) mod streamed;
