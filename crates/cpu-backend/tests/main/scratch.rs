//! Memory that ops take in addition to their operands, by the budget's peak.

use backend_api::{
    Real,
    ops::{
        factor::{FactorOps, MatrixPeak, ScaleColumns, TallGram, TallProduct},
        linalg::{Attention, AttentionBackward, AttentionOps, Gemm, GemmOps},
        recurrent::{GruBackward, GruForward, GruLayer, RecurrentOps},
        share::{ShareOps, TableSums},
        tensor::{Reduce, TensorOps},
    },
};
use core_types::{
    cmp::cmp_blocks,
    params::{
        attention::{AttentionParams, HeadStrides},
        elementwise::{Activation, DropoutParams},
        factor::{MatrixParams, ScaleParams, TallParams},
        gemm::GemmParams,
        recurrent::{GruInputs, GruParams, GruVariant},
        share::TableSumsParams,
        tensor::{ReduceParams, Reduction},
    },
};
use cpu_backend::CpuQueue;
use half::bf16;

use crate::{levels::peak, linalg::gemm_params};

/// Bytes of a buffer of words, which has room to start at a cache line.
fn buffer(words: u64) -> u64 {
    4 * words + 64
}

/// Scratch of row-major products of ones, whose results are checked.
fn gemm<T: Real>(batch: usize, [m, n, k]: [usize; 3], bias: Option<f32>, activation: Activation) -> u64 {
    let ones = |count: usize| vec![T::from_f32(1.0); count];
    let params = GemmParams { activation, ..gemm_params(batch as u64, [m, n, k], [false; 3]) };
    let (a, b, mut c) = (ones(batch * m * k), ones(batch * k * n), ones(batch * m * n));
    let column = bias.map(|bias| vec![T::from_f32(bias); n]);
    let bias_view = column.as_deref();
    let op = Gemm::<CpuQueue, T> { params: &params, a: &a[..], b: &b[..], bias: bias_view, c: &mut c[..] };
    let bytes = peak(|q| q.gemm(op));
    let expected = T::from_f32(k as f32 + bias.unwrap_or(0.0));
    assert!(c.iter().all(|&c| c == expected), "{batch} x {m}x{n}x{k}");
    bytes
}

/// Bytes of packed panels: all panels of B, and for each of two threads its panels of A.
///
/// A panel has sixteen lines of f32. Rows of A have at most 384 terms at once, and a slot more.
fn panels([panels_of_b, panels_of_a]: [u64; 2], k: u64) -> u64 {
    64 * (panels_of_b * k + 2 * (panels_of_a * k.min(384) + 1))
}

#[test]
fn products_pack_panels_beyond_the_sizes_that_stay_in_place() {
    let plain = |size| gemm::<f32>(1, size, None, Activation::Identity);
    assert_eq!([plain([48, 5, 7]), plain([1, 500, 3])], [0; 2]);
    assert_eq!(plain([49, 5, 7]), panels([1, 4], 7));
    assert_eq!(plain([129, 17, 7]), panels([2, 8], 7));
    // Layers with a bias stay in place up to 64 rows, for whole vectors of columns and few weights.
    let layer = |size| gemm::<f32>(1, size, Some(2.0), Activation::Relu);
    assert_eq!([layer([64, 32, 384]), layer([64, 64, 256]), layer([49, 32, 1])], [0; 3]);
    assert_eq!(layer([65, 32, 384]), panels([2, 5], 384));
    assert_eq!(layer([64, 32, 385]), panels([2, 4], 385));
    assert_eq!(layer([64, 64, 257]), panels([4, 4], 257));
    assert_eq!(layer([64, 33, 10]), panels([3, 4], 10));
    // An activation alone gets a bias of zeros.
    assert_eq!(gemm::<f32>(1, [2, 3, 4], None, Activation::Relu), buffer(3));
}

