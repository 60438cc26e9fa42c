//! Numbers of 16 bits, computed with as f32.

use backend_api::Real;
use half::{bf16, f16};

use super::Floats;

/// An element type of 16 bits.
pub(crate) trait Half: Real {
    /// The first `N` elements of `s`, exactly.
    fn load<L: Floats>(l: L, s: &[Self]) -> L::V;
    /// Writes the first `N` elements of `s`, rounded to nearest even.
    fn store<L: Floats>(l: L, s: &mut [Self], v: L::V);
}

impl Half for bf16 {
    #[inline(always)]
    fn load<L: Floats>(l: L, s: &[Self]) -> L::V {
        l.load_bf16(s)
    }

    #[inline(always)]
    fn store<L: Floats>(l: L, s: &mut [Self], v: L::V) {
        l.store_bf16(s, v);
    }
}

impl Half for f16 {
    #[inline(always)]
    fn load<L: Floats>(l: L, s: &[Self]) -> L::V {
        l.load_f16(s)
    }

    #[inline(always)]
    fn store<L: Floats>(l: L, s: &mut [Self], v: L::V) {
        l.store_f16(s, v);
    }
}
