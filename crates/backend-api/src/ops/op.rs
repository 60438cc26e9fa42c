//! What all records of ops have in common.

use crate::{BackendError, Element, Mut, Queue, Ref};

/// A view of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The field that holds it.
    pub name: &'static str,
    /// Its elements; `None` for one that was left out.
    pub len: Option<usize>,
}

/// An op as a value: parameters and views as named fields.
///
/// A queue runs it with the method of the same name.
pub trait Op {
    /// Its name.
    const NAME: &'static str;

    /// Shows every view to `see`, in the order of the fields.
    fn each_view(&self, see: &mut impl FnMut(View));

    /// Passes the sizes and kinds among the parameters to `see`, in the order of the fields.
    ///
    /// See [`Sizes`](super::Sizes).
    fn each_size(&self, see: &mut impl FnMut(&'static str, &dyn core::fmt::Debug));

    /// Compares the lengths of the views, in the order of the fields, with what they should be.
    ///
    /// # Errors
    /// [`BackendError::Length`] for the first that differs.
    #[inline(always)]
    fn expect<const N: usize>(&self, expected: [usize; N]) -> Result<(), BackendError> {
        let mut lengths = Lengths { op: Self::NAME, expected: &expected, next: 0, outcome: Ok(()) };
        self.each_view(&mut |view| lengths.compare(view));
        debug_assert_eq!(lengths.next, N, "op `{}` has {} views, not {N}", Self::NAME, lengths.next);
        lengths.outcome
    }
}

/// The comparison of an op's views with their expected lengths.
///
/// It is compiled once, and not for each op.
struct Lengths<'e> {
    op: &'static str,
    expected: &'e [usize],
    /// The number of views that were compared.
    next: usize,
    /// The first difference.
    outcome: Result<(), BackendError>,
}

impl Lengths<'_> {
    fn compare(&mut self, view: View) {
        let expected = self.expected.get(self.next).copied().unwrap_or_default();
        self.next += 1;
        if let Some(got) = view.len
            && got != expected
            && self.outcome.is_ok()
        {
            self.outcome = Err(BackendError::Length { op: self.op, view: view.name, expected, got });
        }
    }
}

/// Turns views of one queue into views of another.
pub trait MapViews<From: Queue, To: Queue> {
    /// A view that is read.
    ///
    /// # Errors
    /// [`BackendError::MixedBackend`], naming `op`, if it has no counterpart there.
    fn read<'a, T: Element + 'a>(
        &mut self,
        op: &'static str,
        view: Ref<'a, From, T>,
    ) -> Result<Ref<'a, To, T>, BackendError>
    where
        From: 'a,
        To: 'a;

    /// A view that is written.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn write<'a, T: Element + 'a>(
        &mut self,
        op: &'static str,
        view: Mut<'a, From, T>,
    ) -> Result<Mut<'a, To, T>, BackendError>
    where
        From: 'a,
        To: 'a;
}

/// The type of a field of a record.
macro_rules! field_type {
    (plain, $a:lifetime, $q:ident, $type:ty) => { $type };
    (read, $a:lifetime, $q:ident, $type:ty) => { $crate::Ref<$a, $q, $type> };
    (write, $a:lifetime, $q:ident, $type:ty) => { $crate::Mut<$a, $q, $type> };
    (read_if, $a:lifetime, $q:ident, $type:ty) => { Option<$crate::Ref<$a, $q, $type>> };
    (write_if, $a:lifetime, $q:ident, $type:ty) => { Option<$crate::Mut<$a, $q, $type>> };
    (views, $a:lifetime, $q:ident, $type:ty) => { $type };
}

/// A field of a record, on another queue.
macro_rules! map_field {
    (plain, $field:expr, $views:ident, $op:expr) => {
        $field
    };
    (read, $field:expr, $views:ident, $op:expr) => {
        $views.read($op, $field)?
    };
    (write, $field:expr, $views:ident, $op:expr) => {
        $views.write($op, $field)?
    };
    (read_if, $field:expr, $views:ident, $op:expr) => {
        $field.map(|view| $views.read($op, view)).transpose()?
    };
    (write_if, $field:expr, $views:ident, $op:expr) => {
        $field.map(|view| $views.write($op, view)).transpose()?
    };
    (views, $field:expr, $views:ident, $op:expr) => {
        $field.map_as($views, $op)?
    };
}

