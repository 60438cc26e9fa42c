//! Loops that are written out, so that indexed arrays stay in registers.
//!
//! The compiler takes arrays apart before it unrolls loops of any length.

/// Writes a block out with a constant index 0, 1, ... below a count of 2, 3, 4, 8 or 16.
#[allow(unused_macros, reason = "not every module has such loops")]
macro_rules! unroll {
    (@ $index:ident $body:block $($value:literal)*) => {
        $({
            const $index: u32 = $value;
            $body
        })*
    };
    ($index:ident in 0..2 => $body:block) => { $crate::dev::unroll::unroll!(@ $index $body 0 1) };
    ($index:ident in 0..3 => $body:block) => { $crate::dev::unroll::unroll!(@ $index $body 0 1 2) };
    ($index:ident in 0..4 => $body:block) => { $crate::dev::unroll::unroll!(@ $index $body 0 1 2 3) };
    ($index:ident in 0..8 => $body:block) => { $crate::dev::unroll::unroll!(@ $index $body 0 1 2 3 4 5 6 7) };
    ($index:ident in 0..16 => $body:block) => {
        $crate::dev::unroll::unroll!(@ $index $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
}

#[allow(unused_imports, reason = "not every module has such loops")]
pub(crate) use unroll;
