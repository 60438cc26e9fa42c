//! Recorded times of stwo's SIMD backend, which needs another compiler than this workspace.
//!
//! They were recorded by `rates` of `vectors/stwo`, on one core, and are valid for that processor
//! only.

use std::time::Duration;

use crate::Contender;

/// The processor of the recorded times.
const PROCESSOR: &str = "Xeon, family 6 model 167";

/// Nanoseconds for a unit of a line, of builds of stwo 2.3.0 with AVX-512 and with AVX2.
///
/// They are means of two medians of 9 runs.
const RATES: [(&str, f64, f64); 21] = [
    ("circle.batch_inverse_m31/20", 0.554, 0.634),
    ("circle.batch_inverse_qm31/20", 6.873, 9.690),
    ("circle.eval_at_point/20", 0.767, 1.314),
    ("circle.eval_at_point/24", 1.114, 2.377),
    ("circle.evaluate/16", 0.163, 0.211),
    ("circle.evaluate/20", 0.111, 0.153),
    ("circle.evaluate/22", 0.112, 0.155),
    ("circle.evaluate/24", 0.180, 0.227),
    ("circle.interpolate/16", 0.089, 0.132),
    ("circle.interpolate/20", 0.113, 0.149),
    ("circle.interpolate/22", 0.108, 0.143),
    ("circle.interpolate/24", 0.147, 0.192),
    ("circle.twiddles/20", 1.663, 2.098),
    ("circle.twiddles/24", 7.397, 8.152),
    ("deep.quotients/108x18", 2.055, 2.626),
    ("fri.fold/20", 1.483, 1.983),
    ("merkle.leaves/100x2^19", 26.337, 55.536),
    ("merkle.leaves/4x2^19", 19.387, 47.519),
    ("merkle.tree/2^19", 17.843, 43.612),
    ("stark.prove/fibonacci-100x2^18", 27.955, 37.297),
    ("stark.prove/poseidon2-2^16", 24.003, 32.794),
];

/// The times of stwo for the `work` of a line, if they were recorded.
pub(crate) fn stwo_times(id: &str, work: f64) -> Vec<Contender> {
    let of = |vectors: &str, nanoseconds: f64| {
        let time = Duration::from_secs_f64(nanoseconds * 1e-9 * work);
        Contender::recorded(&format!("stwo, {vectors}, recorded on {PROCESSOR}"), time)
    };
    let recorded = RATES.iter().find(|(line, ..)| *line == id);
    recorded.map_or_else(Vec::new, |&(_, avx512, avx2)| vec![of("AVX-512", avx512), of("AVX2", avx2)])
}
