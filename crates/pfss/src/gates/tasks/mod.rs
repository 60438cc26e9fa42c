//! The first steps of gates that open their results' bits or words once.

pub(crate) mod compare;
pub(crate) mod table;
