//! Launches of the forward kernels that ops do not make: parts of the keys for many queries, and short rows by the
//! kernels for long ones.

use backend_api::{Buffer, Queue, Real};
use conformance::Failure;
use core_types::params::{attention::AttentionParams, optim::StepState};
use cuda_backend::CudaQueue;
use half::{bf16, f16};

use super::{super::trials::Trial, ALONE, DIAGONAL_DIM, HostOperands, LINES, lengths, packed, unless_near, words};

/// Keys of a part.
const PART: u32 = 32;
/// Rows of a block of the kernels for many queries.
const MANY_ROWS: u64 = 64;
/// Keys of a launch: two parts, the second of one key.
const KEYS: u64 = 33;

/// A forward kernel and the one that joins its parts.
#[derive(Clone, Copy)]
struct Kernels {
    forward: &'static str,
    join: &'static str,
    /// Rows of a block.
    rows: u64,
    /// Elements of the longest row.
    longest: u64,
}

/// The forward kernels of one element type.
macro_rules! kernels {
    ($suffix:literal) => {
        [
            kernels!("few64_", $suffix, 16, 64),
            kernels!("few128_", $suffix, 16, 128),
            kernels!("many64_", $suffix, MANY_ROWS, 64),
            kernels!("many128_", $suffix, MANY_ROWS, 128),
        ]
    };
    ($kind:literal, $suffix:literal, $rows:expr, $longest:literal) => {
        Kernels {
            forward: concat!("linalg_attention_", $kind, $suffix),
            join: concat!("linalg_attention_join_", $suffix),
            rows: $rows,
            longest: $longest,
        }
    };
}

/// Trials of each forward kernel.
pub(super) fn trials() -> Vec<Trial> {
    let of_words = kernels!("f32").into_iter().flat_map(of_kernels::<f32>);
    let of_halves = kernels!("f16").into_iter().flat_map(of_kernels::<f16>);
    of_words.chain(of_halves).chain(kernels!("bf16").into_iter().flat_map(of_kernels::<bf16>)).collect()
}

/// Launches of two rows, of whole blocks with rows of several lengths, and with a causal mask.
fn of_kernels<T: Real>(kernels: Kernels) -> Vec<Trial> {
    let rows = kernels.rows;
    let on_matrix_units = size_of::<T>() == 2 && rows == MANY_ROWS;
    let mut launches = vec![([1, KEYS, 0], 2)];
    launches.extend(ALONE.map(|sizes| (sizes, 1)));
    for dim in lengths(kernels.longest, on_matrix_units) {
        launches.extend([([rows, 1, dim], 1), ([rows, KEYS, dim], 2)]);
    }
    let launches = launches.into_iter().map(|(sizes, parts)| {
        let name = format!("{sizes:?} in {parts} parts of the keys by {}", kernels.forward);
        Trial::new(name, move |q| kernels.hold(q, &packed(sizes), &HostOperands::<T>::new(&packed(sizes)), parts))
    });
    launches.chain(LINES.map(|lines| of_diagonal::<T>(kernels, lines))).collect()
}

/// A causal launch in which the last two rows alone read the last two of `lines` keys, whose values are NaN.
fn of_diagonal<T: Real>(kernels: Kernels, lines: u64) -> Trial {
    let causal_offset = lines.cast_signed() - kernels.rows.cast_signed();
    let p = AttentionParams { causal: 1, causal_offset, ..packed([kernels.rows, lines, DIAGONAL_DIM]) };
    Trial::new(format!("{lines} keys before a diagonal by {}", kernels.forward), move |q| {
        let mut of = HostOperands::<T>::new(&p);
        of.spoil(&p, 0..0, lines - 2..lines);
        // And a query that reads keys, but none of those.
        of.queries[((kernels.rows - 4) * DIAGONAL_DIM) as usize] = T::from_f32(f32::NAN);
        kernels.hold(q, &p, &of, 1)
    })
}

impl Kernels {
    /// Compares results and logarithms of sums with the processor's.
    fn hold<T: Real>(
        self,
        q: &CudaQueue,
        p: &AttentionParams,
        of: &HostOperands<T>,
        parts: u64,
    ) -> Result<(), Failure> {
        let (rows, dim) = (p.queries, p.dim);
        let (y, lse) = of.forward(p)?;

        // One part of all keys writes results, several write sums.
        let [queries, keys, values, _] = of.upload(q)?;
        let nine = vec![T::from_f32(9.0); y.len()];
        let (mut got, mut got_lse) = (q.upload(&nine)?, q.upload(&vec![9.0f32; lse.len()])?);
        let sums = rows * parts * (dim + 2);
        let mut work = if parts == 1 { None } else { Some(q.alloc::<f32>(sums as usize)?) };
        let work = work.as_mut().map(|work| work.view_mut());
        let part = if parts == 1 { 2 * PART } else { PART };
        let launch = q.kernel(self.forward)?.grid([rows.div_ceil(self.rows), parts, 1]);
        let launch = launch.value("p", &words(p)).value("group", &1u32).value("part", &part);
        let launch = launch.input("q", queries.view()).input("k", keys.view()).input("v", values.view());
        let launch = launch.input_if::<u32>("key_lens", None).input_if::<bool>("keep", None);
        let launch = launch.input_if::<f32>("addend", None).input_if::<StepState>("state", None);
        let launch = launch.output("y", &got.view_mut()).output("lse", &got_lse.view_mut());
        // SAFETY: operands and results have `dim` elements for each row, and the sums of a part two more.
        unsafe { launch.output_if("work", work.as_ref()).launch() }?;
        if let Some(work) = work {
            let launch = q.kernel(self.join)?.cover((rows * dim.max(1)) as usize);
            let launch = launch.value("p", &words(p)).value("parts", &(parts as u32)).input("work", work.as_ref());
            // SAFETY: as above; the launch before has written the sums of every part of every row.
            unsafe { launch.output("y", &got.view_mut()).output("lse", &got_lse.view_mut()).launch() }?;
        }

        unless_near(&y, &q.download(&got)?)?;
        let lse: Vec<f64> = lse.into_iter().map(f64::from).collect();
        Failure::unless_close(&lse, &q.download(&got_lse)?, 1e-5, 1e-5)
    }
}
