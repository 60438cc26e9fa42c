//! The op sets, each op as one or a few launches.

mod circle;
mod fss;
mod linalg;
mod share;
