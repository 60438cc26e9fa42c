//! Dense linear algebra and neural-network ops.

mod attention;
mod elementwise;
mod gemm;
mod loss;
mod rows;

/// Exports a set and its ops, which its table lists, from the file of the set.
macro_rules! export {
    ([$file:ident] $(#[$doc:meta])* $module:ident::$set:ident: $super:ident {
        $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)*
    }) => {
        pub use super::sets::$set;
        pub use $file::{$($record),*};
    };
}

crate::attention_ops! { export attention }
crate::elementwise_ops! { export elementwise }
crate::gemm_ops! { export gemm }
crate::loss_ops! { export loss }
crate::row_ops! { export rows }

pub use rows::RowMask;

use super::{correction::CorrectionOps, factor::FactorOps, optim::OptimOps};

/// The op sets of neural networks.
///
/// Matrix products, row-wise normalisations, attention, elementwise maps, losses, and steps of
/// factorisations, of corrections and of optimizers.
pub trait LinalgOps:
    GemmOps + RowOps + AttentionOps + ElementwiseOps + LossOps + FactorOps + CorrectionOps + OptimOps
{
}

impl<Q: GemmOps + RowOps + AttentionOps + ElementwiseOps + LossOps + FactorOps + CorrectionOps + OptimOps> LinalgOps
    for Q
{
}