#[test]
fn products_of_16_bits_hold_results_in_f32() {
    let plain = |batch, size| gemm::<bf16>(batch, size, None, Activation::Identity);
    // A task holds all columns of whole panels of rows: at most 2^16 results, or two panels if those have more.
    assert_eq!(plain(1, [5, 7, 3]), panels([1, 1], 3) + 2 * 4 * 5 * 7);
    assert_eq!(plain(1, [200, 1000, 1]), panels([63, 4], 1) + 2 * 4 * 64 * 1000);
    assert_eq!(plain(1, [33, 4000, 1]), panels([250, 2], 1) + 2 * 4 * 32 * 4000);
    // Small products of a batch run side by side, each with panels of B.
    assert_eq!(plain(9, [5, 7, 3]), panels([2, 1], 3) + 2 * 4 * 5 * 7);
    // A bias is widened.
    let layer = gemm::<bf16>(1, [2, 3, 4], Some(1.0), Activation::Identity);
    assert_eq!(layer, buffer(3) + panels([1, 1], 4) + 2 * 4 * 2 * 3);
}

/// Two heads of equal keys and values, with 8 elements in a row.
fn attention(queries: u64, keys: u64) -> AttentionParams {
    let [of_queries, of_keys] = [queries, keys].map(|rows| HeadStrides::by_head(2, rows, 8));
    AttentionParams {
        batch: 1,
        heads: 2,
        kv_heads: 2,
        queries,
        keys,
        dim: 8,
        q: of_queries,
        k: of_keys,
        v: of_keys,
        y: of_queries,
        mask: HeadStrides { batch: 0, head: 0, row: 0 },
        causal_offset: 0,
        causal: 0,
        scale: 1.0,
        dropout: DropoutParams { seed: 0, site: 0, step: 0, first: 0, threshold: 0, scale: 1.0 },
    }
}

/// Bytes of the arrays of two tasks, which have room to start at cache lines.
fn arrays<const C: usize>(lens: [u64; C]) -> u64 {
    2 * 4 * (16 + lens.iter().map(|len| len + 16).sum::<u64>())
}

#[test]
fn attention_takes_blocks_of_scores() {
    // Columns of queries, scores of 128 keys and 48 queries, results, factors of dropout, widened rows.
    let scores = 128 * 48;
    let (x, p) = (vec![1.0f32; 2 * 8 * 600], attention(5, 600));
    for (params, bytes) in [
        (p, arrays([8 * 48, scores, 48 * 8, 0, 0])),
        // Few queries: results, greatest score and sum of two parts of each head.
        (attention(1, 600), buffer(2 * 2 * 10) + arrays([16, 512, 0, 0])),
    ] {
        let mut y = vec![0.0f32; 2 * 8 * params.queries as usize];
        let op = Attention::<CpuQueue, f32> {
            params: &params,
            q: &x[..],
            k: &x[..],
            v: &x[..],
            key_lens: None,
            keep: None,
            addend: None,
            state: None,
            y: &mut y[..],
            lse: None,
        };
        assert_eq!(peak(|q| q.attention(op)), bytes, "{params:?}");
        assert!(y.iter().all(|y| (y - 1.0).abs() < 1e-5));
    }
    // Two blocks of columns and two of scores, and the sums of keys and values; a sum of each query.
    let (y, lse) = (vec![1.0f32; 2 * 8 * 5], [8.0 + 600f32.ln(); 2 * 5]);
    let (mut dq, mut dk, mut dv) = (y.clone(), x.clone(), x.clone());
    let op = AttentionBackward::<CpuQueue, f32> {
        params: &p,
        q: &x[..],
        k: &x[..],
        v: &x[..],
        key_lens: None,
        keep: None,
        addend: None,
        state: None,
        y: &y[..],
        lse: &lse[..],
        g: &y[..],
        dq: &mut dq[..],
        dk: &mut dk[..],
        dv: &mut dv[..],
    };
    let sums = 128 * 8;
    let lens = [8 * 48, 8 * 48, scores, scores, 0, sums, sums, 0, 0, 0, 0];
    assert_eq!(peak(|q| q.attention_backward(op)), buffer(2 * 5) + arrays(lens));
    assert!(dv.iter().all(|dv| (dv * 600.0 / 5.0 - 1.0).abs() < 1e-4));
}

