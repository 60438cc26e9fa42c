//! GKR, which stwo's `Backend` asks for and its `prove` does not use.

use stwo::{
    core::fields::{m31::BaseField, qm31::SecureField},
    prover::lookups::{
        gkr_prover::{GkrMultivariatePolyOracle, GkrOps, Layer},
        mle::{Mle, MleOps},
        utils::UnivariatePoly,
    },
};

use crate::TrefoilBackend;

/// Ends a proof by GKR.
#[track_caller]
fn refuse() -> ! {
    panic!(
        "trefoil: look-ups by GKR run on no device; stwo's `prove` needs none, and `SimdBackend` makes proofs by `gkr_prover`"
    )
}

impl MleOps<BaseField> for TrefoilBackend {
    fn fix_first_variable(_mle: Mle<Self, BaseField>, _assignment: SecureField) -> Mle<Self, SecureField> {
        refuse()
    }
}

impl MleOps<SecureField> for TrefoilBackend {
    fn fix_first_variable(_mle: Mle<Self, SecureField>, _assignment: SecureField) -> Mle<Self, SecureField> {
        refuse()
    }
}

impl GkrOps for TrefoilBackend {
    fn gen_eq_evals(_y: &[SecureField], _v: SecureField) -> Mle<Self, SecureField> {
        refuse()
    }

    fn next_layer(_layer: &Layer<Self>) -> Layer<Self> {
        refuse()
    }

    fn sum_as_poly_in_first_variable(
        _h: &GkrMultivariatePolyOracle<'_, Self>,
        _claim: SecureField,
    ) -> UnivariatePoly<SecureField> {
        refuse()
    }
}
