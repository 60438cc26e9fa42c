//! Softmax, normalisations and losses along one axis.

/// Writes and declares kernels of softmax and log-softmax, each for several types.
macro_rules! softmaxes {
    ($($body:expr, $($attribute:ident $value:expr),+ => $($name:ident: $type:ty),+;)+) => {$(
        $(
            #[doc = concat!("`", stringify!($body), "` of one element type.")]
            #[unsafe(no_mangle)]
            pub unsafe extern "ptx-kernel" fn $name(
                p: SoftmaxParams,
                kind: Kind,
                causal: u32,
                x: *const $type,
                keep: *const u8,
                addend: *const f32,
                y: *mut $type,
            ) {
                $body(&p, kind, causal, x, Mask { keep, addend }, y);
            }
        )+

        kernel_table! { $($name),+: $($attribute $value),+; }
    )+};
}

/// Writes and declares kernels of the gradients, each for several types.
macro_rules! softmax_gradients {
    ($($body:expr, $($attribute:ident $value:expr),+ => $($name:ident: $type:ty),+;)+) => {$(
        $(
            #[doc = concat!("`", stringify!($body), "` of one element type.")]
            #[unsafe(no_mangle)]
            pub unsafe extern "ptx-kernel" fn $name(
                p: AxisParams,
                kind: Kind,
                y: *const $type,
                g: *const $type,
                dx: *mut $type,
            ) {
                $body(&p, kind, y, g, dx);
            }
        )+

        kernel_table! { $($name),+: $($attribute $value),+; }
    )+};
}

pub mod columns;
pub mod loss;
pub mod norm;
pub mod norm_backward;
pub mod softmax;
pub mod state;
