//! Every vector level and thread count against the word-by-word transforms.

use std::num::NonZeroUsize;

use core_types::{
    field::QM31,
    params::circle::{CircleFftParams, CircleTwiddleParams},
};

#[cfg(target_arch = "x86_64")]
use super::steps::{Strip, StripStep, Tile, TileStep};
use super::*;
use crate::CpuConfig;
#[cfg(target_arch = "x86_64")]
use crate::simd::{
    Kernel,
    words::{Model, Words},
};

fn queues() -> Vec<CpuQueue> {
    let queue = |threads, simd| {
        let config = CpuConfig { threads: NonZeroUsize::new(threads), ..CpuConfig::default() };
        CpuQueue::with_simd(config, simd).expect("threads start")
    };
    crate::simd::levels().flat_map(|simd| [1, 3].map(|threads| queue(threads, simd))).collect()
}

/// Random elements with many zeros and minus ones among them.
fn elements(len: usize, seed: u64) -> Vec<M31> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        match state >> 60 {
            0 => M31::ZERO,
            1 => -M31::ONE,
            _ => M31::from_u64(state),
        }
    };
    (0..len).map(|_| next()).collect()
}

fn tree(q: &CpuQueue, log_size: u32) -> (Vec<Twiddle>, Vec<Twiddle>) {
    let mut pair = (vec![Twiddle::default(); 1 << (log_size - 1)], vec![Twiddle::default(); 1 << (log_size - 1)]);
    q.circle_twiddles(CircleTwiddles {
        params: &CircleTwiddleParams { log_size },
        twiddles: &mut pair.0,
        inverse_twiddles: &mut pair.1,
    })
    .expect("a valid size");
    pair
}

#[test]
fn every_level_transforms_as_the_scalar_layers_do() {
    for q in queues() {
        for log_size in (1..=16).chain([19]) {
            let columns = if log_size < 12 { 3 } else { 1 };
            let (forward, inverse) = tree(&q, log_size);
            let params = CircleFftParams { log_size, columns };
            let input = elements((columns as usize) << log_size, u64::from(log_size));

            let (mut expected, mut got) = (input.clone(), input.clone());
            for column in expected.chunks_mut(1 << log_size) {
                scalar::interpolate(column, &inverse, log_size);
            }
            q.circle_interpolate(CircleInterpolate { params: &params, inverse_twiddles: &inverse, columns: &mut got })
                .unwrap();
            assert!(expected == got, "interpolate, log size {log_size}, {q:?}");
            q.circle_evaluate(CircleEvaluate { params: &params, twiddles: &forward, columns: &mut got }).unwrap();
            assert!(input == got, "round trip, log size {log_size}, {q:?}");

            let (mut expected, mut got) = (input.clone(), input);
            for column in expected.chunks_mut(1 << log_size) {
                scalar::evaluate(column, log_size, 0, &forward, log_size);
            }
            q.circle_evaluate(CircleEvaluate { params: &params, twiddles: &forward, columns: &mut got }).unwrap();
            assert!(expected == got, "evaluate, log size {log_size}, {q:?}");
        }
    }
}

#[test]
fn every_level_extends_as_evaluation_of_padded_coefficients() {
    for q in queues() {
        for log_size in [1, 2, 3, 5, 8, 11, 13, 16] {
            let (forward, _) = tree(&q, log_size);
            for log_coefficients in 0..=log_size {
                let coefficients = elements(2 << log_coefficients, 7);
                let mut expected = vec![M31::ZERO; 2 << log_size];
                for (column, values) in expected.chunks_mut(1 << log_size).enumerate() {
                    let source = &coefficients[column << log_coefficients..(column + 1) << log_coefficients];
                    values[..source.len()].copy_from_slice(source);
                    scalar::evaluate(values, log_size, 0, &forward, log_size);
                }
                let mut got = vec![M31::ZERO; 2 << log_size];
                let params = CircleExtendParams { log_coefficients, log_size, columns: 2 };
                q.circle_extend(CircleExtend {
                    params: &params,
                    twiddles: &forward,
                    coefficients: &coefficients,
                    values: &mut got,
                })
                .unwrap();
                assert!(expected == got, "from 2^{log_coefficients} to 2^{log_size}, {q:?}");
            }
        }
    }
}

