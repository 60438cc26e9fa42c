//! What all records of ops have in common.

pub(super) mod flop;
pub(super) mod lengths;

use crate::{BackendError, Element, Mut, Queue, Ref};

/// A view of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The field that holds it.
    pub name: &'static str,
    /// Its elements; `None` for one that was left out.
    pub len: Option<usize>,
}

/// The description of a field of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described {
    /// The field.
    pub name: &'static str,
    /// Whether it is a parameter or a view, and how the op uses it.
    pub access: Access,
    /// Its type; for a view, the type of its elements.
    pub element: &'static str,
    /// The factors of its length; empty for parameters and views of any length.
    pub length: &'static str,
}

/// The use of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A parameter.
    Parameter,
    /// A view that is read.
    Read,
    /// A view that is read, if it is given.
    ReadIfGiven,
    /// A view that is written.
    Write,
    /// A view that is written, if it is given.
    WriteIfGiven,
}

/// An op as a value: parameters and views as named fields.
///
/// A queue runs it with the method of the same name.
pub trait Op {
    /// Its name.
    const NAME: &'static str;

    /// Shows every view to `see`, in the order of the fields.
    fn each_view(&self, see: &mut dyn FnMut(View));

    /// Passes the sizes and kinds among the parameters to `see`, in the order of the fields.
    ///
    /// See [`Sizes`](super::Sizes).
    fn each_size(&self, see: &mut dyn FnMut(&'static str, &dyn core::fmt::Debug));

    /// Passes the description of every field to `see`, in the order of the fields.
    ///
    /// Views of a record of views come one by one.
    fn describe(see: &mut dyn FnMut(Described));

    /// Its documentation.
    const DOC: &'static str;

    /// The reasons for which its check refuses parameters, as its description writes them.
    const REFUSALS: &'static [&'static str];

    /// Its floating-point operations, if they are counted.
    ///
    /// A number beyond 64 bits is the greatest.
    ///
    /// A multiplication and its addition in a product are 2. Products leave out biases,
    /// activations, masks and softmax. Elsewhere each addition, multiplication, division,
    /// comparison, root, exponential, logarithm or activation is 1.
    fn flop(&self) -> Option<u64> {
        None
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

/// Borrows views that are written for a shorter time.
///
/// In code generic over the queue, [`BufferMut::reborrow`](crate::BufferMut::reborrow) returns a
/// view of another type.
pub trait LendViews<Q: Queue> {
    /// The view, borrowed.
    fn lend<'s, 'l: 's, T: Element + 'l>(view: &'s mut Mut<'l, Q, T>) -> Mut<'s, Q, T>
    where
        Q: 'l;
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
        $crate::ops::op::value!($views.read($op, $field))
    };
    (write, $field:expr, $views:ident, $op:expr) => {
        $crate::ops::op::value!($views.write($op, $field))
    };
    (read_if, $field:expr, $views:ident, $op:expr) => {
        match $field {
            Some(view) => Some($crate::ops::op::value!($views.read($op, view))),
            None => None,
        }
    };
    (write_if, $field:expr, $views:ident, $op:expr) => {
        match $field {
            Some(view) => Some($crate::ops::op::value!($views.write($op, view))),
            None => None,
        }
    };
    (views, $field:expr, $views:ident, $op:expr) => {
        $crate::ops::op::value!($field.map_as($views, $op))
    };
}

/// The value of a result, or its error returned, in half of the code of `?`.
///
/// It is compiled for each view of each op, on each queue and in each element type.
macro_rules! value {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Err(error),
        }
    };
}

/// A field of an op, whose views are borrowed.
macro_rules! lend_field {
    (plain, $field:expr, $q:ident, $type:ty, $lender:ident) => {
        $field
    };
    (write, $field:expr, $q:ident, $type:ty, $lender:ident) => {
        $lender::lend::<$type>(&mut $field)
    };
    (write_if, $field:expr, $q:ident, $type:ty, $lender:ident) => {
        $field.as_mut().map($lender::lend::<$type>)
    };
    (views, $field:expr, $q:ident, $type:ty, $lender:ident) => {
        $field.shorten()
    };
    ($kind:ident, $field:expr, $q:ident, $type:ty, $lender:ident) => {
        $crate::ops::op::shorten_field!($kind, $field, $q, $type)
    };
}

