//! Sums of columns of the secure field.

use backend_api::{
    Buffer as _,
    ops::air::{AirOps as _, SecureAddLifted},
};
use core_types::params::air::SecureAddLiftedParams;
use stwo::{
    core::fields::qm31::SecureField,
    prover::{AccumulationOps, secure_column::SecureColumnByCoords},
};

use crate::{
    TrefoilBackend,
    device::{done, queue},
    layer::{column_of, into_buf, into_planes, planes},
    memory::{arena::Slice, folds::Folds},
};

type Secure = SecureColumnByCoords<TrefoilBackend>;

/// `large` with `small` added, lifted to its height.
fn sum(large: Secure, small: &Slice<core_types::field::M31>) -> Secure {
    let mut buf = into_buf(large);
    let [log_small, log_large] = [small.len, backend_api::Buffer::len(&buf)].map(|words| (words / 4).ilog2());
    done(queue().secure_add_lifted(SecureAddLifted {
        params: &SecureAddLiftedParams { log_small, log_large },
        small: small.view(),
        large: buf.view_mut(),
    }));
    column_of(buf, Folds::default())
}

impl AccumulationOps for TrefoilBackend {
    fn accumulate(column: &mut Secure, other: &Secure) {
        let large = std::mem::replace(column, Secure::zeros(0));
        *column = sum(large, &planes(other));
    }

    fn generate_secure_powers(felt: SecureField, n_powers: usize) -> Vec<SecureField> {
        std::iter::successors(Some(SecureField::from(1)), |power| Some(*power * felt)).take(n_powers).collect()
    }

    /// Columns may also be of equal heights.
    fn lift_and_accumulate(cols: Vec<Secure>) -> Option<Secure> {
        cols.into_iter().reduce(|small, large| sum(large, &into_planes(small)))
    }
}