/// Shows the views of a field of a record.
macro_rules! show_field {
    (plain, $name:expr, $field:expr, $see:ident) => {};
    (read, $name:expr, $field:expr, $see:ident) => {
        $see($crate::ops::View { name: $name, len: Some($crate::BufferRef::len(&$field)) })
    };
    (write, $name:expr, $field:expr, $see:ident) => {
        $see($crate::ops::View { name: $name, len: Some($crate::BufferMut::len(&$field)) })
    };
    (read_if, $name:expr, $field:expr, $see:ident) => {
        $see($crate::ops::View { name: $name, len: $field.as_ref().map(|view| $crate::BufferRef::len(view)) })
    };
    (write_if, $name:expr, $field:expr, $see:ident) => {
        $see($crate::ops::View { name: $name, len: $field.as_ref().map(|view| $crate::BufferMut::len(view)) })
    };
    (views, $name:expr, $field:expr, $see:ident) => {
        $field.show($see)
    };
}

/// Shows the sizes in a field of a record.
macro_rules! show_size {
    (plain, $name:expr, $field:expr, $see:ident) => {
        $crate::ops::Sizes::each_size(&$field, $name, $see)
    };
    ($kind:ident, $name:expr, $field:expr, $see:ident) => {};
}

/// Defines the record of an op.
///
/// A field is `plain` (parameters), `read` or `write` (a view of elements of the type), `read_if`
/// or `write_if` (one that may be left out), or `views` (a record of views, see [`views!`]).
macro_rules! op {
    (
        $(#[$doc:meta])*
        pub struct $name:ident<$a:lifetime, $q:ident $(, $t:ident: $bound:ident)?> as $op:literal {
            $($(#[$field_doc:meta])* $field:ident: $kind:ident $type:ty,)*
        }
    ) => {
        $crate::ops::op::record! {
            $(#[$doc])*
            pub struct $name<$a, $q $(, $t: $bound)?> {
                $($(#[$field_doc])* $field: $kind $type,)*
            }
        }

        impl<$a, $q: $crate::Queue $(, $t: $bound)?> $crate::ops::Op for $name<$a, $q $(, $t)?> {
            const NAME: &'static str = $op;

            #[inline(always)]
            fn each_view(&self, see: &mut impl FnMut($crate::ops::View)) {
                self.show(see);
            }

            #[allow(unused_variables, reason = "an op may have no parameters")]
            fn each_size(&self, see: &mut impl FnMut(&'static str, &dyn core::fmt::Debug)) {
                $($crate::ops::op::show_size!($kind, stringify!($field), self.$field, see);)*
            }
        }

        impl<$a, $q: $crate::Queue $(, $t: $bound)?> $name<$a, $q $(, $t)?> {
            /// The same op on views of another queue.
            ///
            /// # Errors
            /// What `views` answers.
            #[inline(always)]
            pub fn map<P: $crate::Queue>(
                self,
                views: &mut impl $crate::ops::MapViews<$q, P>,
            ) -> Result<$name<$a, P $(, $t)?>, $crate::BackendError> {
                self.map_as(views, $op)
            }
        }
    };
}

/// Defines views that several ops have in common.
macro_rules! views {
    ($(#[$doc:meta])* pub struct $name:ident<$a:lifetime, $q:ident $(, $t:ident: $bound:ident)?> { $($fields:tt)* }) => {
        $crate::ops::op::record! { $(#[$doc])* pub struct $name<$a, $q $(, $t: $bound)?> { $($fields)* } }
    };
}

/// Defines a struct of parameters and views.
macro_rules! record {
    (
        $(#[$doc:meta])*
        pub struct $name:ident<$a:lifetime, $q:ident $(, $t:ident: $bound:ident)?> {
            $($(#[$field_doc:meta])* $field:ident: $kind:ident $type:ty,)*
        }
    ) => {
        $(#[$doc])*
        pub struct $name<$a, $q: $crate::Queue + $a $(, $t: $bound)?> {
            $($(#[$field_doc])* pub $field: $crate::ops::op::field_type!($kind, $a, $q, $type),)*
        }

        impl<$a, $q: $crate::Queue $(, $t: $bound)?> $name<$a, $q $(, $t)?> {
            #[allow(unused_variables, reason = "a record may have no view that is mapped")]
            #[inline(always)]
            pub(crate) fn map_as<P: $crate::Queue>(
                self,
                views: &mut impl $crate::ops::MapViews<$q, P>,
                op: &'static str,
            ) -> Result<$name<$a, P $(, $t)?>, $crate::BackendError> {
                Ok($name { $($field: $crate::ops::op::map_field!($kind, self.$field, views, op),)* })
            }

            #[inline(always)]
            pub(crate) fn show(&self, see: &mut impl FnMut($crate::ops::View)) {
                $($crate::ops::op::show_field!($kind, stringify!($field), self.$field, see);)*
            }
        }

        impl<$a, $q: $crate::Queue $(, $t: $bound)?> core::fmt::Debug for $name<$a, $q $(, $t)?> {
            /// Only the lengths of views: what they and the parameters hold may be secret.
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let mut shown = f.debug_struct(stringify!($name));
                self.show(&mut |view| {
                    shown.field(view.name, &view.len);
                });
                shown.finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use {field_type, map_field, op, record, show_field, show_size, views};
