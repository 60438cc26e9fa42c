//! Secure univariate functions: the computation of a gate as public data.
//!
//! A descriptor splits the ring `Z_(2^n)` of a secret `x` into pieces. On each piece, every output
//! word is a polynomial of `x`, and every output bit a Boolean formula over predicates of `x`. The
//! form follows SUF (FuseFSS, ICML 2026); spline gates of this kind go back to Boyle et al.
//! (EUROCRYPT 2021).
//!
//! A [`SufProgram`] is a descriptor with the modes of its evaluation.
//! [`Gate::suf`](crate::Gate::suf) makes it a gate like any other: keys are dealt for it, carry it,
//! and are evaluated in a session.
//!
//! # How a value comes about
//!
//! With `x = x_hat - r`, a polynomial of `x` is the sum of public polynomials of `x_hat` times the
//! powers `v_j = (-r)^j`. Starting from the first piece, the value changes by the difference of two
//! polynomials at each further start `a_i`:
//!
//! ```text
//! y = sum_j G_0,j(x_hat) [v_j] + sum_i sum_j (G_i,j - G_(i-1),j)(x_hat) [1[x >= a_i] v_j]
//! ```
//!
//! [`CoeffMode`] selects the source of the shares `[1[x >= a_i] v_j]` or, for `StepDcf`, of shares
//! of the coefficients of the right polynomial in `x_hat` itself.
//!
//! Output bits are step functions of the low bits of `x` wherever possible, and cost an exchange
//! only where a formula combines predicates over different numbers of low bits, or its pieces
//! differ in such predicates. Each conjunction then costs one triple from the dealer and two opened
//! bits (Beaver, CRYPTO 1991), with all conjunctions of one level at once.

mod boolean;
mod codec;
mod desc;
mod formula;
mod poly;
mod pred;
mod program;

pub use crate::error::SufError;
pub(crate) use boolean::BooleanNode;
pub use desc::{Piece, SufDesc, SufSpec, SufValue};
pub use formula::BoolExpr;
pub(crate) use poly::Shifted;
pub use pred::Pred;
pub use program::{BoolMode, CoeffMode, PredProgram, SufModes, SufProgram};
pub(crate) use program::{CoefficientSelection, StepClass};
