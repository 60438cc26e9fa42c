//! Loops that are written out, so that what they index stays in registers: the compiler takes arrays apart before it
//! unrolls loops of any length.

/// Writes `body` out with a constant `name` of 0, 1, ... below a count of 4, 8, 16 or 30.
#[macro_export]
macro_rules! unroll {
    ($name:ident in 4 => $body:block) => { $crate::unroll!(@each $name [0 1 2 3] $body) };
    ($name:ident in 8 => $body:block) => { $crate::unroll!(@each $name [0 1 2 3 4 5 6 7] $body) };
    ($name:ident in 16 => $body:block) => {
        $crate::unroll!(@each $name [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] $body)
    };
    ($name:ident in 30 => $body:block) => {
        $crate::unroll!(
            @each $name [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29] $body
        )
    };
    (@each $name:ident [$($value:literal)*] $body:block) => {
        $({
            const $name: u32 = $value;
            $body
        })*
    };
}
