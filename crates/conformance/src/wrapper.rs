//! The op sets of the queues that wrap another: their views are views of the queue behind, and each says how it submits to it.

use backend_api::{
    BackendError, Mut, Real, Record, Ref,
    ops::{
        circle::CircleOps,
        fss::FssOps,
        linalg::{ElementwiseOps, GemmOps, LossOps, RowMask, RowOps},
        share::ShareOps,
    },
};
use core_types::{
    Label,
    field::{M31, QM31, Twiddle},
    params::{
        circle::{CircleExtendParams, CircleFftParams, CirclePointParams, CircleTwiddleParams},
        elementwise::{Activation, BinaryParams, DropoutParams, SumParams},
        fss::{AesCtrParams, CmpAllParams, CmpParams, CmpWindowParams, DcfParams, DcfWindowParams, PackParams},
        gemm::GemmParams,
        rows::{AxisParams, NormParams, SoftmaxParams},
        share::{BitParams, BitTerm, WordParams, WordTerm},
    },
};

use crate::{Guarded, Recorded};

/// Ops that are submitted to the queue behind.
macro_rules! forward {
    ($(fn $op:ident $(<$element:ident>)? ($($argument:ident: $kind:ty),* $(,)?);)*) => {
        $(
            fn $op $(<$element: Real>)? (&self, $($argument: $kind),*) -> Result<(), BackendError> {
                self.submit(|queue| queue.$op($($argument),*))
            }
        )*
    };
}

/// The same mask, for the queue behind.
macro_rules! behind {
    ($mask:ident) => {
        match $mask {
            RowMask::None => RowMask::None,
            RowMask::Keep(view) => RowMask::Keep(view),
            RowMask::Additive(view) => RowMask::Additive(view),
            RowMask::Causal => RowMask::Causal,
        }
    };
}

