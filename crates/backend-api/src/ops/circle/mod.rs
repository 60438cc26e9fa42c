//! Transforms on canonic circle domains over Mersenne-31.
//!
//! A domain of log size `n` has `N = 2^n` points; its values are stored in bit-reversed order,
//! coefficients in natural order of the basis: coefficient `k` with bits `b0 b1 b2 ...` multiplies
//! `y^b0 x^b1 pi(x)^b2 pi(pi(x))^b3 ...` with `pi(x) = 2 x^2 - 1` (circle FFT:
//! <https://eprint.iacr.org/2024/278>). Batches are column-major with stride `N`.
//!
//! Twiddle views hold exactly `N / 2` words: the layers `T_0 .. T_(n-2)`, where `T_j` has
//! `2^(n-2-j)` entries, and one padding one. `T_0[h]` is the x-coordinate of stored point pair
//! `2 h`, and `T_(j+1)[h] = pi(T_j[2 h])`.

mod evaluate;
mod extend;
mod interpolate;
mod interpolate_part;
mod inverse_m31;
mod inverse_qm31;
mod lde;
mod point;
mod points;
mod restrict;
mod shape;
mod twiddles;

pub use evaluate::CircleEvaluate;
pub use extend::CircleExtend;
pub use interpolate::CircleInterpolate;
pub use interpolate_part::CircleInterpolatePart;
pub use inverse_m31::BatchInverseM31;
pub use inverse_qm31::BatchInverseQm31;
pub use lde::CircleLde;
pub use point::CircleEvalAtPoint;
pub use points::CircleEvalAtPoints;
pub use restrict::CircleRestrict;
pub use twiddles::CircleTwiddles;

pub use super::sets::CircleOps;
