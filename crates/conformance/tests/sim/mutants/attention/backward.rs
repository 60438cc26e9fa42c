//! Launches of one gradient kernel without the other, which ops do not make, for whole blocks of its rows.

use backend_api::{Buffer, Queue, Real};
use conformance::Failure;
use core_types::params::{attention::AttentionParams, optim::StepState};
use cuda_backend::CudaQueue;
use half::{bf16, f16};

use super::{super::trials::Trial, ALONE, DIAGONAL_DIM, HostOperands, LINES, lengths, packed, unless_near, words};

/// Keys or queries of a launch, the most that a block takes.
const ROWS: u64 = 64;
/// Rows of the other kind.
const OTHERS: u64 = 2;

/// A gradient kernel.
#[derive(Clone, Copy)]
struct BackwardKernel {
    name: &'static str,
    /// Elements of the longest row.
    longest: u64,
    /// Rows of a block.
    rows: u64,
    /// Whether its rows are keys, not queries.
    is_of_keys: bool,
}

/// The gradient kernels of one element type, given the long rows of a block.
macro_rules! kernels {
    ($suffix:literal, $rows:literal) => {
        [kernels!("64_", $suffix, 64, 64), kernels!("128_", $suffix, 128, $rows)].into_iter().flatten()
    };
    ($length:literal, $suffix:literal, $longest:literal, $rows:literal) => {
        [
            BackwardKernel {
                name: concat!("linalg_attention_keys", $length, $suffix),
                longest: $longest,
                rows: $rows,
                is_of_keys: true,
            },
            BackwardKernel {
                name: concat!("linalg_attention_queries", $length, $suffix),
                longest: $longest,
                rows: $rows,
                is_of_keys: false,
            },
        ]
    };
}

/// Trials of each gradient kernel.
pub(super) fn trials() -> Vec<Trial> {
    let of_words = kernels!("f32", 32).flat_map(of_kernel::<f32>);
    let of_halves = kernels!("f16", 64).flat_map(of_kernel::<f16>);
    of_words.chain(of_halves).chain(kernels!("bf16", 64).flat_map(of_kernel::<bf16>)).collect()
}

/// Launches of two rows, of whole blocks with rows of several lengths, and with a causal mask.
fn of_kernel<T: Real>(kernel: BackwardKernel) -> Vec<Trial> {
    let whole = lengths(kernel.longest, size_of::<T>() == 2)
        .map(move |dim| if kernel.is_of_keys { [OTHERS, ROWS, dim] } else { [ROWS, OTHERS, dim] });
    let launches = ALONE.into_iter().chain(whole).map(move |sizes| {
        Trial::new(format!("{sizes:?} by {}", kernel.name), move |q| {
            kernel.hold(q, &packed(sizes), &HostOperands::<T>::new(&packed(sizes)))
        })
    });
    launches.chain(LINES.map(|lines| of_diagonal::<T>(kernel, lines))).collect()
}

/// A causal launch with NaN in rows that others do not read.
///
/// For a kernel of queries, the last two of them alone read the last two of `lines` keys. For a kernel of keys, `lines`
/// queries read the first eight keys at most, the last eight queries alone.
fn of_diagonal<T: Real>(kernel: BackwardKernel, lines: u64) -> Trial {
    let (sizes, causal_offset) = if kernel.is_of_keys {
        ([lines, ROWS, DIAGONAL_DIM], 8 - lines.cast_signed())
    } else {
        ([ROWS, lines, DIAGONAL_DIM], lines.cast_signed() - ROWS.cast_signed())
    };
    let p = AttentionParams { causal: 1, causal_offset, ..packed(sizes) };
    Trial::new(format!("{lines} lines before a diagonal by {}", kernel.name), move |q| {
        let mut of = HostOperands::<T>::new(&p);
        if kernel.is_of_keys {
            of.spoil(&p, 8..ROWS, 8..ROWS);
        } else {
            of.spoil(&p, 0..0, lines - 2..lines);
        }
        kernel.hold(q, &p, &of)
    })
}

impl BackwardKernel {
    /// Compares gradients with the processor's.
    fn hold<T: Real>(self, q: &CudaQueue, p: &AttentionParams, of: &HostOperands<T>) -> Result<(), Failure> {
        let (y, lse) = of.forward(p)?;
        let [expected_dq, expected_dk, expected_dv] = of.backward(p, &y, &lse)?;
        let product = |(y, g): (&[T], &[T])| y.iter().zip(g).map(|(y, g)| y.to_f32() * g.to_f32()).sum();
        let dim = p.dim as usize;
        let delta: Vec<f32> = y.chunks(dim).zip(of.g.chunks(dim)).map(product).collect();

        let rows = if self.is_of_keys { p.keys } else { p.queries };
        let [queries, keys, values, g] = of.upload(q)?;
        let (lse, delta) = (q.upload(&lse)?, q.upload(&delta)?);
        let launch = q.kernel(self.name)?.grid([rows.div_ceil(self.rows), 1, 1]).value("p", &words(p));
        let launch = launch.input("q", queries.view()).input("k", keys.view()).input("v", values.view());
        let launch = launch.input_if::<u32>("key_lens", None).input_if::<bool>("keep", None);
        let launch = launch.input_if::<f32>("addend", None).input_if::<StepState>("state", None);
        let launch = launch.input("g", g.view()).input("lse", lse.view()).input("delta", delta.view());
        if !self.is_of_keys {
            let mut dq = q.upload(&vec![T::from_f32(9.0); expected_dq.len()])?;
            // SAFETY: operands and results have `dim` elements for each row, saved sums a float for each query.
            unsafe { launch.output("dq", &dq.view_mut()).launch() }?;
            return unless_near(&expected_dq, &q.download(&dq)?);
        }
        let nine = vec![T::from_f32(9.0); expected_dk.len()];
        let (mut dk, mut dv) = (q.upload(&nine)?, q.upload(&nine)?);
        // SAFETY: as above.
        unsafe { launch.output("dk", &dk.view_mut()).output("dv", &dv.view_mut()).launch() }?;
        unless_near(&expected_dk, &q.download(&dk)?)?;
        unless_near(&expected_dv, &q.download(&dv)?)
    }
}
