//! Times of stwo's SIMD backend, which takes another compiler than this workspace and so cannot run beside our code. They were
//! recorded by `rates` of `vectors/stwo`, on one core, and hold for that processor alone.

use std::time::Duration;

use super::{Contender, Contest};

/// What the times were recorded on.
const PROCESSOR: &str = "Xeon, family 6 model 167";

/// Nanoseconds for a unit of a line, of builds of stwo 2.3.0 with AVX-512 and with AVX2; medians of 9 runs.
const RATES: [(&str, f64, f64); 0] = [];

/// The contest, with stwo's times among its contenders.
pub(super) fn beside_stwo(mut contest: Contest) -> Contest {
    let rates = RATES.iter().filter(|(id, ..)| *id == contest.id);
    for &(_, avx512, avx2) in rates {
        for (vectors, nanoseconds) in [("AVX-512", avx512), ("AVX2", avx2)] {
            let time = Duration::from_secs_f64(nanoseconds * 1e-9 * contest.work);
            contest.contenders.push(Contender::recorded(format!("stwo, {vectors}, recorded on {PROCESSOR}"), time));
        }
    }
    contest
}
