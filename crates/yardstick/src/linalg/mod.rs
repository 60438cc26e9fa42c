//! Speed lines of the op sets `linalg`, `optim` and `factor`, and of their dispatch.

mod attention;
mod dispatch;
mod elements;
mod gemm;
mod loss;
mod optim;
mod rows;
mod svd;
mod text;

use half::bf16;
use nn_ops::Activation;

use crate::{Extent, Line};

/// Every line of the op sets on the processor.
pub(crate) fn contests() -> Vec<Line> {
    let mut all = gemm::contests();
    all.extend(dispatch::contests());
    all.extend(rows::contests());
    all.extend(attention::contests());
    all.extend(elements::contests());
    all.extend([loss::contest()]);
    all.extend(svd::contests());
    all.extend(optim::contests());
    all.extend(text::contests());
    all
}

/// Every line of the op sets on a device.
pub(crate) fn lines(extent: Extent) -> Vec<Line> {
    let (elements, shape, squares): (usize, [usize; 2], &[usize]) = match extent {
        Extent::Full => (1 << 28, [65_536, 1024], &[128, 256, 512, 1024, 2048, 4096, 8192]),
        Extent::Small => (1 << 12, [8, 64], &[64]),
    };
    let mut all = vec![
        elements::map("identity", Activation::Identity, elements),
        elements::map("gelu", Activation::GeluTanh, elements),
        optim::adam_w(elements),
        rows::softmax::<f32>(shape, 1, false),
        rows::layer_norm::<f32>(shape),
        rows::layer_norm_in_place(shape),
        rows::add_layer_norm(shape),
        rows::rms_norm(shape),
    ];
    for &n in squares {
        all.extend([gemm::square::<f32>(n), gemm::square::<bf16>(n)]);
    }
    all.extend(attention::lines(extent));
    all.extend(svd::lines(extent));
    all
}