/// Compares reductions of small whole numbers, whose sums are exact, with plain loops.
///
/// An axis of several parts takes a state for each: 64 bits of a sum, 32 of an extreme.
fn reduce([outer, len, inner]: [usize; 3], parts: u64) {
    let x: Vec<f32> = (0..outer * len * inner).map(|i| (i * 7919 % 2003 % 9) as f32 - 4.0).collect();
    let columns = (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i)));
    let column = |(o, i): (usize, usize)| x[o * len * inner + i..][..(len - 1) * inner + 1].iter().step_by(inner);
    let states = if parts > 1 { parts * (outer * inner) as u64 } else { 0 };
    for reduction in Reduction::ALL {
        let fold = |at| match reduction {
            Reduction::Sum => column(at).sum::<f32>(),
            Reduction::Mean => (f64::from(column(at).sum::<f32>()) / len as f64) as f32,
            Reduction::Max => column(at).copied().fold(f32::MIN, f32::max),
            Reduction::Min => column(at).copied().fold(f32::MAX, f32::min),
        };
        let expected: Vec<f32> = columns.clone().map(fold).collect();
        let mut y = vec![7.0f32; outer * inner];
        let params = ReduceParams { reduction, reserved: 0, outer: outer as u64, len: len as u64, inner: inner as u64 };
        let op = Reduce::<CpuQueue, f32> { params: &params, x: &x[..], y: &mut y[..] };
        let bytes = if matches!(reduction, Reduction::Sum | Reduction::Mean) { 8 } else { 4 };
        assert_eq!(peak(|q| q.reduce(op)), states * bytes, "{params:?}");
        assert!(y == expected, "{params:?}");
    }
}

/// A part has 2^18 elements in all columns, or in 1024 of them.
#[test]
fn long_axes_are_reduced_in_parts() {
    reduce([1, 1 << 18, 1], 1);
    reduce([1, (1 << 18) + 1, 1], 2);
    reduce([2, 87_383, 3], 2);
    reduce([1, 256, 1030], 1);
    reduce([1, 513, 1030], 3);
}

#[test]
fn factorisations_take_blocks_of_f64_and_partial_results() {
    // Sums of parts of 256 rows, and a widened block and a product for each of two tasks.
    for (rows, parts) in [(200, 1u64), (256, 1), (257, 2), (600, 3)] {
        let (params, x, mut gram) = (MatrixParams { rows, cols: 3 }, vec![1.0f32; 3 * rows as usize], [0.0; 9]);
        let op = TallGram::<CpuQueue> { params: &params, x: &x[..], gram: &mut gram[..] };
        let expected = 8 * 9 * parts + 64 + parts.min(2) * 8 * (256 * 3 + 3 * 3);
        assert_eq!((peak(|q| q.tall_gram(op)), gram), (expected, [rows as f64; 9]), "{rows} rows");

        let (params, c) = (TallParams { rows, inner: 3, cols: 5 }, [1.0; 15]);
        let mut y = vec![0.0f32; 5 * rows as usize];
        let op = TallProduct::<CpuQueue> { params: &params, x: &x[..], c: &c[..], y: &mut y[..] };
        assert_eq!(peak(|q| q.tall_product(op)), parts.min(2) * 8 * 256 * (3 + 5), "{rows} rows");
        assert!(y.iter().all(|&y| y == 3.0));
    }
    let (mut a, mut found) = (vec![1.0f32; (1 << 16) + 1], [0]);
    a[1 << 16] = -3.0;
    let op = MatrixPeak::<CpuQueue> { a: &a[..], peak: &mut found[..] };
    assert_eq!((peak(|q| q.matrix_peak(op)), found), (buffer(2), [3.0f32.to_bits()]));
    let params = ScaleParams { matrix: MatrixParams { rows: 2, cols: 3 }, alpha: 0.5 };
    let (x, factors, mut y) = ([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2.0f32, 4.0, -2.0], [0.0f32; 6]);
    let op = ScaleColumns::<CpuQueue> { params: &params, x: &x[..], factors: &factors[..], y: &mut y[..] };
    assert_eq!((peak(|q| q.scale_columns(op)), y), (buffer(3), [1.0, 4.0, -3.0, 4.0, 10.0, -6.0]));
}

