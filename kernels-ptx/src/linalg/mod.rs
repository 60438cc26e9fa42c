//! Kernels of the linalg op set: matrix products, softmax, normalisations, losses, sums and maps over elements, for
//! f32, binary16 and bfloat16. Results have the same bits on every device but for products on the matrix units.

mod activation;
mod elementwise;
mod gemm;
mod group;
mod index;
mod math;
mod real;
mod rows;
mod sum;

use elementwise::*;
use gemm::{general::*, join::*, mma::*, simt::*};
use group::{BLOCK_THREADS, REDUCE_BYTES, WARP_THREADS};
use rows::{
    columns::{self, *},
    loss::*,
    norm::*,
    norm_backward::{COLUMN_THREADS as PARAMETER_THREADS, *},
    softmax::*,
};
use sum::*;

use crate::table::Shared;

// Shared memory of the kernels below.
const REDUCE: Shared = Shared::Bytes(REDUCE_BYTES);
const GENERAL: Shared = Shared::Bytes(gemm::general::BYTES);
const MMA64: Shared = Shared::Bytes(gemm::mma::bytes(64));
const MMA128: Shared = Shared::Bytes(gemm::mma::bytes(128));
const SIMT64: Shared = Shared::Bytes(gemm::simt::bytes(64));
const SIMT128: Shared = Shared::Bytes(gemm::simt::bytes(128));
const COLUMN_STATES: Shared = Shared::Bytes(columns::FORWARD_BYTES);
const COLUMN_SUMS: Shared = Shared::Bytes(columns::BACKWARD_BYTES);
const SUMS: Shared = Shared::Bytes(sum::COLUMN_BYTES);

