//! Secure univariate functions: what a gate computes, said as public data.
//!
//! A descriptor splits the ring `Z_(2^n)` of a secret `x` into pieces. On each piece, every output word is a polynomial
//! of `x`, and every output bit a Boolean formula over predicates of `x`. The form is that of SUF (FuseFSS, ICML 2026);
//! spline gates of this kind go back to Boyle et al. (EUROCRYPT 2021).

mod codec;
mod desc;
mod error;
mod formula;
mod pred;

pub use desc::{Piece, SufDesc, SufSpec, SufValue};
pub use error::SufError;
pub use formula::BoolExpr;
pub use pred::Pred;