/// Every op set of a wrapper, whose queue behind has this bound.
macro_rules! op_sets {
    ($wrapper:ident, $bound:ident) => {
        impl<Q: CircleOps + $bound> CircleOps for $wrapper<Q> {
            forward! {
                fn circle_twiddles(
                    params: &CircleTwiddleParams, twiddles: Mut<'_, Q, Twiddle>, inverse_twiddles: Mut<'_, Q, Twiddle>
                );
                fn circle_interpolate(
                    params: &CircleFftParams, inverse_twiddles: Ref<'_, Q, Twiddle>, columns: Mut<'_, Q, M31>
                );
                fn circle_evaluate(params: &CircleFftParams, twiddles: Ref<'_, Q, Twiddle>, columns: Mut<'_, Q, M31>);
                fn circle_extend(
                    params: &CircleExtendParams,
                    twiddles: Ref<'_, Q, Twiddle>,
                    coefficients: Ref<'_, Q, M31>,
                    values: Mut<'_, Q, M31>,
                );
                fn circle_lde(
                    params: &CircleExtendParams,
                    inverse_twiddles: Ref<'_, Q, Twiddle>,
                    twiddles: Ref<'_, Q, Twiddle>,
                    columns: Mut<'_, Q, M31>,
                    values: Mut<'_, Q, M31>,
                );
                fn circle_eval_at_point(
                    params: &CirclePointParams, coefficients: Ref<'_, Q, M31>, results: Mut<'_, Q, QM31>
                );
                fn batch_inverse_m31(
                    elements: Ref<'_, Q, M31>, inverses: Mut<'_, Q, M31>, first_zero: Mut<'_, Q, u64>
                );
                fn batch_inverse_qm31(
                    elements: Ref<'_, Q, QM31>, inverses: Mut<'_, Q, QM31>, first_zero: Mut<'_, Q, u64>
                );
            }
        }

        impl<Q: ShareOps + $bound> ShareOps for $wrapper<Q> {
            forward! {
                fn combine_bits(
                    params: &BitParams, terms: &[BitTerm], x: Ref<'_, Q, u64>, rows: Ref<'_, Q, u32>, sums: Mut<'_, Q, u32>
                );
                fn combine_words(
                    params: &WordParams,
                    terms: &[WordTerm],
                    x: Ref<'_, Q, u64>,
                    padded: Ref<'_, Q, u64>,
                    rows: Ref<'_, Q, u64>,
                    opened: Ref<'_, Q, u32>,
                    sums: Mut<'_, Q, u64>,
                );
            }
        }

        impl<Q: FssOps + $bound> FssOps for $wrapper<Q> {
            forward! {
                fn cmp_eval(
                    params: &CmpParams,
                    roots: Ref<'_, Q, Label>,
                    corrections: Ref<'_, Q, u128>,
                    leaves: Ref<'_, Q, u128>,
                    points: Ref<'_, Q, u64>,
                    shares: Mut<'_, Q, u32>,
                );
                fn cmp_eval_window(
                    params: &CmpWindowParams,
                    roots: Ref<'_, Q, Label>,
                    corrections: Ref<'_, Q, u128>,
                    leaves: Ref<'_, Q, u128>,
                    x_hat: Ref<'_, Q, u64>,
                    offsets: Ref<'_, Q, u64>,
                    shares: Mut<'_, Q, u32>,
                );
                fn cmp_eval_all(
                    params: &CmpAllParams,
                    roots: Ref<'_, Q, Label>,
                    corrections: Ref<'_, Q, u128>,
                    leaves: Ref<'_, Q, u128>,
                    units: Mut<'_, Q, u128>,
                );
                fn cmp_gen(
                    params: &CmpParams,
                    alphas: Ref<'_, Q, u64>,
                    roots: Ref<'_, Q, Label>,
                    corrections: Mut<'_, Q, u128>,
                    leaves: Mut<'_, Q, u128>,
                );
                fn dcf_eval(
                    params: &DcfParams,
                    roots: Ref<'_, Q, Label>,
                    corrections: Ref<'_, Q, u128>,
                    values: Ref<'_, Q, u64>,
                    last: Ref<'_, Q, u64>,
                    points: Ref<'_, Q, u64>,
                    shares: Mut<'_, Q, u64>,
                );
                fn dcf_eval_window(
                    params: &DcfWindowParams,
                    roots: Ref<'_, Q, Label>,
                    corrections: Ref<'_, Q, u128>,
                    values: Ref<'_, Q, u64>,
                    last: Ref<'_, Q, u64>,
                    x_hat: Ref<'_, Q, u64>,
                    offsets: Ref<'_, Q, u64>,
                    shares: Mut<'_, Q, u64>,
                );
                fn dcf_gen(
                    params: &DcfParams,
                    alphas: Ref<'_, Q, u64>,
                    betas: Ref<'_, Q, u64>,
                    roots: Ref<'_, Q, Label>,
                    corrections: Mut<'_, Q, u128>,
                    values: Mut<'_, Q, u64>,
                    last: Mut<'_, Q, u64>,
                );
                fn aes_ctr_fill(params: &AesCtrParams, words: Mut<'_, Q, u64>);
                fn pack_bits(params: &PackParams, elements: Ref<'_, Q, u64>, words: Mut<'_, Q, u64>);
                fn unpack_bits(params: &PackParams, words: Ref<'_, Q, u64>, elements: Mut<'_, Q, u64>);
            }
        }

        impl<Q: ElementwiseOps + $bound> ElementwiseOps for $wrapper<Q> {
            forward! {
                fn activate<T>(f: Activation, x: Ref<'_, Q, T>, y: Mut<'_, Q, T>);
                fn activate_in_place<T>(f: Activation, x: Mut<'_, Q, T>);
                fn activate_backward<T>(f: Activation, saved: Ref<'_, Q, T>, g: Ref<'_, Q, T>, dx: Mut<'_, Q, T>);
                fn binary<T>(p: &BinaryParams, a: Ref<'_, Q, T>, b: Ref<'_, Q, T>, y: Mut<'_, Q, T>);
                fn axpby<T>(alpha: f32, x: Ref<'_, Q, T>, beta: f32, y: Mut<'_, Q, T>);
                fn sum_axis<T>(p: &SumParams, x: Ref<'_, Q, T>, y: Mut<'_, Q, T>);
                fn dropout<T>(p: &DropoutParams, x: Ref<'_, Q, T>, y: Mut<'_, Q, T>);
            }
        }

        impl<Q: GemmOps + $bound> GemmOps for $wrapper<Q> {
            forward! {
                fn gemm<T>(
                    p: &GemmParams, a: Ref<'_, Q, T>, b: Ref<'_, Q, T>, bias: Option<Ref<'_, Q, T>>, c: Mut<'_, Q, T>
                );
            }
        }

        impl<Q: LossOps + $bound> LossOps for $wrapper<Q> {
            forward! {
                fn cross_entropy<T>(
                    classes: usize,
                    scale: f32,
                    logits: Ref<'_, Q, T>,
                    targets: Ref<'_, Q, u32>,
                    losses: Mut<'_, Q, f32>,
                    dlogits: Mut<'_, Q, T>,
                );
                fn cross_entropy_probs<T>(
                    classes: usize,
                    scale: f32,
                    logits: Ref<'_, Q, T>,
                    probs: Ref<'_, Q, T>,
                    losses: Mut<'_, Q, f32>,
                    dlogits: Mut<'_, Q, T>,
                );
            }
        }

        impl<Q: RowOps + $bound> RowOps for $wrapper<Q> {
            fn softmax<T: Real>(
                &self,
                p: &SoftmaxParams,
                x: Ref<'_, Q, T>,
                mask: RowMask<'_, Self>,
                y: Mut<'_, Q, T>,
            ) -> Result<(), BackendError> {
                let mask = behind!(mask);
                self.submit(|queue| queue.softmax(p, x, mask, y))
            }

            fn log_softmax<T: Real>(
                &self,
                p: &SoftmaxParams,
                x: Ref<'_, Q, T>,
                mask: RowMask<'_, Self>,
                y: Mut<'_, Q, T>,
            ) -> Result<(), BackendError> {
                let mask = behind!(mask);
                self.submit(|queue| queue.log_softmax(p, x, mask, y))
            }

            forward! {
                fn softmax_backward<T>(p: &AxisParams, y: Ref<'_, Q, T>, g: Ref<'_, Q, T>, dx: Mut<'_, Q, T>);
                fn log_softmax_backward<T>(p: &AxisParams, y: Ref<'_, Q, T>, g: Ref<'_, Q, T>, dx: Mut<'_, Q, T>);
                fn layer_norm<T>(
                    p: &NormParams,
                    x: Ref<'_, Q, T>,
                    gamma: Option<Ref<'_, Q, T>>,
                    beta: Option<Ref<'_, Q, T>>,
                    y: Mut<'_, Q, T>,
                    stats: Mut<'_, Q, f32>,
                );
                fn layer_norm_backward<T>(
                    p: &NormParams,
                    x: Ref<'_, Q, T>,
                    gamma: Option<Ref<'_, Q, T>>,
                    stats: Ref<'_, Q, f32>,
                    g: Ref<'_, Q, T>,
                    dx: Mut<'_, Q, T>,
                    dgamma: Option<Mut<'_, Q, T>>,
                    dbeta: Option<Mut<'_, Q, T>>,
                );
                fn rms_norm<T>(
                    p: &NormParams, x: Ref<'_, Q, T>, gamma: Option<Ref<'_, Q, T>>, y: Mut<'_, Q, T>, rstd: Mut<'_, Q, f32>
                );
                fn rms_norm_backward<T>(
                    p: &NormParams,
                    x: Ref<'_, Q, T>,
                    gamma: Option<Ref<'_, Q, T>>,
                    rstd: Ref<'_, Q, f32>,
                    g: Ref<'_, Q, T>,
                    dx: Mut<'_, Q, T>,
                    dgamma: Option<Mut<'_, Q, T>>,
                );
            }
        }
    };
}

op_sets!(Guarded, Clone);
op_sets!(Recorded, Record);
