//! What anybody may see of the parameters of an op.

use core::fmt::Debug;

/// Parameters with public sizes and kinds.
///
/// Keys, seeds, points, factors and constants are not shown: they may be secrets.
pub trait Sizes {
    /// Passes every size and its name to `see`.
    ///
    /// A bare number takes `name`, the name of its field.
    fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug));
}

impl<S: Sizes + ?Sized> Sizes for &S {
    fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        (**self).each_size(name, see);
    }
}

/// States which fields of a record are sizes: the only ones that a trace shows.
macro_rules! sizes {
    ($params:ident { $($size:ident),* }) => {
        impl $crate::params::Sizes for $params {
            #[allow(unused_variables, reason = "a record may have no size")]
            fn each_size(&self, _: &'static str, see: &mut impl FnMut(&'static str, &dyn core::fmt::Debug)) {
                let Self { $($size,)* .. } = self;
                $(see(stringify!($size), $size);)*
            }
        }
    };
}

pub(super) use sizes;

/// Lists of a record; their length is shown.
macro_rules! list_sizes {
    ($item:ident) => {
        impl $crate::params::Sizes for [$item] {
            fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn core::fmt::Debug)) {
                see(name, &self.len());
            }
        }
    };
}

pub(super) use list_sizes;

impl Sizes for usize {
    fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        see(name, self);
    }
}

/// A factor or a constant.
impl Sizes for f32 {
    fn each_size(&self, _: &'static str, _: &mut impl FnMut(&'static str, &dyn Debug)) {}
}
