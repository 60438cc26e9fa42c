//! Loops without a loop variable at run time.

/// Repeats a block with a constant index, so that arrays indexed by it stay in registers.
macro_rules! unroll {
    (@ $i:ident $body:block $($value:literal)*) => {$({
        const $i: usize = $value;
        $body
    })*};
    ($i:ident in 0..2 => $body:block) => { $crate::linalg::unroll::unroll!(@ $i $body 0 1) };
    ($i:ident in 0..4 => $body:block) => { $crate::linalg::unroll::unroll!(@ $i $body 0 1 2 3) };
    ($i:ident in 0..8 => $body:block) => { $crate::linalg::unroll::unroll!(@ $i $body 0 1 2 3 4 5 6 7) };
}

pub(super) use unroll;
