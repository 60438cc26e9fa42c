//! Tiles of 128 x 128, which only a product of very many elements gets: a batch of small ones makes up the number.

use backend_api::Real;
use core_types::params::gemm::GemmParams;
use cuda_backend::CudaQueue;
use half::{bf16, f16};

use crate::linalg::{gemm::Product, rig::on_device};

fn product<T: Real>(q: &CudaQueue, [a_transposed, b_transposed]: [bool; 2]) {
    let mut p = Product::<T>::new([72, 104, 40], 96, [a_transposed, b_transposed, false]).p;
    // One matrix A for all, three matrices B, and a separate result for each product.
    p.a.batch = [0; 4];
    p.b.batch = [0, 0, 40 * 104, 0];
    Product::<T>::with(GemmParams { batch: [1, 1, 3, 32], c: batches(p), ..p }).check(q);
}

fn batches(p: GemmParams) -> core_types::params::gemm::MatrixStrides {
    core_types::params::gemm::MatrixStrides { batch: [0, 0, 32 * 72 * 104, 72 * 104], ..p.c }
}

#[test]
fn large_tiles_are_right_in_every_layout() {
    on_device("order=reverse", |q| {
        for layout in [[false, false], [false, true], [true, false], [true, true]] {
            product::<f32>(q, layout);
            product::<f16>(q, layout);
            product::<bf16>(q, layout);
        }
    });
}
