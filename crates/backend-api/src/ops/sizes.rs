//! What anybody may see of the parameters of an op.

use core::fmt::Debug;

use core_types::params::{
    circle::{CircleExtendParams, CircleFftParams, CirclePointParams, CircleTwiddleParams},
    elementwise::{Activation, AdamWParams, BinaryParams, DropoutParams, SumParams},
    fss::{CmpAllParams, CmpGenParams, CmpWindowParams, DcfGenParams, DcfWindowParams, PackParams},
    gemm::GemmParams,
    rows::{AxisParams, NormParams, SoftmaxParams},
    share::{BitParams, BitTerm, WordParams, WordTerm},
};

/// Parameters that show their sizes and kinds, and no key, seed, point, factor or constant: those may be secrets.
pub trait Sizes {
    /// Shows every size with its name to `see`; a number alone goes by `name`, that of its field.
    fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug));
}

impl<S: Sizes + ?Sized> Sizes for &S {
    fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        (**self).each_size(name, see);
    }
}

/// The fields of records that are sizes.
macro_rules! sizes {
    ($($params:ident { $($size:ident),* })*) => {
        $(
            impl Sizes for $params {
                fn each_size(&self, _: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
                    let Self { $($size,)* .. } = self;
                    $(see(stringify!($size), $size);)*
                }
            }
        )*
    };
}

sizes! {
    CircleTwiddleParams { log_size }
    CircleFftParams { log_size, columns }
    CircleExtendParams { log_coefficients, log_size, columns }
    CirclePointParams { log_size, columns }
    BitParams { count, party }
    WordParams { count, party, bits, shift, width, padded_rows, rows, opened_rows }
    CmpGenParams { bits, count }
    CmpWindowParams { bits, party, count, points, window }
    CmpAllParams { bits, party, count, first, keys }
    DcfGenParams { bits, count, words, width }
    DcfWindowParams { bits, party, count, points, words, width, window }
    PackParams { count, bits }
    SumParams { outer, len, inner }
    GemmParams { batch, m, n, k, activation }
    AxisParams { outer, len, inner }
    NormParams { rows, len }
}

/// Parameters without a size.
macro_rules! none {
    ($($params:ident),*) => {
        $(
            impl Sizes for $params {
                fn each_size(&self, _: &'static str, _: &mut impl FnMut(&'static str, &dyn Debug)) {}
            }
        )*
    };
}

none!(f32, AdamWParams, DropoutParams);

/// Numbers and kinds that stand in an op by themselves.
macro_rules! bare {
    ($($type:ident),*) => {
        $(
            impl Sizes for $type {
                fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
                    see(name, self);
                }
            }
        )*
    };
}

bare!(usize, Activation);

/// Lists, of which their length is shown.
macro_rules! lists {
    ($($item:ident),*) => {
        $(
            impl Sizes for [$item] {
                fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
                    see(name, &self.len());
                }
            }
        )*
    };
}

lists!(BitTerm, WordTerm);

impl Sizes for BinaryParams {
    fn each_size(&self, _: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        see("op", &self.op);
        let rank = (self.rank as usize).min(self.shape.len());
        see("shape", &&self.shape[..rank]);
    }
}

impl Sizes for SoftmaxParams {
    fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        self.axis.each_size(name, see);
        see("mask_period", &self.mask_period);
    }
}
