//! Folds of a layer.

use core_types::{
    field::{M31, QM31, Twiddle},
    params::fri::FriFoldParams,
};

use crate::ops::{
    columns::check_log,
    lengths::{pow2, require},
    op,
};

op! {
    /// Folds a layer one to `log_size` times.
    ///
    /// The first fold uses the challenge, the second its square, and so on.
    pub struct FriFold<'a, Q> as "fri_fold" {
        /// Number of values and of folds.
        params: plain &'a FriFoldParams,
        /// Inverse twiddles of the canonic domain of [`log_domain`](FriFoldParams::log_domain).
        inverse_twiddles: read Twiddle [pow2(log_domain - 1)],
        /// The challenge.
        challenge: read QM31 [1],
        /// The values, in four planes.
        values: read M31 [4, pow2(log_size)],
        /// The folded values, in four planes.
        folded: write M31 [4, pow2(log_size - folds)],
    }
    sizes(self) {
        let FriFoldParams { log_size, folds, on_circle } = *self.params;
        let in_range = on_circle <= 1 && (1..=log_size).contains(&folds);
        require(OP, in_range, "expected `on_circle` of 0 or 1 and `folds` in 1..=`log_size`")?;
        check_log(OP, log_size)?;
        let log_domain = self.params.log_domain();
        check_log(OP, log_domain)?;
    }
}