/// A view that is read, with a shorter lifetime.
macro_rules! shorten_field {
    (read, $field:expr, $q:ident, $type:ty) => {
        <$q::Buf<$type> as $crate::Buffer<$type>>::shorten($field)
    };
    (read_if, $field:expr, $q:ident, $type:ty) => {
        $field.map(<$q::Buf<$type> as $crate::Buffer<$type>>::shorten)
    };
}

/// Shows the views of a field of a record.
macro_rules! show_field {
    (plain, $name:expr, $field:expr, $see:ident) => {};
    (read, $name:expr, $field:expr, $see:ident) => {
        $see($crate::ops::View { name: $name, len: $crate::ops::op::view_len!(read, $field) })
    };
    (write, $name:expr, $field:expr, $see:ident) => {
        $see($crate::ops::View { name: $name, len: $crate::ops::op::view_len!(write, $field) })
    };
    (read_if, $name:expr, $field:expr, $see:ident) => {
        $see($crate::ops::View { name: $name, len: $crate::ops::op::view_len!(read_if, $field) })
    };
    (write_if, $name:expr, $field:expr, $see:ident) => {
        $see($crate::ops::View { name: $name, len: $crate::ops::op::view_len!(write_if, $field) })
    };
    (views, $name:expr, $field:expr, $see:ident) => {
        $field.show($see)
    };
}

/// Shows the sizes in a field of a record.
macro_rules! show_size {
    (plain, $name:expr, $field:expr, $see:ident) => {
        $crate::ops::Sizes::each_size(&$field, $name, &mut &mut *$see)
    };
    ($kind:ident, $name:expr, $field:expr, $see:ident) => {};
}

/// The sentence on the length of a view.
macro_rules! len_doc {
    (views, $type:ty, $($len:tt)*) => { "" };
    ($kind:ident, $type:ty, $($len:tt)*) => {
        concat!("\n`", stringify!($type), "[", stringify!($($len)*), "]`.")
    };
}

/// Describes a field of a record.
macro_rules! describe {
    (views, $name:expr, $type:ty, $see:ident, $($len:tt)*) => {
        <$type>::describe($see)
    };
    ($kind:ident, $name:expr, $type:ty, $see:ident, $($len:tt)*) => {
        $see($crate::ops::Described {
            name: $name,
            access: $crate::ops::op::access!($kind),
            element: stringify!($type),
            length: stringify!($($len)*),
        })
    };
}

macro_rules! access {
    (plain) => {
        $crate::ops::Access::Parameter
    };
    (read) => {
        $crate::ops::Access::Read
    };
    (read_if) => {
        $crate::ops::Access::ReadIfGiven
    };
    (write) => {
        $crate::ops::Access::Write
    };
    (write_if) => {
        $crate::ops::Access::WriteIfGiven
    };
}

