//! FRI on the circle in the form of stwo 2.3, and openings at the queries.
//!
//! Circle FRI is described in <https://eprint.iacr.org/2024/278>.
//!
//! Values of the secure field are four planes of coordinates. A fold makes
//! `(f(p) + f(p')) + a (f(p) - f(p')) / t` of the values at positions `2 h` and `2 h + 1`, where
//! `t` is their y-coordinate on the circle and their x-coordinate on a line. There is no factor of
//! a half.

mod fold;
mod last_layer;
mod open_columns;
mod open_groups;

pub use fold::FriFold;
pub use last_layer::FriLastLayer;
pub use open_columns::OpenColumns;
pub use open_groups::OpenGroups;

pub use super::sets::FriOps;
