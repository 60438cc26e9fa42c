//! The ways of work on columns, by where their coefficients and values are stored.

pub(crate) mod blocks;
pub(crate) mod column_partition;
pub(crate) mod exchange;
pub(crate) mod load;
pub(crate) mod made;
pub(crate) mod resident;
pub(crate) mod rows;
pub(crate) mod storage;
pub(crate) mod streamed;
