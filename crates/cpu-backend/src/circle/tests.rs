//! Tests of the sixteen-lane steps, run on arrays, against the word-by-word transforms.

use core_types::circle::{CirclePointIndex, bit_reversed};

use super::{
    steps::{DirectedStep, TransformStep},
    *,
};
use crate::{
    CpuConfig,
    simd::{
        LaneKernel,
        words::{ArrayWords, WordLanes},
    },
};

/// Random elements with many zeros and minus ones among them.
fn elements(len: usize, seed: u64) -> Vec<M31> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let element = || match rng.u8(..16) {
        0 => M31::ZERO,
        1 => -M31::ONE,
        _ => M31::from_u32(rng.u32(..)),
    };
    core::iter::repeat_with(element).take(len).collect()
}

/// Forward and inverse twiddles of a domain, layer by layer, from the points of each layer.
fn tree(log_size: u32) -> [Vec<Twiddle>; 2] {
    let mut twiddles = Vec::new();
    for layer in 0..log_size - 1 {
        let (log_len, first) = (log_size - 2 - layer, CirclePointIndex::subgroup_generator(log_size + 1 - layer));
        twiddles.extend((0..1 << log_len).map(|h| (first * (1 + 4 * bit_reversed(h, log_len))).to_point().x));
    }
    twiddles.push(M31::ONE);
    let inverses = twiddles.iter().map(|x| x.inverse().expect("no twiddle is zero"));
    let inverses = inverses.map(Twiddle::new).collect();
    [twiddles.into_iter().map(Twiddle::new).collect(), inverses]
}

impl StepRunner for ArrayWords {
    fn log_width(self) -> u32 {
        Self::LOG
    }

    unsafe fn run(self, step: impl TransformStep, inverse: bool) {
        // SAFETY: the caller's promise.
        unsafe {
            if inverse {
                DirectedStep::<_, true>::new(step).run(self);
            } else {
                DirectedStep::<_, false>::new(step).run(self);
            }
        }
    }
}

/// Tests all that is built on the intrinsics: tables, steps and tiling of sixteen lanes.
#[test]
fn the_model_of_sixteen_lanes_transforms_as_the_scalar_layers_do() {
    let q = CpuQueue::open(CpuConfig::default()).unwrap();
    for log_size in (7..=15).chain([17, 18]) {
        let [forward, inverse] = tree(log_size);
        let input = elements(1 << log_size, 1);
        let (mut expected, mut got) = (input.clone(), input.clone());
        scalar::interpolate(&mut expected, log_size, &inverse, log_size);
        // SAFETY: lengths match the twiddle tree.
        unsafe { q.transform_columns(ArrayWords, log_size, &inverse, &mut got, Direction::Interpolate) };
        assert!(expected == got, "interpolate, log size {log_size}");
        // SAFETY: as above.
        unsafe { q.transform_columns(ArrayWords, log_size, &forward, &mut got, Direction::Evaluate { position: 0 }) };
        assert!(input == got, "evaluate, log size {log_size}");
    }
}
