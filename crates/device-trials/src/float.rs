//! The float functions that the programs call, on the host.

macro_rules! functions {
    ($module:ident, $float:ident, $bits:ident) => {
        pub(crate) mod $module {
            /// `x * y + z`, rounded once.
            pub(crate) fn fma(x: $float, y: $float, z: $float) -> $float {
                x.mul_add(y, z)
            }

            pub(crate) fn sqrt(x: $float) -> $float {
                x.sqrt()
            }

            pub(crate) fn abs(x: $float) -> $float {
                x.abs()
            }

            pub(crate) fn floor(x: $float) -> $float {
                x.floor()
            }

            pub(crate) fn ceil(x: $float) -> $float {
                x.ceil()
            }

            pub(crate) fn trunc(x: $float) -> $float {
                x.trunc()
            }

            pub(crate) fn round_even(x: $float) -> $float {
                x.round_ties_even()
            }

            /// The smaller number; positive zero for zeros of both signs.
            pub(crate) fn min(x: $float, y: $float) -> $float {
                (if y.is_nan() || x < y { x } else { y }) + 0.0
            }

            /// The larger number; positive zero for zeros of both signs.
            pub(crate) fn max(x: $float, y: $float) -> $float {
                (if y.is_nan() || x > y { x } else { y }) + 0.0
            }

            /// The magnitude of `x` with the sign of `y`, which counts as positive if it is NaN.
            pub(crate) fn copysign(x: $float, y: $float) -> $float {
                if y.is_sign_negative() && !y.is_nan() { -x.abs() } else { x.abs() }
            }

            /// The bits, the same ones for every NaN.
            pub(crate) fn bits(x: $float) -> $bits {
                if x.is_nan() { $float::NAN.to_bits() } else { x.to_bits() }
            }
        }
    };
}

functions!(single, f32, u32);
functions!(double, f64, u64);