#[test]
fn tables_are_laid_out_with_the_points_of_an_element_after_them() {
    for (bits, tables, words) in [(3, 2, 2 * (8 + 64)), (6, 1, 64 + 64), (7, 1, 128 + 128), (9, 3, 3 * (512 + 512))] {
        let params = TableSumsParams { count: 1, bits, tables };
        let (units, table) = (vec![0; cmp_blocks(bits) as usize], vec![1; (tables as usize) << bits]);
        let (mut sums, mut ones) = (vec![7; tables as usize], [7]);
        let (units, table) = (&units[..], &table[..]);
        let op = TableSums::<CpuQueue> { params: &params, units, x: &[5], table, sums: &mut sums, ones: &mut ones };
        assert_eq!(peak(|q| q.table_sums(op)), words * 8, "{params:?}");
    }
}

const ROWS: usize = 17;
const HIDDEN: usize = 5;
const INPUT: usize = 2;

/// Two members of 17 rows, which are four tasks of 16 rows and of one.
fn units(inputs: GruInputs) -> GruParams {
    let (variant, steps) = (GruVariant::ResetBefore, 3);
    GruParams { members: 2, batch: ROWS as u64, steps, input: INPUT as u64, hidden: HIDDEN as u64, variant, inputs }
}

/// Gates and reset of 16 rows for each of two tasks, and 16 bytes for each listed step.
#[test]
fn passes_take_gates_of_each_task_and_lists_of_steps() {
    let zeros = |len: usize| vec![0.0f32; len];
    let (w, u, b) = (zeros(2 * INPUT * 15), zeros(2 * HIDDEN * 15), zeros(2 * 15));
    let (state, gates, lists) = (2 * ROWS * HIDDEN, 2 * 4 * 4 * 16 * HIDDEN as u64, 4 * 3 * 16);
    let (mut states, mut saved, mut h_t) = (zeros(3 * state), zeros(5 * 3 * state), zeros(state));
    for (inputs, kept) in [(GruInputs::Sequence, 0), (GruInputs::Constant, 2 * 4 * 3 * 16 * HIDDEN as u64)] {
        let params = units(inputs);
        let x = zeros(params.input_shape().iter().product::<u64>() as usize);
        for (with_states, with_saved) in [(false, false), (true, false), (true, true)] {
            let op = GruForward::<CpuQueue, f32> {
                params: &params,
                layer: GruLayer { w: &w[..], u: &u[..], b: &b[..], bu: None },
                x: &x[..],
                h0: None,
                states: with_states.then_some(&mut states[..]),
                h_t: &mut h_t[..],
                saved: with_saved.then_some(&mut saved[..]),
            };
            let planes = u64::from(with_states) + 5 * u64::from(with_saved);
            assert_eq!(peak(|q| q.gru_forward(op)), gates + kept + planes * lists, "{inputs:?} {planes}");
        }
    }
    // A transposed copy of U; the gradients of 16 reset states and a row of zeros.
    let (mut d_gates, mut d_h0) = (zeros(3 * 3 * state), zeros(state));
    let op = GruBackward::<CpuQueue> {
        params: &units(GruInputs::Sequence),
        u: &u[..],
        saved: &saved[..],
        d_states: None,
        d_h_t: None,
        d_gates: &mut d_gates[..],
        d_h0: &mut d_h0[..],
    };
    let rows = 2 * 4 * (16 + 1) * HIDDEN as u64;
    assert_eq!(peak(|q| q.gru_backward(op)), buffer(2 * 75) + rows + lists);
}
