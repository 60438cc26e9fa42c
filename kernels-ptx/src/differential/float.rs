//! The functions of floats that the programs call, by the device's instructions.
//!
//! The host's side of the test has its own.

macro_rules! functions {
    ($module:ident, $float:ident, $bits:ident) => {
        pub(super) mod $module {
            use core::$float::math;

            /// `x * y + z`, rounded once.
            pub(in super::super) fn fma(x: $float, y: $float, z: $float) -> $float {
                math::mul_add(x, y, z)
            }

            pub(in super::super) fn sqrt(x: $float) -> $float {
                math::sqrt(x)
            }

            pub(in super::super) fn abs(x: $float) -> $float {
                x.abs()
            }

            pub(in super::super) fn floor(x: $float) -> $float {
                math::floor(x)
            }

            pub(in super::super) fn ceil(x: $float) -> $float {
                math::ceil(x)
            }

            pub(in super::super) fn trunc(x: $float) -> $float {
                math::trunc(x)
            }

            pub(in super::super) fn round_even(x: $float) -> $float {
                math::round_ties_even(x)
            }

            /// The smaller number; positive zero for zeros of both signs, since Rust may return
            /// either.
            pub(in super::super) fn min(x: $float, y: $float) -> $float {
                x.min(y) + 0.0
            }

            /// The larger number; positive zero for zeros of both signs, since Rust may return
            /// either.
            pub(in super::super) fn max(x: $float, y: $float) -> $float {
                x.max(y) + 0.0
            }

            /// The magnitude of `x` with the sign of `y`.
            ///
            /// A `y` that is no number counts as positive: signs of NaNs differ between machines.
            pub(in super::super) fn copysign(x: $float, y: $float) -> $float {
                x.copysign(if y.is_nan() { 1.0 } else { y })
            }

            /// The bits, the same ones for every NaN.
            pub(in super::super) fn bits(x: $float) -> $bits {
                if x.is_nan() { $float::NAN.to_bits() } else { x.to_bits() }
            }
        }
    };
}

functions!(single, f32, u32);
functions!(double, f64, u64);