kernel_table! {
    linalg_activate_backward_bf16: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_activate_backward_f16: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_activate_backward_f32: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_activate_bf16: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_activate_f16: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_activate_f32: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_adam_w: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_axpby_bf16: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_axpby_f16: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_axpby_f32: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_binary_bf16: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_binary_f16: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_binary_f32: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_binary_strided_bf16: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_binary_strided_f16: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_binary_strided_f32: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_dropout_bf16: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_dropout_f16: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_dropout_f32: block [elementwise::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_entropy_block_bf16: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 3;
    linalg_entropy_block_f16: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 3;
    linalg_entropy_block_f32: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 3;
    linalg_entropy_probs_block_bf16: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 5;
    linalg_entropy_probs_block_f16: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 5;
    linalg_entropy_probs_block_f32: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 5;
    linalg_entropy_probs_warp_bf16: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_entropy_probs_warp_f16: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_entropy_probs_warp_f32: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_entropy_warp_bf16: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_entropy_warp_f16: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_entropy_warp_f32: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_gemm_general_bf16: block [gemm::general::THREADS, 1, 1], min_blocks 8, shared GENERAL, barriers 3;
    linalg_gemm_general_f16: block [gemm::general::THREADS, 1, 1], min_blocks 8, shared GENERAL, barriers 3;
    linalg_gemm_general_f32: block [gemm::general::THREADS, 1, 1], min_blocks 8, shared GENERAL, barriers 3;
    linalg_gemm_join_bf16: block [gemm::join::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_gemm_join_f16: block [gemm::join::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_gemm_join_f32: block [gemm::join::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_gemm_mma128_nn_bf16: block [gemm::mma::THREADS, 1, 1], min_blocks 2, shared MMA128, barriers 2;
    linalg_gemm_mma128_nn_f16: block [gemm::mma::THREADS, 1, 1], min_blocks 2, shared MMA128, barriers 2;
    linalg_gemm_mma128_nt_bf16: block [gemm::mma::THREADS, 1, 1], min_blocks 2, shared MMA128, barriers 2;
    linalg_gemm_mma128_nt_f16: block [gemm::mma::THREADS, 1, 1], min_blocks 2, shared MMA128, barriers 2;
    linalg_gemm_mma128_tn_bf16: block [gemm::mma::THREADS, 1, 1], min_blocks 2, shared MMA128, barriers 2;
    linalg_gemm_mma128_tn_f16: block [gemm::mma::THREADS, 1, 1], min_blocks 2, shared MMA128, barriers 2;
    linalg_gemm_mma128_tt_bf16: block [gemm::mma::THREADS, 1, 1], min_blocks 2, shared MMA128, barriers 2;
    linalg_gemm_mma128_tt_f16: block [gemm::mma::THREADS, 1, 1], min_blocks 2, shared MMA128, barriers 2;
    linalg_gemm_mma64_nn_bf16: block [gemm::mma::THREADS, 1, 1], min_blocks 4, shared MMA64, barriers 2;
    linalg_gemm_mma64_nn_f16: block [gemm::mma::THREADS, 1, 1], min_blocks 4, shared MMA64, barriers 2;
    linalg_gemm_mma64_nt_bf16: block [gemm::mma::THREADS, 1, 1], min_blocks 4, shared MMA64, barriers 2;
    linalg_gemm_mma64_nt_f16: block [gemm::mma::THREADS, 1, 1], min_blocks 4, shared MMA64, barriers 2;
    linalg_gemm_mma64_tn_bf16: block [gemm::mma::THREADS, 1, 1], min_blocks 4, shared MMA64, barriers 2;
    linalg_gemm_mma64_tn_f16: block [gemm::mma::THREADS, 1, 1], min_blocks 4, shared MMA64, barriers 2;
    linalg_gemm_mma64_tt_bf16: block [gemm::mma::THREADS, 1, 1], min_blocks 4, shared MMA64, barriers 2;
    linalg_gemm_mma64_tt_f16: block [gemm::mma::THREADS, 1, 1], min_blocks 4, shared MMA64, barriers 2;
    linalg_gemm_simt128_nn: block [256, 1, 1], min_blocks 1, shared SIMT128, barriers 2;
    linalg_gemm_simt128_nt: block [256, 1, 1], min_blocks 1, shared SIMT128, barriers 2;
    linalg_gemm_simt128_tn: block [256, 1, 1], min_blocks 1, shared SIMT128, barriers 2;
    linalg_gemm_simt128_tt: block [256, 1, 1], min_blocks 1, shared SIMT128, barriers 2;
    linalg_gemm_simt64_nn: block [128, 1, 1], min_blocks 4, shared SIMT64, barriers 2;
    linalg_gemm_simt64_nt: block [128, 1, 1], min_blocks 4, shared SIMT64, barriers 2;
    linalg_gemm_simt64_tn: block [128, 1, 1], min_blocks 4, shared SIMT64, barriers 2;
    linalg_gemm_simt64_tt: block [128, 1, 1], min_blocks 4, shared SIMT64, barriers 2;
    linalg_norm_backward_block_bf16: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 3;
    linalg_norm_backward_block_f16: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 3;
    linalg_norm_backward_block_f32: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 3;
    linalg_norm_backward_held_bf16: block [WARP_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_norm_backward_held_f16: block [WARP_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_norm_backward_held_f32: block [WARP_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_norm_backward_warp_bf16: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_norm_backward_warp_f16: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_norm_backward_warp_f32: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_norm_block_bf16: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 5;
    linalg_norm_block_f16: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 5;
    linalg_norm_block_f32: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 5;
    linalg_norm_held_bf16: block [WARP_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_norm_held_f16: block [WARP_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_norm_held_f32: block [WARP_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_norm_parameters_bf16: block [PARAMETER_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_norm_parameters_f16: block [PARAMETER_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_norm_parameters_f32: block [PARAMETER_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_norm_warp_bf16: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_norm_warp_f16: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_norm_warp_f32: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_softmax_backward_block_bf16: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 1;
    linalg_softmax_backward_block_f16: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 1;
    linalg_softmax_backward_block_f32: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 1;
    linalg_softmax_backward_columns_bf16: block [columns::THREADS, 1, 1], min_blocks 4, shared COLUMN_SUMS, barriers 1;
    linalg_softmax_backward_columns_f16: block [columns::THREADS, 1, 1], min_blocks 4, shared COLUMN_SUMS, barriers 1;
    linalg_softmax_backward_columns_f32: block [columns::THREADS, 1, 1], min_blocks 4, shared COLUMN_SUMS, barriers 1;
    linalg_softmax_backward_held_bf16: block [WARP_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_softmax_backward_held_f16: block [WARP_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_softmax_backward_held_f32: block [WARP_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_softmax_backward_warp_bf16: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_softmax_backward_warp_f16: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_softmax_backward_warp_f32: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_softmax_block_bf16: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 4;
    linalg_softmax_block_f16: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 4;
    linalg_softmax_block_f32: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 4;
    linalg_softmax_columns_bf16: block [columns::THREADS, 1, 1], min_blocks 4, shared COLUMN_STATES, barriers 1;
    linalg_softmax_columns_f16: block [columns::THREADS, 1, 1], min_blocks 4, shared COLUMN_STATES, barriers 1;
    linalg_softmax_columns_f32: block [columns::THREADS, 1, 1], min_blocks 4, shared COLUMN_STATES, barriers 1;
    linalg_softmax_held_bf16: block [WARP_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_softmax_held_f16: block [WARP_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_softmax_held_f32: block [WARP_THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_softmax_warp_bf16: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_softmax_warp_f16: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_softmax_warp_f32: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_sum_columns_bf16: block [sum::THREADS, 1, 1], min_blocks 4, shared SUMS, barriers 1;
    linalg_sum_columns_f16: block [sum::THREADS, 1, 1], min_blocks 4, shared SUMS, barriers 1;
    linalg_sum_columns_f32: block [sum::THREADS, 1, 1], min_blocks 4, shared SUMS, barriers 1;
    linalg_sum_columns_f32_bf16: block [sum::THREADS, 1, 1], min_blocks 4, shared SUMS, barriers 1;
    linalg_sum_columns_f32_f16: block [sum::THREADS, 1, 1], min_blocks 4, shared SUMS, barriers 1;
    linalg_sum_join_bf16: block [sum::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_sum_join_f16: block [sum::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_sum_join_f32: block [sum::THREADS, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
    linalg_sum_rows_block_bf16: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 1;
    linalg_sum_rows_block_f16: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 1;
    linalg_sum_rows_block_f32: block [BLOCK_THREADS, 1, 1], min_blocks 4, shared REDUCE, barriers 1;
    linalg_sum_rows_warp_bf16: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_sum_rows_warp_f16: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    linalg_sum_rows_warp_f32: block [WARP_THREADS, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
}
