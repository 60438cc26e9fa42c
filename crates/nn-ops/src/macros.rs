//! Implementations whose `derive` would demand the same trait of the queue.

/// Implements `Debug` by some of the fields.
macro_rules! debug_fields {
    ($name:ident<$($arg:tt: $bound:path),+> $($field:ident),*) => {
        impl<$($arg: $bound),+> core::fmt::Debug for $name<$($arg),+> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    };
}

/// Implements `Clone` and `Copy` for views.
macro_rules! copied_views {
    ($($name:ident<'a, Q: $queue:path $(, $element:ident: $bound:path)?>),+) => {$(
        impl<'a, Q: $queue + 'a $(, $element: $bound)?> Clone for $name<'a, Q $(, $element)?> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<'a, Q: $queue + 'a $(, $element: $bound)?> Copy for $name<'a, Q $(, $element)?> {}
    )+};
}
