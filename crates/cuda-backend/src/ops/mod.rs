//! The op sets, each op as one or a few launches.

mod fss;
mod linalg;
