//! The polynomial of the last layer.

use core_types::{
    field::{M31, QM31, Twiddle},
    params::fri::FriLastLayerParams,
};

use crate::ops::{columns::check_log, lengths::pow2, op};

op! {
    /// Interpolates a layer on its line and writes the lowest coefficients.
    ///
    /// Places are bit-reversed: place `k` holds the coefficient whose number has the `log_bound`
    /// bits of `k` in reverse. Coefficient bits `b0 b1 ..` multiply `x^b0 pi(x)^b1 ..`.
    pub struct FriLastLayer<'a, Q> as "fri_last_layer" {
        /// Number of values and of coefficients.
        params: plain &'a FriLastLayerParams,
        /// Inverse twiddles of the canonic domain of `2^(log_size + 1)` points.
        inverse_twiddles: read Twiddle [pow2(log_size)],
        /// The values, in four planes.
        values: read M31 [4, pow2(log_size)],
        /// The lowest coefficients.
        coefficients: write QM31 [pow2(log_bound)],
        /// 1 if a higher coefficient is not zero, else 0.
        ///
        /// 1 means that the values are not of low degree.
        excess: write u32 [1],
    }
    sizes(self) {
        let FriLastLayerParams { log_size, log_bound } = *self.params;
        check_log(OP, log_size.saturating_add(1))?;
    }
    valid(self) {
        log_bound <= log_size, "more coefficients than values: `log_bound` exceeds `log_size`";
    }
}
