//! Specifications of the `optim` op set, and of the optimisers that `nn-ops` makes of it.
//!
//! The oracles are the recurrences of the papers in f64, schedules by the functions of the standard
//! library, and the loss scale's table of states.

mod model;
mod optimizer;
mod record;
mod steps;

use crate::OpSpec;

/// A case for each element type: `$check::<T>(q, ..)`.
macro_rules! typed {
    ($name:expr, $check:ident($($argument:expr),*)) => {{
        let name = $name;
        [
            $crate::Case::new(format!("f32, {name}"), move |q| $check::<f32>(q $(, $argument)*)),
            $crate::Case::new(format!("f16, {name}"), move |q| $check::<half::f16>(q $(, $argument)*)),
            $crate::Case::new(format!("bf16, {name}"), move |q| $check::<half::bf16>(q $(, $argument)*)),
        ]
    }};
}

use typed;

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    let mut all = record::specs();
    all.extend(steps::specs());
    all.extend(optimizer::specs());
    all
}
