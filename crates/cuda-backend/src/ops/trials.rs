//! Launches of the kernels that test a device, which no op uses.
//!
//! They do not ship with this crate: a queue that is to run them is opened with the modules of
//! crate `device-trials`.

use backend_api::{BackendError, BufferMut as _, BufferRef as _};

use crate::{CudaMut, CudaQueue, CudaRef};

/// Words of input of a random program.
const INPUT_WORDS: usize = 3;

/// Minimum number of words of a canary.
///
/// The canary that counts blocks has two words, and one more for each block.
const CANARY_WORDS: usize = 3;

/// Runs random programs with `kernel`, the kernel of their family.
///
/// `results[i]` becomes the result of program `programs[i]` on the three words from `inputs[3 * i]`
/// on.
///
/// # Errors
/// [`BackendError::Kernel`] if the name does not begin with `differential_` or there are too many
/// programs, [`BackendError::Length`] if lengths contradict each other, and the driver's errors.
pub fn launch_programs(
    queue: &CudaQueue,
    kernel: &str,
    programs: CudaRef<'_, u32>,
    inputs: CudaRef<'_, u64>,
    results: &CudaMut<'_, u64>,
) -> Result<(), BackendError> {
    belongs(kernel, "differential_")?;
    let len = count(kernel, programs.len())?;
    same("results", programs.len(), results.len())?;
    same("inputs", programs.len().saturating_mul(INPUT_WORDS), inputs.len())?;
    let launch = queue.kernel(kernel)?.cover(programs.len()).input("programs", programs).input("inputs", inputs);
    let launch = launch.output("results", results).value("len", &len);
    // SAFETY: there are `len` programs, results, and inputs of three words; the grid has a thread for each.
    unsafe { launch.launch() }
}

/// Runs the canary `kernel` on the words `from` and writes its results to `to`.
///
/// The kernel may overwrite `to`. Kernels that add to `to` expect zeros there.
///
/// # Errors
/// [`BackendError::Kernel`] if the name does not begin with `canary_` or there are too many words,
/// [`BackendError::Length`] if there are fewer than three, the lengths differ, or the kernel does
/// not accept them (`canary_shared` takes whole blocks of 64, `canary_checked` pairs), and the
/// driver's errors.
pub fn launch_canary(
    queue: &CudaQueue,
    kernel: &str,
    from: CudaRef<'_, u32>,
    to: &CudaMut<'_, u32>,
) -> Result<(), BackendError> {
    belongs(kernel, "canary_")?;
    let len = count(kernel, from.len())?;
    same("from", from.len().max(CANARY_WORDS), from.len())?;
    let parts = match kernel {
        "canary_shared" => 64,
        "canary_checked" => 2,
        _ => 1,
    };
    same("from", from.len().next_multiple_of(parts), from.len())?;
    same("to", from.len(), to.len())?;
    let launch = queue.kernel(kernel)?.cover(from.len()).input("from", from).output("to", to).value("len", &len);
    // SAFETY: there are `len` words on both sides, and no fewer than two and one for each block of 64.
    unsafe { launch.launch() }
}

/// Runs `threads` threads of `kernel`, a sample of a family of kernels.
///
/// The kernel reads `from`, and changes `to`, which begins as zeros. The queue's modules and the
/// three sizes are trusted: they have to belong to one sample, and nothing here compares them.
///
/// # Errors
/// [`BackendError::Kernel`] if the name does not begin with `sample_`, [`BackendError::Length`] if
/// one of the views is empty, and the driver's errors.
pub fn launch_sample(
    queue: &CudaQueue,
    kernel: &str,
    from: CudaRef<'_, u32>,
    to: &CudaMut<'_, u32>,
    threads: u32,
) -> Result<(), BackendError> {
    belongs(kernel, "sample_")?;
    same("from", from.len().max(1), from.len())?;
    same("to", to.len().max(1), to.len())?;
    let launch = queue.kernel(kernel)?.cover(threads as usize).input("from", from).output("to", to);
    // SAFETY: the caller's sizes belong to the sample, which touches no other words; `cargo xtask kernels` ran it on
    // the simulated device with them.
    unsafe { launch.value("len", &threads).launch() }
}

/// Refuses kernels with other parameters.
fn belongs(kernel: &str, prefix: &str) -> Result<(), BackendError> {
    if kernel.starts_with(prefix) {
        return Ok(());
    }
    Err(BackendError::Kernel {
        kernel: kernel.to_owned(),
        reason: format!("not a trial: expected a name that begins with `{prefix}`"),
    })
}

/// A number of elements as the kernels take it.
fn count(kernel: &str, len: usize) -> Result<u32, BackendError> {
    let refused = |_| BackendError::Kernel {
        kernel: kernel.to_owned(),
        reason: format!("expected fewer than 2^32 elements, got {len}"),
    };
    u32::try_from(len).map_err(refused)
}

fn same(view: &'static str, expected: usize, got: usize) -> Result<(), BackendError> {
    if expected == got { Ok(()) } else { Err(BackendError::Length { op: "trial", view, expected, got }) }
}
