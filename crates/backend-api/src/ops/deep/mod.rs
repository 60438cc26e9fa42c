//! Out-of-domain sampling and DEEP quotients in the form of stwo 2.3.
//!
//! DEEP is described in <https://eprint.iacr.org/2019/336>.
//!
//! For a column `f` that is claimed to have the value `v` at the point `z`, the line through
//! `(z.y, v)` and the conjugates of both is `slope y + constant` over `factor`, with
//! `factor = conj(z.y) - z.y`, `slope = conj(v) - v` and `constant = v factor - slope z.y`. The
//! quotient `(factor f(p) - slope p.y - constant) / D(p)` is a polynomial only if the claim is
//! true, where `D(p) = (Re z.x - p.x) Im z.y - (Re z.y - p.y) Im z.x` with `Re` and `Im` for the
//! two halves of an element of the secure field. All terms of a proof are added up, each times a
//! power of a challenge; the terms at one point share `D`.

mod lines;
mod numerators;
mod points;
mod quotients;

pub use lines::DeepLines;
pub use numerators::DeepNumerators;
pub use points::DeepPoints;
pub use quotients::DeepQuotients;

pub use super::sets::DeepOps;