#[test]
fn inverses_multiply_to_one_at_every_length() {
    for q in queues() {
        for len in [0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 255, 257, 4095, 4096, 4097, 20_000] {
            let nonzero: Vec<M31> =
                elements(len, 3).into_iter().map(|x| if x.is_zero() { M31::ONE } else { x }).collect();
            let (mut inverses, mut first_zero) = (vec![M31::ZERO; len], [u64::MAX]);
            q.batch_inverse_m31(BatchInverseM31 {
                elements: &nonzero,
                inverses: &mut inverses,
                first_zero: &mut first_zero,
            })
            .unwrap();
            assert!(nonzero.iter().zip(&inverses).all(|(&x, &y)| x * y == M31::ONE));
            let secure: Vec<QM31> =
                (0..len).map(|i| QM31::from_coordinates([1, 7, 31, 4].map(|k| nonzero[i * k % len]))).collect();
            let mut secure_inverses = vec![QM31::ZERO; len];
            q.batch_inverse_qm31(BatchInverseQm31 {
                elements: &secure,
                inverses: &mut secure_inverses,
                first_zero: &mut first_zero,
            })
            .unwrap();
            assert!(secure.iter().zip(&secure_inverses).all(|(&x, &y)| x * y == QM31::ONE));
            assert_eq!(first_zero, [u64::MAX]);
        }
    }
}

#[test]
fn the_first_zero_is_noted_wherever_it_stands_and_never_raised() {
    for q in queues() {
        for index in [0, 1, 15, 16, 4094, 4095, 4096, 8191, 9998] {
            let mut elements = vec![M31::ONE; 10_000];
            (elements[index], elements[9999]) = (M31::ZERO, M31::ZERO);
            let secure: Vec<QM31> = elements.iter().map(|&x| x.into()).collect();
            let (mut inverses, mut secure_inverses) = (elements.clone(), secure.clone());
            let mut words = [[u64::MAX], [u64::MAX]];
            q.batch_inverse_m31(BatchInverseM31 {
                elements: &elements,
                inverses: &mut inverses,
                first_zero: &mut words[0],
            })
            .unwrap();
            q.batch_inverse_qm31(BatchInverseQm31 {
                elements: &secure,
                inverses: &mut secure_inverses,
                first_zero: &mut words[1],
            })
            .unwrap();
            assert_eq!(words, [[index as u64]; 2], "{q:?}");
            elements[0] = M31::ONE;
            q.batch_inverse_m31(BatchInverseM31 {
                elements: &elements,
                inverses: &mut inverses,
                first_zero: &mut words[0],
            })
            .unwrap();
            assert_eq!(words[0], [index as u64], "{q:?}");
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Steps for Model {
    fn log_width(self) -> u32 {
        Self::LOG
    }

    unsafe fn tile(self, tile: Tile, inverse: bool) {
        // SAFETY: the caller's promise.
        unsafe { if inverse { TileStep::<true>::new(tile).run(self) } else { TileStep::<false>::new(tile).run(self) } }
    }

    unsafe fn strip(self, strip: Strip, inverse: bool) {
        // SAFETY: the caller's promise.
        unsafe {
            if inverse { StripStep::<true>::new(strip).run(self) } else { StripStep::<false>::new(strip).run(self) }
        }
    }
}

/// Not the intrinsics, but all that is built on them: tables, steps and tiling of sixteen lanes.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_model_of_sixteen_lanes_transforms_as_the_scalar_layers_do() {
    let q = CpuQueue::open(CpuConfig::default()).unwrap();
    for log_size in (7..=15).chain([17, 18]) {
        let (forward, inverse) = tree(&q, log_size);
        let input = elements(1 << log_size, 1);
        let (mut expected, mut got) = (input.clone(), input.clone());
        scalar::interpolate(&mut expected, &inverse, log_size);
        // SAFETY: lengths are those of the tree.
        unsafe { q.transform_columns(Model, log_size, &inverse, &mut got, true) };
        assert!(expected == got, "interpolate, log size {log_size}");
        // SAFETY: as above.
        unsafe { q.transform_columns(Model, log_size, &forward, &mut got, false) };
        assert!(input == got, "evaluate, log size {log_size}");
    }
}