/// Describes an op: its record, its sizes, and what makes it valid.
///
/// A field is `plain` (parameters), `read` or `write` (a view of elements of the type), `read_if`
/// or `write_if` (one that may be left out), or `views` (a record of views, see [`views!`]).
///
/// The length of a view follows its type in brackets: a product `[rows, len]`, or `[>= least]` for
/// a view that may be longer. A view without brackets may have any length. A record of views takes
/// arguments for its `sizes` there.
///
/// - `sizes(self) { .. }` binds the names that lengths use. It may leave `check` with an error,
///   which takes the op's name from `OP`. With `-> name: Type`, `check` returns that value.
/// - `valid(self) { condition, "why not"; .. }` is compared after the lengths.
/// - `flop(self) { .. }` is [`Op::flop`], a u64.
///
/// The method `check` that this makes is the only check of an op. [`checked!`](crate::checked!)
/// calls it before the method of a backend.
macro_rules! op {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident<$a:lifetime, $q:ident $(, $t:ident: $bound:ident)?> as $op:literal {
            $($(#[$field_doc:meta])* $field:ident: $kind:ident $type:ty $([$($len:tt)*])?,)*
        }
        $($rules:tt)*
    ) => {
        $crate::ops::op::record! {
            $(#[doc = $doc])*
            pub struct $name<$a, $q $(, $t: $bound)?> {
                $($(#[$field_doc])* $field: $kind $type $([$($len)*])?,)*
            }
        }

        impl<$a, $q: $crate::Queue $(, $t: $bound)?> $crate::ops::Op for $name<$a, $q $(, $t)?> {
            const NAME: &'static str = $op;
            const DOC: &'static str = concat!($($doc, "\n"),*);
            const REFUSALS: &'static [&'static str] = $crate::ops::op::refusals! { $($rules)* };

            $crate::ops::op::flop_of! { $($rules)* }

            fn each_view(&self, see: &mut dyn FnMut($crate::ops::View)) {
                self.show(see);
            }

            #[allow(unused_variables, reason = "an op may have no parameters")]
            fn each_size(&self, see: &mut dyn FnMut(&'static str, &dyn core::fmt::Debug)) {
                $($crate::ops::op::show_size!($kind, stringify!($field), self.$field, see);)*
            }

            fn describe(see: &mut dyn FnMut($crate::ops::Described)) {
                $($crate::ops::op::describe!($kind, stringify!($field), $type, see, $($($len)*)?);)*
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

            /// The same op on views that are borrowed from this one.
            pub fn lend<L: $crate::ops::LendViews<$q>>(&mut self) -> $name<'_, $q $(, $t)?> {
                $name { $($field: $crate::ops::op::lend_field!($kind, self.$field, $q, $type, L),)* }
            }

            $crate::ops::op::check! { [$op] [$($field: $kind [$($($len)*)?],)*] $($rules)* }
        }
    };
}

/// The reasons in the rules of an op.
macro_rules! refusals {
    (
        $(sizes($this:ident) $(-> $out:ident: $out_type:ty)? { $($sizes:tt)* })?
        valid($that:ident) { $($valid:expr, $why:expr;)* }
        $(flop($other:ident) { $($flop:tt)* })?
    ) => {
        &[$(stringify!($why)),*]
    };
    ($($rules:tt)*) => {
        &[]
    };
}

/// The method `flop` of an op, from its rules.
macro_rules! flop_of {
    (
        $(sizes($this:ident) $(-> $out:ident: $out_type:ty)? { $($sizes:tt)* })?
        $(valid($that:ident) { $($valid:tt)* })?
        flop($op:ident) { $($flop:tt)* }
    ) => {
        fn flop(&$op) -> Option<u64> {
            Some({ $($flop)* })
        }
    };
    ($($rules:tt)*) => {};
}

/// The method `check` of an op, from its fields and rules.
macro_rules! check {
    ([$op:literal] [$($fields:tt)*] valid($this:ident) $($rest:tt)*) => {
        $crate::ops::op::check! { [$op] [$($fields)*] sizes($this) {} valid($this) $($rest)* }
    };
    ([$op:literal] [$($fields:tt)*] $(flop($this:ident) $flop:tt)?) => {
        $crate::ops::op::check! { [$op] [$($fields)*] sizes(self) {} }
    };
    (
        [$op:literal] [$($field:ident: $kind:ident [$($len:tt)*],)*]
        sizes($this:ident) $(-> $out:ident: $out_type:ty)? { $($sizes:tt)* }
        $(valid($that:ident) { $($valid:expr, $why:expr;)* })?
        $(flop($other:ident) $flop:tt)?
    ) => {
        /// Compares the views with their lengths, and refuses parameters that make no valid op.
        ///
        /// # Errors
        /// [`BackendError::Length`](crate::BackendError::Length) for the first view of another
        /// length, and [`BackendError::Unsupported`](crate::BackendError::Unsupported) for
        /// parameters out of range.
        pub fn check(&$this) -> Result<$crate::ops::op::out_type!($($out_type)?), $crate::BackendError> {
            #[allow(dead_code, reason = "few sizes can be out of range")]
            const OP: &str = $op;
            $($sizes)*
            #[allow(unused_mut, reason = "an op may have no view of a certain length")]
            let mut lengths = $crate::ops::op::lengths::Lengths::new($op);
            $($crate::ops::op::compare!($kind, stringify!($field), $this.$field, lengths, $($len)*);)*
            lengths.finish()?;
            $($(
                if !($valid) {
                    return Err($crate::BackendError::Unsupported { op: $op, why: $why });
                }
            )*)?
            Ok($crate::ops::op::out!($($out)?))
        }
    };
}

/// What `check` returns.
macro_rules! out_type {
    () => {
        ()
    };
    ($type:ty) => {
        $type
    };
}

macro_rules! out {
    () => {
        ()
    };
    ($out:ident) => {
        $out
    };
}

/// Compares a field of a record with its length.
macro_rules! compare {
    ($kind:ident, $name:expr, $field:expr, $lengths:ident,) => {};
    (views, $name:expr, $field:expr, $lengths:ident, $($size:expr),+ $(,)?) => {
        $field.compare(&mut $lengths, $($size),+)
    };
    ($kind:ident, $name:expr, $field:expr, $lengths:ident, >= $least:expr) => {
        $lengths.at_least($name, $crate::ops::op::view_len!($kind, $field), $least)
    };
    ($kind:ident, $name:expr, $field:expr, $lengths:ident, $($size:expr),+ $(,)?) => {
        $lengths.exactly(
            $name,
            $crate::ops::op::view_len!($kind, $field),
            &[$($crate::ops::op::lengths::IntoSize::size($size)),+],
        )
    };
}

/// The length of a view; `None` for one that was left out.
macro_rules! view_len {
    (read, $field:expr) => {
        Some($crate::BufferRef::len(&$field))
    };
    (write, $field:expr) => {
        Some($crate::BufferMut::len(&$field))
    };
    (read_if, $field:expr) => {
        $field.as_ref().map($crate::BufferRef::len)
    };
    (write_if, $field:expr) => {
        $field.as_ref().map($crate::BufferMut::len)
    };
}

/// Describes views that several ops have in common.
///
/// `sizes(name: Type, ..) { .. }` binds the names that lengths use; ops pass the arguments.
macro_rules! views {
    (
        $(#[$doc:meta])*
        pub struct $name:ident<$a:lifetime, $q:ident $(, $t:ident: $bound:ident)?> {
            $($(#[$field_doc:meta])* $field:ident: $kind:ident $type:ty [$($len:tt)*],)*
        }
        sizes($($size:ident: $size_type:ty),*) { $($sizes:tt)* }
    ) => {
        $crate::ops::op::record! {
            $(#[$doc])*
            pub struct $name<$a, $q $(, $t: $bound)?> {
                $($(#[$field_doc])* $field: $kind $type [$($len)*],)*
            }
        }

        impl<$a, $q: $crate::Queue + $a $(, $t: $bound)?> Clone for $name<$a, $q $(, $t)?> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$a, $q: $crate::Queue + $a $(, $t: $bound)?> Copy for $name<$a, $q $(, $t)?> {}

        impl<$a, $q: $crate::Queue $(, $t: $bound)?> $name<$a, $q $(, $t)?> {
            /// Compares the views with their lengths.
            pub(crate) fn compare(&self, lengths: &mut $crate::ops::op::lengths::Lengths, $($size: $size_type),*) {
                $($sizes)*
                $($crate::ops::op::compare!($kind, stringify!($field), self.$field, lengths, $($len)*);)*
            }

            pub(crate) fn describe(see: &mut dyn FnMut($crate::ops::Described)) {
                $($crate::ops::op::describe!($kind, stringify!($field), $type, see, $($len)*);)*
            }

            /// The same views with a shorter lifetime.
            pub(crate) fn shorten<'s>(self) -> $name<'s, $q $(, $t)?>
            where
                $a: 's,
            {
                $name { $($field: $crate::ops::op::shorten_field!($kind, self.$field, $q, $type),)* }
            }
        }
    };
}

/// Defines a struct of parameters and views.
macro_rules! record {
    (
        $(#[$doc:meta])*
        pub struct $name:ident<$a:lifetime, $q:ident $(, $t:ident: $bound:ident)?> {
            $($(#[$field_doc:meta])* $field:ident: $kind:ident $type:ty $([$($len:tt)*])?,)*
        }
    ) => {
        $(#[$doc])*
        pub struct $name<$a, $q: $crate::Queue + $a $(, $t: $bound)?> {
            $(
                $(#[$field_doc])*
                $(#[doc = $crate::ops::op::len_doc!($kind, $type, $($len)*)])?
                pub $field: $crate::ops::op::field_type!($kind, $a, $q, $type),
            )*
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

            pub(crate) fn show(&self, see: &mut dyn FnMut($crate::ops::View)) {
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

pub(crate) use {
    access, check, compare, describe, field_type, flop_of, len_doc, lend_field, map_field, op, out, out_type, record,
    refusals, shorten_field, show_field, show_size, value, view_len, views,
};
